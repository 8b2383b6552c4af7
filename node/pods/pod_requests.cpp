#include "node/pods/pod_requests.hpp"

#include "base/quantity.hpp"
#include "base/quote.hpp"
#include "kube/resources.hpp"

#include <algorithm>
#include <cstdint>

namespace tangram::node {

namespace {

// 512 cards of 1000; and 2^40 MiB, as the cards annotation allows it. So no sum of a pod's
// containers, which etcd's 1.5 MiB keep below 2^16, can overflow.
constexpr std::int64_t kMostMilli = 512'000;
constexpr std::int64_t kMostMebibytes = std::int64_t{1} << 40U;

/// The container's request; a missing one is the limit: the API server's default.
/// @returns 0 if it has neither, and after a mistake, which `mistake` then names
std::int64_t requested(const kube::ContainerManifest& container, std::string_view resource,
                       std::int64_t most, std::string& mistake) {
  const std::string* text = kube::find(container.requests, resource);
  if (text == nullptr) text = kube::find(container.limits, resource);
  if (text == nullptr) return 0;
  const auto quantity = KubeQuantity::parse(*text);
  const std::int64_t count = quantity ? quantity->units_ceil() : 0;
  if (quantity && count <= most) return count;
  mistake = "container " + quote(container.name) + ": " + std::string(resource) + ": " +
            (quantity ? std::to_string(count) + " is more than any node has; write at most " +
                            std::to_string(most)
                      : quantity.error().message);
  return 0;
}

}  // namespace

CardRequests operator+(const CardRequests& a, const CardRequests& b) {
  return {.milli = a.milli + b.milli, .memory = a.memory + b.memory};
}

CardRequests larger_of(const CardRequests& a, const CardRequests& b) {
  return {.milli = std::max(a.milli, b.milli), .memory = std::max(a.memory, b.memory)};
}

Result<CardRequests> card_requests(const kube::PodManifest& pod) {
  std::string mistake;
  const auto need_of = [&](const kube::ContainerManifest& container) -> CardRequests {
    return {
        .milli = MilliGpu(requested(container, kMilliResource, kMostMilli, mistake)),
        .memory = Mebibytes(requested(container, kMemoryResource, kMostMebibytes, mistake)),
    };
  };
  const auto need = kube::at_worst_moment<CardRequests>(pod.containers, need_of);
  if (!mistake.empty()) return fail(Errc::kInvalidArgument, std::move(mistake));
  return need;
}

}  // namespace tangram::node
