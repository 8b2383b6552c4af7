#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "cluster/disruption_budgets.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "cluster/victims.hpp"
#include "extender/scheduling/denials.hpp"
#include "extender/scheduling/pod_view.hpp"
#include "extender/scheduling/promises.hpp"
#include "kube/api.hpp"

#include <prometheus/collectable.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

struct CardPreemptorSettings {
  bool enabled = true;
  int per_minute = 60;  ///< victims, of all pods together
  std::chrono::milliseconds api_timeout{4'000};
};

/// What came of one try to make room for a pod.
enum class PreemptionOutcome {
  kEvicted,   ///< all victims leave
  kRefused,   ///< the API server would not let one of them go, so none was evicted
  kFailed,    ///< a write failed; victims evicted before it leave all the same
  kOvertaken  ///< others make room for the pod by now, kube-scheduler has asked about it again, or
              ///< another replica leads: none was evicted
};
inline constexpr std::size_t kPreemptionOutcomes = 4;
[[nodiscard]] std::string_view to_string(PreemptionOutcome outcome);

/// Makes room on cards for pods of higher priority, where kube-scheduler does not.
///
/// kube-scheduler proposes victims only where something is short that it counts itself: CPU,
/// memory, slots, aggregates. While the sums are free and no single card has the room, it finds
/// none, and the pod would wait whatever its priority.
///
/// So this looks at pods whose last answer was that they fit no node. If kube-scheduler has evicted
/// nobody for one within kGrace, it gets the cheapest victims (cluster::cheapest_preemption()) of
/// the nodes that kube-scheduler asked about, since there only cards are short:
///
///  1. Each eviction is tried as a dry run. If one is refused, nobody is evicted.
///  2. The room is promised to the pod, and the pod is nominated to the node: the API server's
///     record, by which kube-scheduler counts it there, and which the next leader reads.
///  3. The victims are evicted through the Eviction API, which honours their budgets and grace.
///
/// If a later eviction is refused after all, the pod gets other victims on the same node first, so
/// that nobody leaves in vain. A pod whose eviction was refused is spared for 10 s, doubling up to
/// 5 minutes, and so long a pod waits for its next try; it has one at a time. Nobody is evicted for
/// pods with preemptionPolicy Never, while a watch is interrupted, or while budgets are not known;
/// no budget is broken.
///
/// Threads: run() on its own; look() one at a time; Collect() from any.
class CardPreemptor final : public prometheus::Collectable {
 public:
  /// Time for kube-scheduler to evict others by itself, which it does within milliseconds.
  static constexpr std::chrono::milliseconds kGrace{500};
  /// After an answer of that age kube-scheduler is asked to try the pod again first: the nodes that
  /// it asked about may have been cordoned since, or tainted.
  static constexpr std::chrono::seconds kFresh{60};
  /// While pods end somewhere, and the pod fits there then, nobody is evicted for it: as long as
  /// pods take to end by default.
  static constexpr std::chrono::seconds kLeaving{30};
  /// Pods looked at in one look, the most important first. One that nobody can be evicted for is
  /// looked at again after 5 s, doubling up to a minute.
  static constexpr std::size_t kMostPods = 4;
  /// Of the searches for one pod, in steps: about 50 ms.
  static constexpr std::int64_t kSteps = 1'000'000;

  struct Parts {
    kube::KubeApi& api;  ///< all outlive the preemptor
    const Clock& clock;
    cluster::SharedLedger& ledger;
    const cluster::PodTable& pods;
    Promises& promises;
    const cluster::PolicySource& policies;
    Denials& denials;
    /// Null = not known.
    Required<std::function<std::shared_ptr<const cluster::BudgetList>()>> budgets;
    /// Do ledger and budgets follow the API server?
    Required<std::function<bool()>> following;
    /// May a write that takes so long be sent now? Only the leader writes.
    Required<std::function<bool(std::chrono::milliseconds)>> may_write;
    /// Reports to people about a pod; must not block.
    std::function<void(const cluster::PodName&, std::string_view reason,
                       const std::string& sentence)>
        report;
  };
  CardPreemptor(CardPreemptorSettings settings, Parts parts);

  /// Makes room for one pod at most. Blocks for as long as the writes take.
  void look();
  /// Looks again and again.
  void run(const std::stop_token& stop);
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  /// A pod that waits.
  struct Case {
    std::string node;                        ///< where its victims leave; empty = nobody does
    std::vector<std::string> evicted;        ///< UIDs of these victims
    std::optional<TimePoint> room_coming{};  ///< since when pods end where it fits then
    std::map<std::string, TimePoint, std::less<>> refused;  ///< pods to spare, until when; by UID
    TimePoint next_try{};
    std::chrono::seconds backoff{};         ///< after an eviction that was tried
    std::chrono::seconds search_backoff{};  ///< after a search in vain
    std::optional<TimePoint> woken{};       ///< when kube-scheduler was last made to ask again
  };
  using DenialList = std::vector<DenialPtr>;
  /// What is known when victims are chosen.
  struct Moment {
    cluster::ClusterPtr cluster;
    model::Ledger::Uids spared;
    std::shared_ptr<const cluster::BudgetList> budgets;
    model::SearchBudget searches{kSteps};
    model::SearchBudget tries{cluster::kVictimTries};
  };

  void follow(const DenialList& denials);
  /// Those that are due, the most important first, and of these the one not looked at for longest.
  [[nodiscard]] DenialList due_of(DenialList denials);
  [[nodiscard]] bool is_due(const Denial& denial, const Case& its) const;
  /// Nobody else makes room for the pod.
  [[nodiscard]] bool is_left_to_this(std::string_view pod_uid) const;
  /// @returns whether anybody was to be evicted
  bool look_at(const Denial& denial, Case& its);
  [[nodiscard]] Moment moment(Case& its);
  /// Who is to leave for the pod. @returns nothing if it needs nobody, or nobody helps
  [[nodiscard]] std::optional<cluster::Preemption> find_victims(const Denial& denial, Case& its,
                                                                Moment& now) const;
  /// The node where room was made for it before. @returns null if it cannot use that any more
  [[nodiscard]] const model::NodeState* claimed_node(const Denial& denial, Case& its,
                                                     const PodView& view) const;
  [[nodiscard]] bool is_worth_waiting(const std::vector<const model::NodeState*>& nodes,
                                      const cluster::PodPlan& plan, Case& its) const;
  [[nodiscard]] PreemptionOutcome carry_out(const Denial& denial,
                                            const cluster::Preemption& preemption, Case& its);
  PreemptionOutcome withdraw(const kube::Pod& pod, Case& its);
  /// Does the pod still wait as it did when its victims were chosen?
  [[nodiscard]] bool still_waits(const Denial& denial) const;
  /// A dry run. @returns nothing if the victim would go
  [[nodiscard]] std::optional<PreemptionOutcome> would_stay(const model::Allocation& victim,
                                                            Case& its);
  [[nodiscard]] bool nominate(const kube::Pod& pod, const std::string& node);
  [[nodiscard]] bool evict(const model::Allocation& victim, const kube::Pod& pod, Case& its);

  const CardPreemptorSettings settings_;
  const Parts parts_;
  TimePoint next_eviction_{};
  std::map<std::string, Case, std::less<>> cases_;  ///< by pod UID
  std::array<std::atomic<std::uint64_t>, kPreemptionOutcomes> results_{};
  std::atomic<std::uint64_t> victims_{0};
};

}  // namespace tangram::extender
