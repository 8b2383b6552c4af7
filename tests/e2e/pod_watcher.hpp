#pragma once

#include "base/clock.hpp"
#include "kube/api.hpp"

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace tangram::e2e {

/// What a watch reported about one pod. Times are the arrival times of its events.
struct SeenPod {
  std::string name;
  std::string uid;
  std::string node;              ///< empty = not bound yet
  TimePoint added;               ///< first seen
  TimePoint bound;               ///< first seen with a node
  bool bind_was_seen = false;    ///< one event changed it from unbound to bound
  bool granted_in_bind = false;  ///< and the same event added the grant
  bool deleting = false;
  bool deleted = false;
  std::string nominated;  ///< status.nominatedNodeName
};
using SeenPods = std::map<std::string, SeenPod>;  ///< by UID

/// Watches the pods of the tests' namespace, directly at the API server.
/// Resumes a watch that ended. If it cannot, it lists all pods; binds it missed lack
/// `bind_was_seen`.
/// Threads: safe.
class PodWatcher {
 public:
  explicit PodWatcher(kube::KubeApi& api);
  ~PodWatcher();
  PodWatcher(const PodWatcher&) = delete;
  PodWatcher& operator=(const PodWatcher&) = delete;

  /// Blocks until what was seen satisfies `enough`. @returns false if it did not within `limit`
  bool wait(const std::function<bool(const SeenPods&)>& enough, std::chrono::milliseconds limit);
  [[nodiscard]] SeenPods pods() const;

  /// Blocks until `count` pods that were not deleted are bound.
  bool wait_bound(int count, std::chrono::milliseconds limit);
  /// Blocks until no pod was bound for `calm`. @returns false if this takes longer than `limit`
  bool wait_calm(std::chrono::milliseconds calm, std::chrono::milliseconds limit);
  /// Blocks until the pod of that name is bound. @returns nothing if it was not within `limit`
  std::optional<SeenPod> wait_pod_bound(const std::string& name, std::chrono::milliseconds limit);

 private:
  void run(const std::stop_token& stop);
  bool list();
  void watch(const std::stop_token& stop);
  bool take_frame(std::string frame);

  kube::KubeApi& api_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  SeenPods pods_;
  TimePoint last_bind_;
  std::string version_;
  std::jthread thread_;
};

/// Pods that are not deleted and bound.
[[nodiscard]] int count_bound(const SeenPods& pods);
/// Pods that are not deleted.
[[nodiscard]] int count_present(const SeenPods& pods);

/// Removes deleted pods in place of kubelet, without a grace period.
class FakeKubelet {
 public:
  FakeKubelet(kube::KubeApi& api, PodWatcher& watcher);

 private:
  std::jthread thread_;
};

}  // namespace tangram::e2e
