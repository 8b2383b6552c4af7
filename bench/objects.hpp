#pragma once

#include "base/units.hpp"
#include "model/card.hpp"

#include <map>
#include <string>

/// Kubernetes objects as JSON, for programs that play a cluster on an API server in memory.
namespace tangram::bench {

/// A v1.Node with its cards annotation.
[[nodiscard]] std::string node_json(const model::NodeInventory& node);

/// A merge-patch of a v1.Node that replaces its cards annotation.
[[nodiscard]] std::string cards_patch(const model::NodeInventory& node);

struct PodSpec {
  std::string ns = "default";
  std::string name;
  std::map<std::string, std::string> annotations;  ///< full names
  MilliCpu cpu;
  Mebibytes memory;
  bool slot = false;  ///< its container "main" requests a tangram.dev/gpu-slot
  int priority = 0;
  std::string node;  ///< bound from the start; empty = pending
};
/// A v1.Pod with one container, "main".
[[nodiscard]] std::string pod_json(const PodSpec& pod);

/// What the API server sends to a webhook for a new pod that wants half a card.
/// @param sidecars  containers beside the one with the card
[[nodiscard]] std::string admission_review(int sidecars);

}  // namespace tangram::bench
