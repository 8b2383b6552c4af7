#include "node/container/card_environment.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace tangram::node {

std::string start_mark(std::uint64_t random) {
  return fmt::format("TANGRAM_START={:016x}", random);
}

std::string start_mark(std::string_view allocation, const VendorRuntime& runtime) {
  return fmt::format("{}={}", runtime.variable, qualified_name(allocation));
}

ContainerEdits card_environment(std::string_view allocation, const model::ContainerGrant& granted,
                                const VendorRuntime& runtime, bool has_devices) {
  std::string cards;
  std::string memory;
  std::string compute;
  for (const model::GrantedCard& card : granted.cards) {
    const char* separator = cards.empty() ? "" : ",";
    constexpr std::int64_t kBytesPerMiB = 1 << 20;
    cards += separator + card.uuid;
    memory += separator + std::to_string(card.memory_limit.count() * kBytesPerMiB);
    compute += separator + std::to_string(card.compute_limit.count());
  }
  return {.env = {std::string(runtime.variable) + "=" +
                      (has_devices ? std::string(runtime.no_card) : cards),
                  std::string(kAllocationVariable) + "=" + std::string(allocation),
                  "TANGRAM_CARD_UUIDS=" + cards, "TANGRAM_MEMORY_LIMIT_BYTES=" + memory,
                  "TANGRAM_COMPUTE_LIMIT_MILLI=" + compute},
          .mounts = {}};
}

}  // namespace tangram::node
