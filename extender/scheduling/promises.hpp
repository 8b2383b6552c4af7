#pragma once

#include "base/clock.hpp"
#include "cluster/explain.hpp"
#include "cluster/pod_table.hpp"
#include "extender/scheduling/wire.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

/// Who makes room for a pod.
enum class RoomMaker {
  kScheduler,    ///< kube-scheduler, which called /preempt
  kPreemptor,    ///< the extender, for the pod's priority
  kDefragmenter  ///< the extender, by moving pods
};

/// A pod, and a node that it counts as nominated to.
struct Nomination {
  cluster::PodPtr pod;
  std::string node;
  std::vector<std::string> victims;  ///< UIDs of pods that leave the node for it
  bool evicted = false;              ///< these were evicted, though the watch may not show that yet
};

/// Pods that evict others, and the nodes that they get in return. The API server shows a nomination
/// late, and kube-scheduler clears it when an attempt fails for another reason. The victims leave
/// all the same, so their room is kept here until the pod can have asked for it.
///
/// kube-scheduler takes one of the nodes that /preempt leaves it. Which one is known when it
/// nominates the pod to it, or when the victims there begin to leave. A promise ends
///  * with the pod: when it is bound or deleted;
///  * kUntilEviction after it was made, if no victim leaves and the pod is not nominated;
///  * kUntilAsked after its victims are gone.
/// Threads: safe.
class Promises {
 public:
  /// kube-scheduler evicts and nominates within milliseconds; a busy API server takes longer.
  static constexpr std::chrono::seconds kUntilEviction{5};
  /// The pod's back-off, and some attempts.
  static constexpr std::chrono::seconds kUntilAsked{10};
  /// Pods at once; the oldest goes first.
  static constexpr std::size_t kMost = 256;

  explicit Promises(const Clock& clock) : clock_(clock) {}

  /// /preempt left these nodes to the pod. Replaces an earlier promise to it.
  void made(const kube::Pod& pod, const std::map<std::string, Victims, std::less<>>& nodes);
  /// The extender itself evicts these pods for the pod. Replaces an earlier promise of the same
  /// maker. It ends kUntilAsked after its victims are gone.
  /// @returns false if another one makes room for it already
  [[nodiscard]] bool evicting(const kube::Pod& pod, const std::string& node,
                              std::vector<std::string> victims, RoomMaker by);
  /// The pod is bound.
  void forget(std::string_view pod_uid);
  /// Nobody leaves for it after all. @returns false if the promise to it is not of this maker
  bool withdraw(std::string_view pod_uid, RoomMaker by);
  /// Looks at what has become of the victims and the pods.
  void review(const model::ClusterSnapshot& cluster, const cluster::PodTable& pods);

  [[nodiscard]] bool made_to(std::string_view pod_uid) const { return maker(pod_uid).has_value(); }
  /// @returns nothing if nobody makes room for the pod
  [[nodiscard]] std::optional<RoomMaker> maker(std::string_view pod_uid) const;
  /// The same with the node and the pods that leave it. @returns nothing while several nodes are
  /// promised to the pod
  [[nodiscard]] std::optional<cluster::RoomBeingMade> room_of(std::string_view pod_uid) const;
  /// The pods as of waiting_pod(), once for each node that is promised to them.
  [[nodiscard]] std::vector<Nomination> nominated() const;

 private:
  struct Promise {
    cluster::PodPtr pod;  ///< as it was when the promise was made
    std::map<std::string, std::vector<std::string>, std::less<>> victims;  ///< UIDs, by node
    TimePoint made;
    RoomMaker by = RoomMaker::kScheduler;
    bool evicting = false;                    ///< one node is left, and victims leave it
    std::optional<TimePoint> victims_gone{};  ///< since when
  };
  /// @returns whether it still counts
  [[nodiscard]] bool review(Promise& promise, const kube::Pod* shown,
                            const model::ClusterSnapshot& cluster) const;

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Promise, std::less<>> by_pod_;
};

}  // namespace tangram::extender
