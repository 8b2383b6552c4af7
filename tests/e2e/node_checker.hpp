#pragma once

#include "kube/api.hpp"
#include "tests/e2e/starts.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tangram::e2e {

/// The result of a check: what containers saw, compared with what they should see.
struct StartVerdict {
  int starts = 0;
  int with_gpu = 0;        ///< starts of containers that hold a slot
  int without_device = 0;  ///< those of pods that were deleted by force, which saw no card
  std::vector<std::string> problems;  ///< empty = every container saw its own share, and only that

  [[nodiscard]] std::string summary() const;
};

/// Compares what containers saw with the objects of the API server. It computes amounts from the
/// pod's annotations and the card's size, and takes the cards from the pod's grant. It shares no
/// code with the agent or `model`. It keeps deleted pods, since their starts are checked later.
/// Threads: one at a time.
class NodeChecker {
 public:
  /// Reads all nodes and pods. Call it before pods are deleted.
  void learn(kube::KubeApi& api);
  /// The same from JSON texts: a v1.NodeList and a v1.PodList.
  void learn(const std::string& nodes, const std::string& pods);

  /// @param forced  UIDs of pods that were deleted by force: their containers may start without
  ///                their device, if they see no card then
  [[nodiscard]] StartVerdict check(const std::vector<Start>& starts,
                                   const std::set<std::string>& forced = {}) const;

 private:
  struct Pod {
    std::string name;
    std::string node;
    std::map<std::string, std::string> annotations;
    std::set<std::string> with_slot;  ///< containers
  };
  [[nodiscard]] std::map<std::string, std::string> due(const Pod& pod,
                                                       const std::string& container) const;
  [[nodiscard]] std::string problem(const Pod& pod, const Start& start) const;

  std::map<std::string, Pod> pods_;  ///< by UID
  std::map<std::string, long> card_mib_;
};

}  // namespace tangram::e2e
