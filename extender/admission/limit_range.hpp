#pragma once

#include "kube/pod_manifest.hpp"

#include <set>
#include <string_view>
#include <utility>

/// LimitRanges of type Container write their default, or else their maximum, into every container
/// of a namespace, before any webhook is called.
namespace tangram::extender {

/// Which aggregates LimitRanges gave to a pod's containers. The API server's LimitRanger records it
/// in the pod's annotation kubernetes.io/limit-ranger, as in
///
///     LimitRanger plugin set: tangram.dev/gpu-milli limit for container side; ...
///
/// Source: kubernetes, plugin/pkg/admission/limitranger. Authors could write it as well, and would
/// lose by it what they wrote beside.
///
/// Reads the text once, for all containers. Views of the pod, which outlives it.
class LimitRangeGifts {
 public:
  explicit LimitRangeGifts(const kube::PodManifest& pod);

  /// @param aggregate  one of model::kAggregateResources
  [[nodiscard]] bool gave(std::string_view container, std::string_view aggregate) const;

 private:
  void read(std::string_view part);

  std::set<std::pair<std::string_view, std::string_view>> gifts_;  // container, aggregate
};

}  // namespace tangram::extender
