#pragma once

#include "kube/pod_manifest.hpp"
#include "model/request.hpp"

#include <cstdint>
#include <string_view>

/// What a request counts in the resources of nodes as a whole, so that Kubernetes' own fit, quotas
/// and preemption see it. Exact where the request says it, a lower bound over all cards otherwise,
/// 0 where nothing is known:
///
///     gpu-fraction f:   f × 1000 × count milli; the memory depends on the card
///     gpu-mem m:        m × count MiB; and compute × count milli where gpu-compute says it
///     gpu-compute "0":  no milli: best effort takes what is left over
///     gpu-count alone:  1000 × count milli
///
/// Burst limits never count.
namespace tangram::extender {

struct Aggregates {
  std::int64_t milli = 0;      ///< model::kMilliResource
  std::int64_t mebibytes = 0;  ///< model::kMemoryResource
  friend bool operator==(const Aggregates&, const Aggregates&) = default;
};

[[nodiscard]] Aggregates aggregates_of(const model::ContainerRequest& request);

/// The amount of the resource of that name.
[[nodiscard]] std::int64_t amount_of(const Aggregates& aggregates, std::string_view resource);

/// As resources of a container: those that are not 0.
[[nodiscard]] kube::StringMap to_resources(const Aggregates& aggregates);

}  // namespace tangram::extender
