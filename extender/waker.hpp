#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/scheduling/denials.hpp"
#include "extender/scheduling/promises.hpp"
#include "kube/api.hpp"
#include "kube/rate_limiter.hpp"

#include <prometheus/collectable.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace tangram::extender {

struct WakerSettings {
  std::string ns;  ///< of the object; empty = never wake
  std::chrono::milliseconds api_timeout{4'000};
};

/// Makes kube-scheduler try waiting pods again when room appears that its own events do not show.
///
/// kube-scheduler tries a pod that fitted no node again at the next event that may help it. It sees
/// the end of a pod, tries the next one, and asks about it, before the ledger's watch shows that
/// end: the answer is no, and no event follows. The pod would wait for 5 minutes. The end of a
/// reservation or of a bind in doubt, and on Kubernetes 1.28 a healed card, are no events at all.
///
/// The same with a pod that was offered one node of several, and another extender refused that one:
/// it would be offered others at its next try, and no event leads to that.
///
/// So this looks at the nodes that a pod was refused and that changed since. If it fits one of them
/// now, and kube-scheduler has not asked again within kGrace, an annotation of one
/// CSIStorageCapacity is written. Every update of such an object makes kube-scheduler try all pods
/// that an extender refused, in all its releases from 1.28 to 1.37 (eventhandlers.go), and no pod
/// can use this one: it has no nodeTopology and a storage class that does not exist. One write
/// wakes all pods, so kInterval bounds the load whatever their number.
///
/// Threads: run() on its own; look() one at a time; Collect() from any.
class Waker final : public prometheus::Collectable {
 public:
  static constexpr const char* kObject = "tangram-wake";
  static constexpr const char* kAnnotation = "tangram.dev/room";
  /// Time for kube-scheduler to see the event by itself.
  static constexpr std::chrono::milliseconds kGrace{250};
  static constexpr std::chrono::milliseconds kInterval{1'000};  ///< between two writes
  /// A pod is tried within this time after a write, back-off included. If it was not, the write is
  /// repeated, kMostTries in all.
  static constexpr std::chrono::milliseconds kPatience{2'500};
  static constexpr int kMostTries = 3;
  /// A nominated pod that gets FailedNodes where another one gets an Error, after which
  /// kube-scheduler tries by itself, is woken after this time.
  static constexpr std::chrono::milliseconds kForNow{2'000};
  /// When a new leader writes, since it leads. kube-scheduler may reach the last one for a while.
  static constexpr std::array<std::chrono::milliseconds, 3> kOfTerm{
      std::chrono::milliseconds(0), std::chrono::milliseconds(3'000),
      std::chrono::milliseconds(10'000)};
  /// Searches for pods of several containers in one look: about 10 ms.
  static constexpr std::int64_t kSteps = 200'000;

  struct Parts {
    kube::KubeApi& api;  ///< all outlive the waker
    const Clock& clock;
    cluster::SharedLedger& ledger;
    const cluster::PodTable& pods;
    Promises& promises;
    const cluster::PolicySource& policies;
    Denials& denials;
    /// May a write that takes so long be sent now? Only the leader writes.
    Required<std::function<bool(std::chrono::milliseconds)>> may_write;
    /// Counts the times that this replica became the leader. The answers of the last one are not
    /// known, so each term begins with writes.
    Required<std::function<std::uint64_t()>> term;
  };
  Waker(WakerSettings settings, Parts parts);

  /// Looks once, and writes if it is time. Blocks for as long as the write takes.
  void look();
  /// Looks again and again.
  void run(const std::stop_token& stop);
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  /// A pod that waits.
  struct Case {
    DenialPtr denial;
    bool shown = false;               ///< by the watch, as a pod without a node
    std::uint64_t checked = 0;        ///< nodes up to this version of the ledger do not take it
    std::optional<TimePoint> room{};  ///< since when there is some
    int tries = 0;                    ///< writes since its denial
  };

  using Nodes = std::vector<model::ClusterSnapshot::Found>;
  /// Who keeps room on which node, without a change of the node.
  using Claims = std::map<std::string, model::Ledger::Uids, std::less<>>;

  void follow();
  void find_room();
  void follow_claims(const model::ClusterSnapshot& cluster);
  /// Nodes that have changed since that version of the ledger, and those where a claim has ended.
  [[nodiscard]] Nodes changed_nodes(const model::ClusterSnapshot& cluster,
                                    std::uint64_t since) const;
  [[nodiscard]] bool is_settled(const Denial& denial, const model::Ledger::Uids& in_doubt) const;
  [[nodiscard]] bool fits_one_of(const Case& waiting, const Nodes& changed,
                                 const model::ClusterSnapshot& cluster,
                                 model::SearchBudget& budget) const;
  /// A pod was found to have room some time ago. Forgets that if another pod has taken it.
  void check_room(Case& waiting);
  [[nodiscard]] bool is_due(const Case& waiting) const;
  [[nodiscard]] bool is_due_for_term();
  /// Is there a pod that waits because something else refused what it was offered?
  [[nodiscard]] bool is_offered_in_vain();
  /// @returns whether it was written
  bool wake();

  const WakerSettings settings_;
  const Parts parts_;
  kube::RateLimiter limiter_;
  std::map<std::string, Case> cases_;  ///< by pod UID
  Claims claims_;
  std::set<std::string, std::less<>> freed_;  ///< nodes where a claim has ended
  std::uint64_t term_ = 0;
  TimePoint term_begin_{};
  std::size_t term_writes_ = 0;
  TimePoint woken_{};  ///< last
  TimePoint next_try_{};
  std::chrono::milliseconds backoff_{};
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> failed_{0};
};

}  // namespace tangram::extender
