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

/// What a watch showed of one pod. Times are those at which its events arrived here.
struct SeenPod {
  std::string name;
  std::string uid;
  std::string node;              ///< empty = not bound yet
  TimePoint added;               ///< first seen
  TimePoint bound;               ///< first seen with a node
  bool bind_was_seen = false;    ///< there was an event from unbound to bound, with nothing between
  bool granted_in_bind = false;  ///< and that one event brought the grant too
  bool deleting = false;
  bool deleted = false;
  std::string nominated;  ///< status.nominatedNodeName
};
using SeenPods = std::map<std::string, SeenPod>;  ///< by UID

/// Watches the pods of the tests' namespace, straight from the API server.
/// A watch that ends is taken up where it ended; where that is not possible, all pods are listed
/// again, and what changed between has not `bind_was_seen`.
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
  /// Blocks until no pod was bound for `calm`. @returns false if that did not come within `limit`
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

/// Ends deleted pods as kubelet would: at once, and for good.
class FakeKubelet {
 public:
  FakeKubelet(kube::KubeApi& api, PodWatcher& watcher);

 private:
  std::jthread thread_;
};

}  // namespace tangram::e2e
