#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>

namespace tangram::kube {

/// A PodGroup of scheduling.k8s.io, as far as the places of its members need it. Its versions
/// (v1alpha2 in Kubernetes 1.36, v1alpha3 and v1beta1 in 1.37) agree in that.
struct PodGroup {
  std::string ns = {};
  std::string name = {};
  /// spec.schedulingPolicy.gang.minCount: so many members run, or none. 0 = each for itself.
  int min_count = 0;
  /// Changes with what kube-scheduler says of its last attempt to place the group, if that has
  /// failed. 0 = it says nothing.
  std::uint64_t refusal = 0;
  friend bool operator==(const PodGroup&, const PodGroup&) = default;
};

/// @returns kInvalidArgument, with the path of what is wrong
Result<PodGroup> decode_pod_group(std::string text);

}  // namespace tangram::kube
