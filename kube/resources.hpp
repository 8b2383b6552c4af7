#pragma once

#include "base/json.hpp"
#include "base/quantity.hpp"
#include "kube/pod_manifest.hpp"
#include "model/node_state.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

/// The resource maps of pods and nodes, and how Kubernetes adds them up.
namespace tangram::kube {

/// What one resource map (requests, limits, overhead, allocatable) contains; nothing = no entry.
struct ResourceMap {
  std::optional<KubeQuantity> cpu;
  std::optional<KubeQuantity> memory;
  std::optional<std::int64_t> slots;  ///< model::kSlotResource
};

/// Reads one; a quantity that is none makes the reader fail, and so do more slots than any node
/// has.
/// @param texts  if not null, receives every quantity as written
[[nodiscard]] ResourceMap read_resources(json::Reader& in, StringMap* texts = nullptr);
/// The texts alone, of whatever form.
[[nodiscard]] StringMap read_resource_texts(json::Reader& in);

/// requests and limits of a container, or of the pod as a whole.
struct Resources {
  ResourceMap requests;
  ResourceMap limits;
};

/// CPU and memory as Kubernetes adds them up: exact bytes, so that only the sum rounds to MiB.
/// What is more than any node has counts as kMost: such a pod is still read, because a bound one
/// may be resized to anything, and its allocation must not be lost.
struct Amount {
  static constexpr std::int64_t kMostMilliCpu = 1'000'000'000;       // a million cores
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;  // 1 PiB

  std::int64_t milli_cpu = 0;
  std::int64_t bytes = 0;
};

inline Amount operator+(Amount a, Amount b) {
  return {std::min(a.milli_cpu + b.milli_cpu, Amount::kMostMilliCpu),
          std::min(a.bytes + b.bytes, Amount::kMostBytes)};
}
/// The larger of each.
[[nodiscard]] Amount larger_of(Amount a, Amount b);

/// What a container requests. A missing request is the limit: the API server's default, for objects
/// that it has not seen.
[[nodiscard]] Amount requested(const Resources& resources);

/// The slots a container holds: its limit, else its request.
[[nodiscard]] std::int64_t requested_slots(const Resources& resources);

/// Kubernetes' rule for what a pod requests of its node (resource.PodRequests in
/// k8s.io/component-helpers): the containers' worst moment, or what the pod as a whole requests,
/// plus the runtime's overhead. Rounds up once, at the end. Slots are not counted here.
/// @param of_containers  at_worst_moment()
[[nodiscard]] model::Footprint pod_footprint(Amount of_containers, const Resources& pod_level,
                                             const ResourceMap& overhead);

/// What all containers of a pod need at their worst moment, as Kubernetes adds it up
/// (resource.PodRequests in k8s.io/component-helpers): sidecars, once started, stay; an ordinary
/// init container runs alone beside the sidecars declared before it.
/// @param containers  init containers in their order; they have a `kind`
/// @param need_of     what one of them needs; `Need` has operator+ and larger_of()
template <class Need, class Containers, class NeedOf>
[[nodiscard]] Need at_worst_moment(const Containers& containers, NeedOf&& need_of) {
  Need apps{};
  Need sidecars{};
  Need starting{};  // the most while one init container after the other starts
  for (const auto& container : containers) {
    if (container.kind == ContainerKind::kEphemeral) continue;
    const Need need = need_of(container);
    if (container.kind == ContainerKind::kApp) {
      apps = apps + need;
      continue;
    }
    starting = larger_of(starting, sidecars + need);
    if (container.kind == ContainerKind::kSidecar) sidecars = sidecars + need;
  }
  return larger_of(starting, sidecars + apps);
}

/// Makes the reader fail if a sum is more than any node has.
void check_total_slots(json::Reader& in, std::int64_t total);

}  // namespace tangram::kube
