#pragma once

#include "kube/objects.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::cluster {

using PodPtr = std::shared_ptr<const kube::Pod>;

/// Pods that exist and have no node yet, as the watch shows them. Bind looks a pod up here to
/// spare the API server a read. Threads: safe.
class PendingPods {
 public:
  void put(kube::Pod pod);
  void erase(std::string_view uid);
  /// Drops the pods whose UID is not to be kept.
  void retain(const std::function<bool(const std::string& uid)>& keep);

  /// @returns null if there is none
  [[nodiscard]] PodPtr find(std::string_view uid) const;
  [[nodiscard]] PodPtr find(std::string_view ns, std::string_view name) const;
  [[nodiscard]] std::vector<PodPtr> all() const;
  /// Those that preempted others and wait for room on the node they were nominated to.
  [[nodiscard]] std::vector<PodPtr> nominated() const;
  [[nodiscard]] std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, PodPtr, std::less<>> by_uid_;
  std::map<std::string, std::string, std::less<>> uid_by_name_;  ///< "ns/name"
  std::set<std::string, std::less<>> nominated_;                 ///< UIDs; nearly always none
};

}  // namespace tangram::cluster
