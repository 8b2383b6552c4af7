#pragma once

#include "base/result.hpp"
#include "kube/objects.hpp"

#include <string>
#include <vector>

namespace tangram::cli {

/// The pods that a file of manifests would make.
struct Manifests {
  std::vector<kube::Pod> pods;           ///< in the file's order; each with a slot where it asks
  std::vector<std::string> passed_over;  ///< "ConfigMap settings": makes no pods
};

/// Pods that one file may make: a simulation of more takes minutes.
inline constexpr std::size_t kMostPods = 10'000;

/// Reads Pods, and the pods of Deployments, ReplicaSets, StatefulSets and Jobs: as many as they
/// say, of DaemonSets none. YAML or JSON; `kind: List` too. A container that asks for cards without
/// a slot gets one, as from the webhook.
/// @param ns  of objects that name none
/// @returns kInvalidArgument, with the line
Result<Manifests> read_manifests(const std::string& text, const std::string& ns);

}  // namespace tangram::cli
