#pragma once

#include "base/units.hpp"
#include "kube/api.hpp"
#include "model/card.hpp"

#include <map>
#include <string>

/// Kubernetes objects as JSON, for programs that play a cluster on a LocalApi.
namespace tangram::bench {

/// A v1.Node with its cards annotation.
[[nodiscard]] std::string node_json(const model::NodeInventory& node);

struct PodSpec {
  std::string ns = "default";
  std::string name;
  std::map<std::string, std::string> annotations;  ///< full names
  MilliCpu cpu;
  Mebibytes memory;
  bool slot = false;  ///< its container "main" holds a tangram.dev/gpu-slot
  std::string node;   ///< bound from the start; empty = pending
};
/// A v1.Pod with one container, "main".
[[nodiscard]] std::string pod_json(const PodSpec& pod);

/// "/api/v1/namespaces/NS/pods".
[[nodiscard]] std::string pods_path(const std::string& ns);

/// Requests as kubectl would send them; a delete is at once.
[[nodiscard]] kube::Request create_request(std::string path, std::string body);
[[nodiscard]] kube::Request delete_request(std::string path);

}  // namespace tangram::bench
