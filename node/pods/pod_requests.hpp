#pragma once

#include "base/result.hpp"
#include "base/units.hpp"
#include "kube/pod_manifest.hpp"
#include "model/request.hpp"

#include <string_view>

namespace tangram::node {

using model::kMemoryResource;
using model::kMilliResource;

/// What pods request of their node's cards, by names that are not the slot.
struct CardRequests {
  MilliGpu milli = {};    ///< kMilliResource
  Mebibytes memory = {};  ///< kMemoryResource
  friend bool operator==(const CardRequests&, const CardRequests&) = default;
};

[[nodiscard]] CardRequests operator+(const CardRequests& a, const CardRequests& b);
/// The larger of each.
[[nodiscard]] CardRequests larger_of(const CardRequests& a, const CardRequests& b);

/// What a pod requests, by Kubernetes' rule for pod requests.
/// @returns kInvalidArgument for a quantity that is none, or more than any node has
Result<CardRequests> card_requests(const kube::PodManifest& pod);

}  // namespace tangram::node
