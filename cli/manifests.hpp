#pragma once

#include "base/result.hpp"
#include "kube/objects.hpp"

#include <string>
#include <vector>

namespace tangram::cli {

/// The pods that a file of manifests would create.
struct Manifests {
  std::vector<kube::Pod> pods;       ///< in the file's order; each with a slot if it requests cards
  std::vector<std::string> skipped;  ///< "ConfigMap settings": creates no pods
};

/// Pods that one file may create: a simulation of more takes minutes.
inline constexpr std::size_t kMostPods = 10'000;

/// Reads Pods, and the pods of Deployments, ReplicaSets, StatefulSets and Jobs, one per replica.
/// YAML or JSON, also `kind: List`. A container that requests cards without a slot gets one, as
/// from the webhook.
/// @param ns  of objects without a namespace
/// @returns kInvalidArgument, with the line
Result<Manifests> read_manifests(const std::string& text, const std::string& ns);

}  // namespace tangram::cli
