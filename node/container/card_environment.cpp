#include "node/container/card_environment.hpp"

#include "base/json_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tangram::node {
namespace {

constexpr std::string_view kStartVariable = "TANGRAM_START";

}  // namespace

std::string start_mark(std::uint64_t random) {
  return fmt::format("{}={:016x}", kStartVariable, random);
}

std::string start_mark_in(std::string spec) {
  const std::string random = variable_in(std::move(spec), kStartVariable);
  return random.empty() ? "" : std::string(kStartVariable) + "=" + random;
}

std::string variable_in(std::string spec, std::string_view name) {
  std::vector<std::string> environment;
  json::Reader in(spec);
  const auto edits = [&](json::Reader&) { json::read_members(in, "env", environment); };
  const auto devices = [&](json::Reader&) {
    in.array([&] { json::read_members(in, "containerEdits", edits); });
  };
  json::read_members(in, "devices", devices);
  if (!in.finish()) return "";
  const std::string begin = std::string(name) + "=";
  const auto last = std::find_if(environment.rbegin(), environment.rend(),
                                 [&](const auto& one) { return one.starts_with(begin); });
  return last == environment.rend() ? "" : last->substr(begin.size());
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
                  std::string(kCardsVariable) + "=" + cards, "TANGRAM_MEMORY_LIMIT_BYTES=" + memory,
                  "TANGRAM_COMPUTE_LIMIT_MILLI=" + compute},
          .mounts = {}};
}

}  // namespace tangram::node
