#include "policies/demand_size.hpp"

#include <algorithm>

namespace tangram::policies {

std::int64_t size_on(const model::Slice& slice, const model::Card& card) {
  const std::int64_t memory = std::max<std::int64_t>(card.memory.count(), 1);
  return std::max(slice.compute.count(), (1000 * slice.memory.count() + memory - 1) / memory);
}

std::int64_t size_on(const model::GpuRequest& request, const model::Card& card) {
  std::int64_t size = 0;
  for (const model::ContainerRequest& container : request.containers) {
    size += container.count * size_on(slice_of(container.share, card), card);
  }
  return size;
}

std::int64_t room_of(const model::Card& card, const model::CardUse& use) {
  if (use.sharer_count() >= card.max_sharers) return 0;
  const std::int64_t memory = std::max<std::int64_t>(card.memory.count(), 1);
  return std::min(model::free_compute(card, use).count(),
                  1000 * model::free_memory(card, use).count() / memory);
}

}  // namespace tangram::policies
