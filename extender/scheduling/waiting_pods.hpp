#pragma once

#include "cluster/policy_source.hpp"
#include "kube/objects.hpp"
#include "model/fit.hpp"

#include <prometheus/collectable.h>

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

/// What kube-scheduler was last told of a pod that asks for a GPU and has no node.
enum class Wait {
  kNotAsked,       ///< nothing: it has not asked, or has asked another replica
  kInvalid,        ///< the annotations cannot be read
  kOffered,        ///< there is a node for it; what it waits for is not a card
  kSettling,       ///< to try again: the room is another's for the moment
  kNoSuchCard,     ///< no node asked about has such a card, idle or not
  kUnavailable,    ///< the cards that would do are sick or cordoned
  kIsolationBusy,  ///< the cards that would do are in use with another isolation
  kSharers,        ///< the cards that would do have no place for another sharer
  kRoom            ///< the cards that would do are too full
};
inline constexpr std::size_t kWaits = 9;
inline constexpr std::array<Wait, kWaits> kAllWaits{
    Wait::kNotAsked,    Wait::kInvalid,       Wait::kOffered, Wait::kSettling, Wait::kNoSuchCard,
    Wait::kUnavailable, Wait::kIsolationBusy, Wait::kSharers, Wait::kRoom};
/// "no_such_card": the label of tangram_waiting_pods.
[[nodiscard]] std::string_view to_string(Wait wait);

/// Of a pod that no node can take.
/// @param nearest  why the node that comes nearest to it does not
[[nodiscard]] Wait wait_for(model::Misfit nearest);

/// The pods that ask for a GPU and wait, with the reason of each. kube-scheduler may ask about a
/// pod before the watch shows it, or after its end: forget_unseen() bounds what is remembered.
/// Threads: safe.
class WaitingPods final : public prometheus::Collectable {
 public:
  /// The watch shows the pod; one that is bound or asks for no GPU is forgotten.
  /// @param plan  what its annotations ask for, or what is wrong with them
  void seen(const kube::Pod& pod, const Result<cluster::PodPlan>& plan);
  /// kube-scheduler got this answer.
  void answered(std::string_view pod_uid, Wait wait);
  /// The pod is gone.
  void forget(std::string_view pod_uid);
  /// Drops the pods that the watch has not shown.
  void forget_unseen();

  [[nodiscard]] std::map<Wait, std::size_t> counts() const;  ///< of every reason
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Waiting {
    Wait wait = Wait::kNotAsked;
    bool shown = false;  ///< by the watch
  };
  mutable std::mutex mutex_;
  std::map<std::string, Waiting, std::less<>> pods_;  ///< by UID
};

}  // namespace tangram::extender
