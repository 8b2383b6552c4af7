#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/resize.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/scheduling/promises.hpp"
#include "kube/client.hpp"
#include "model/grant_reading.hpp"

#include <prometheus/collectable.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

/// How writes of revisions ended; the labels of tangram_resizes_total.
enum class ResizeOutcome {
  kWritten,
  kRefused,  ///< the API server said no, or the pod has changed since
  kUnknown   ///< no answer
};
inline constexpr std::array<std::string_view, 3> kResizeOutcomeNames{"written", "refused",
                                                                     "unknown"};

struct ResizerSettings {
  std::chrono::milliseconds api_timeout{4'000};  ///< of one request
};

/// Resizes running pods whose request has changed: takes the room in the ledger, and then writes
/// the next revision of the pod's grant, on the same cards, with the pod's version as precondition.
/// The node's agent applies it and answers in its Node. One revision at a time: the next one is
/// written once the agent has applied or refused the one before. Revisions say what the ledger has,
/// and not what somebody may have written over the grant since.
///
/// Those that wait for room are tried in the order in which their requests came, whenever their
/// node changes; a smaller one may overtake. Every replica follows them; only the leader writes.
/// A write whose outcome is not known keeps its room until the pod has changed, is written again,
/// or the API server cannot come to it any more. What the API server took, and the watch does not
/// show, keeps its room until the pod turns out not to have it. While the API server rejects the
/// write, the resize is infeasible.
///
/// Threads: look() one at a time; finish() and Collect() from any.
class Resizer final : public prometheus::Collectable {
 public:
  struct Parts {
    kube::KubeApi& api;  ///< this and the next five outlive the resizer
    cluster::SharedLedger& ledger;
    cluster::PodTable& pods;
    const Promises& promises;
    const cluster::PolicySource& policies;
    const Clock& clock;
    /// May a write that takes so long be sent now? Only a leader's.
    Required<std::function<bool(std::chrono::milliseconds)>> may_write;
    Required<model::Signer> sign;           ///< of grants
    Required<model::SignatureCheck> check;  ///< of grants that are read
    /// Reports to people about a pod; must not block. Only a leader does.
    std::function<void(const cluster::PodName&, std::string_view reason,
                       const std::string& sentence)>
        report;
  };
  Resizer(ResizerSettings settings, Parts parts);

  /// Looks until stopped, ten times a second.
  void run(const std::stop_token& stop);
  /// Brings every resize as far as it can get now. Blocks for as long as its requests take.
  void look();

  /// Waits for the write under way; to be called when no other may begin.
  /// @returns false if the outcome of one is not known
  bool finish();

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  /// A write without an answer.
  struct Doubt {
    kube::PodAnnotation change;
    int revision = 0;  ///< of the grant
    TimePoint sent{};  ///< last, of those that may still be applied
    int sends = 0;
  };
  /// What is to be written next.
  enum class Wanted {
    kNothing,
    kNext,      ///< what the pod requests now
    kFormer,    ///< takes the revision back
    kRepeated,  ///< the same, if somebody has replaced it
  };
  struct Case {
    cluster::ResizablePodPtr pod;
    TimePoint since{};          ///< of this request
    std::uint64_t version = 0;  ///< of the node, when it was last looked at
    TimePoint next_try{};       ///< after a failure
    std::chrono::milliseconds backoff{};
    std::chrono::milliseconds after_taking_back{};
    std::optional<cluster::Resize> resize;
    std::optional<cluster::Resize> reported;  ///< by this replica; nothing = it has ended since
    Wanted wanted = Wanted::kNothing;
    std::string_view refused;  ///< why that cannot be written, of a fixed set; "" = it can
    std::optional<Doubt> doubt;
    /// When to look for the revision that was written last, unless the watch has shown it.
    std::optional<TimePoint> unshown;
    /// Equal to `pod` if its grant was read since, and is the one that counts.
    cluster::ResizablePodPtr undamaged;
    int written = 0;  ///< the last revision that the API server took; no other gets its number
  };

  void follow();
  void advance(Case& its);
  void decide(Case& its, const model::Allocation& allocation, const model::NodeState& node);
  [[nodiscard]] static bool is_damaged(const Case& its);
  [[nodiscard]] static bool is_done(const Case& its, const model::Allocation& allocation,
                                    const model::NodeState& node);
  void refuse(Case& its, std::string_view why);
  static void show_refusal(Case& its);
  void report(Case& its) const;
  bool is_still_wanted(Case& its, const kube::Pod& pod, const model::Ledger::Entry& entry,
                       const model::Allocation& allocation) const;
  void write(Case& its, const model::Allocation& allocation, const model::NodeState& node);
  std::optional<cluster::Resize> state_of(Case& its, const model::Allocation& allocation,
                                          const model::NodeState& node);
  [[nodiscard]] static Wanted wanted_of(const Case& its, const model::Allocation& allocation,
                                        const model::NodeState& node);
  [[nodiscard]] static model::Allocation revision_for(const Case& its,
                                                      const model::Allocation& allocation,
                                                      const model::NodeState& node);
  [[nodiscard]] std::optional<model::Ledger::Entry> find_entry(const std::string& uid) const;
  bool send(Case& its, const kube::Pod& pod, const model::Ledger::Entry& entry,
            const model::Allocation& next);
  Result<void> try_to_write(Case& its);
  void settle(Case& its);
  void end_doubt(Case& its, bool applied);
  void cancel(const std::string& uid);
  void look_for_revision(Case& its);
  /// By what its node's agent has published.
  [[nodiscard]] bool has_applied(const model::Allocation& allocation) const;
  [[nodiscard]] bool has_revision(const kube::Pod& pod, const model::Ledger::Entry& entry) const;
  void put_off(Case& its);
  void count(ResizeOutcome outcome);
  [[nodiscard]] bool may_write() const;

  const ResizerSettings settings_;
  const Parts parts_;
  std::map<std::string, Case, std::less<>> cases_;  ///< by UID
  std::mutex writing_;                              ///< held by a look that may write
  std::atomic<std::size_t> doubts_{0};
  std::array<std::atomic<std::uint64_t>, kResizeOutcomeNames.size()> results_{};
  std::array<std::atomic<std::uint64_t>, cluster::kAllResizeStates.size()> states_{};
};

}  // namespace tangram::extender
