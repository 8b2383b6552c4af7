#pragma once

#include "model/isolation.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::model {

/// By what means the memory limits of containers that share a card are enforced: from the weakest
/// to the strongest, so that they can be compared. The isolation mode says how compute is shared,
/// which is another question.
enum class MemoryLimits : std::uint8_t {
  kNone,     ///< not at all
  kMps,      ///< NVIDIA MPS: what clients of its server allocate, in the isolation mode mps only
  kLibrary,  ///< libraries in place of the driver's own, inside the container
  kDriver,   ///< the kernel driver, by cgroup
};

/// The only list of their names, in the order of the enumerators.
inline constexpr std::array<std::string_view, 4> kMemoryLimitsNames{"none", "mps", "library",
                                                                    "driver"};
inline constexpr auto kAllMemoryLimits = [] {
  std::array<MemoryLimits, kMemoryLimitsNames.size()> means{};
  for (std::size_t i = 0; i < means.size(); ++i) means.at(i) = static_cast<MemoryLimits>(i);
  return means;
}();
/// Those that a pod or a namespace can require: all but none.
inline constexpr std::array<std::string_view, 3> kRequirableMemoryLimits{"mps", "library",
                                                                         "driver"};

[[nodiscard]] constexpr std::string_view to_string(MemoryLimits means) {
  return kMemoryLimitsNames.at(static_cast<std::size_t>(means));
}
[[nodiscard]] std::optional<MemoryLimits> parse_memory_limits(std::string_view text);
/// @returns nothing for "none", too
[[nodiscard]] std::optional<MemoryLimits> parse_required_memory_limits(std::string_view text);
/// For a text that names none that can be required: the text, and the names there are.
[[nodiscard]] std::string not_memory_limits(std::string_view text);

/// The means that applies to a share of a card. MPS knows its own clients alone; the others do not
/// depend on the mode. A container that has the card to itself needs none.
/// @param of_card  the means of the card
[[nodiscard]] constexpr MemoryLimits in_mode(MemoryLimits of_card, Isolation mode) {
  const bool elsewhere = of_card == MemoryLimits::kMps && mode != Isolation::kMps;
  return elsewhere ? MemoryLimits::kNone : of_card;
}

}  // namespace tangram::model
