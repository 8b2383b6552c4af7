#pragma once

#include "model/isolation.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tangram::model {

/// What pods that count cards ask for: a resource of NVIDIA's device plugin, without the vendor's
/// domain. "shared" are the replicas of cards that a sharing configuration renames; "mig" are
/// instances of any profile.
enum class CardResource : std::uint8_t { kGpu, kGpuShared, kMig, kMigShared };

/// The only list of their names: annotations, card lists and messages use it.
inline constexpr std::array<std::string_view, 4> kCardResourceNames{"gpu", "gpu.shared", "mig",
                                                                    "mig.shared"};

[[nodiscard]] constexpr std::string_view to_string(CardResource resource) {
  return kCardResourceNames.at(static_cast<std::size_t>(resource));
}
[[nodiscard]] std::optional<CardResource> parse_card_resource(std::string_view text);

/// What pods that count cards get of a card, by the sharing configuration of its node.
struct Replicas {
  static constexpr int kMost = 48;  ///< sharers of a card, see CardTraits::kDefaultMaxSharers

  int count = 1;  ///< equal shares of the card; 1 = the card itself
  CardResource resource = CardResource::kGpu;
  Isolation isolation = Isolation::kTimeSlice;  ///< of the shares
  bool one_each = false;                        ///< a container cannot have several
  friend bool operator==(const Replicas&, const Replicas&) = default;
};

}  // namespace tangram::model
