#pragma once

#include "base/result.hpp"
#include "kube/objects.hpp"

#include <string>
#include <vector>

namespace tangram::cli {

/// The pods that a file of manifests would create.
struct Manifests {
  std::vector<kube::Pod> pods;                     ///< in the file's order
  std::vector<std::string> priority_classes = {};  ///< that each of them names; "" = none
  std::vector<std::string> skipped = {};           ///< "ConfigMap settings": creates no pods
};

/// Pods that one file may create: a simulation of more takes minutes.
inline constexpr std::size_t kMostPods = 10'000;

/// The text of a file; "-" = of standard input.
Result<std::string> read_manifest_file(const std::string& file);

/// One object as it is; several as a `kind: List`. All of them are JSON.
[[nodiscard]] std::string list_of(const std::vector<std::string>& objects);

/// Reads Pods, and the pods of Deployments, ReplicaSets, StatefulSets and Jobs, one per replica.
/// YAML or JSON, also `kind: List`. The pods are as they are written, before any webhook.
/// @param ns  of objects without a namespace
/// @returns kInvalidArgument, with the line
Result<Manifests> read_manifests(const std::string& text, const std::string& ns);

}  // namespace tangram::cli
