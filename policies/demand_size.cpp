#include "policies/demand_size.hpp"

#include <algorithm>

namespace tangram::policies {

std::int64_t size_on(const model::Slice& slice, const model::CardTraits& card) {
  const std::int64_t memory = std::max<std::int64_t>(card.memory.count(), 1);
  return std::max(slice.compute.count(), (1000 * slice.memory.count() + memory - 1) / memory);
}

std::int64_t size_on(const model::GpuRequest& request, const model::CardTraits& card) {
  std::int64_t size = 0;
  for (const model::ContainerRequest& container : request.containers) {
    size += container.count * size_on(slice_of(container.share, card), card);
  }
  return size;
}

}  // namespace tangram::policies
