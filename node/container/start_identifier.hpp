#pragma once

#include "base/result.hpp"
#include "node/container/journal.hpp"
#include "node/kubelet/checkpoint.hpp"
#include "node/kubelet/pod_resources.hpp"
#include "node/pods/local_pods.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tangram::node {

/// A container that kubelet may start now, with its pod.
struct Start {
  SlotOwner owner;
  LocalPodPtr pod;
  bool watched = false;  ///< the watch had the pod
};

/// Finds out which container has the slots with which kubelet starts one.
/// Threads: safe. Calls kubelet, and the API server where the watch does not have the pod.
class StartIdentifier {
 public:
  struct Parts {
    std::function<Result<std::vector<SlotOwner>>()> slot_owners;  ///< kubelet's checkpoint, now
    PodLister& lister;
    PodSource& pods;
    Journal& journal;
    std::string node;
  };
  explicit StartIdentifier(Parts parts) : parts_(std::move(parts)) {}

  /// @param slots  sorted
  /// @returns kUnavailable if kubelet's records name no live pod, or differ
  [[nodiscard]] Result<std::vector<Start>> identify(const std::vector<std::string>& slots) const;
  /// Whether kubelet still has these containers' slots for their pods.
  /// @returns kUnavailable if not
  [[nodiscard]] Result<void> confirm(const std::vector<Start>& starts) const;

 private:
  [[nodiscard]] Result<LocalPodPtr> find_pod(const SlotOwner& owner,
                                             const ListedContainer* listed) const;

  const Parts parts_;
};

}  // namespace tangram::node
