#pragma once

#include "model/memory_limits.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace tangram::node {

/// The means by which this machine can enforce memory limits on a card. To enforce none is always
/// possible.
class MemoryMeans {
 public:
  constexpr MemoryMeans() = default;
  constexpr MemoryMeans(std::initializer_list<model::MemoryLimits> means) {
    for (const model::MemoryLimits each : means) add(each);
  }
  constexpr void add(model::MemoryLimits means) { bits_ |= bit(means); }
  [[nodiscard]] constexpr bool has(model::MemoryLimits means) const {
    return (bits_ & bit(means)) != 0;
  }
  friend constexpr bool operator==(MemoryMeans, MemoryMeans) = default;

 private:
  static constexpr unsigned bit(model::MemoryLimits means) {
    return 1U << static_cast<unsigned>(means);
  }
  unsigned bits_ = bit(model::MemoryLimits::kNone);
};

/// The strongest that is available and not above the setting.
/// @param most  nothing = the strongest of all
[[nodiscard]] constexpr model::MemoryLimits strongest(MemoryMeans available,
                                                      std::optional<model::MemoryLimits> most) {
  model::MemoryLimits found = model::MemoryLimits::kNone;
  for (const model::MemoryLimits means : model::kAllMemoryLimits) {
    if (available.has(means) && (!most || means <= *most)) found = means;
  }
  return found;
}

}  // namespace tangram::node
