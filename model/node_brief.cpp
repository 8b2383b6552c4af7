#include "model/node_brief.hpp"

#include <algorithm>

namespace tangram::model {

namespace {

/// Some bits of a word.
struct Field {
  unsigned first;
  unsigned bits;

  [[nodiscard]] constexpr std::uint64_t mask() const { return (std::uint64_t{1} << bits) - 1; }
  [[nodiscard]] constexpr PackedUse put(std::int64_t value) const {
    return (static_cast<std::uint64_t>(value) & mask()) << first;
  }
  [[nodiscard]] constexpr std::int64_t get(PackedUse word) const {
    return static_cast<std::int64_t>((word >> first) & mask());
  }
};

constexpr Field kMemory{.first = 0, .bits = 22};    // 4 TiB
constexpr Field kCompute{.first = 22, .bits = 12};  // four cards: more than one may be granted
constexpr Field kWhole{.first = 34, .bits = 1};
/// One for each mode, from here on.
constexpr Field kSharers{.first = 35, .bits = 8};
static_assert(kSharers.first + kIsolationModes * kSharers.bits == 64 - kSpareBits);

constexpr Field sharers_in(std::size_t mode) {
  return {.first = kSharers.first + static_cast<unsigned>(mode) * kSharers.bits,
          .bits = kSharers.bits};
}

bool has_one_kind_of_card(const CardMake& cards) {
  return !cards.empty() && cards.size() <= NodeBrief::kMostCards &&
         std::all_of(cards.begin() + 1, cards.end(),
                     [](const MadeCard& card) { return card.as_before; });
}

}  // namespace

std::optional<PackedUse> packed(const CardUse& use) {
  PackedUse word =
      kMemory.put(use.memory.count()) | kCompute.put(use.compute.count()) | kWhole.put(use.whole);
  for (std::size_t mode = 0; mode < kIsolationModes; ++mode) {
    word |= sharers_in(mode).put(use.sharers.at(mode));
  }
  const bool exact = unpacked(word) == use && use.idle() == (word == 0);
  return exact ? std::optional(word) : std::nullopt;
}

CardUse unpacked(PackedUse word) {
  CardUse use{.memory = Mebibytes(kMemory.get(word)), .compute = MilliGpu(kCompute.get(word))};
  for (std::size_t mode = 0; mode < kIsolationModes; ++mode) {
    use.sharers.at(mode) = static_cast<std::int32_t>(sharers_in(mode).get(word));
  }
  use.whole = static_cast<std::int32_t>(kWhole.get(word));
  return use;
}

NodeBrief brief_of(const NodeState& node) {
  if (!node.present || !has_one_kind_of_card(node.traits())) return {};
  NodeBrief brief{.make = node.make.get(),
                  .node = &node,
                  .idle = idle_compute(node),
                  .free_cpu = node.free_cpu(),
                  .cpu = node.inventory->cpu,
                  .memory = node.inventory->memory};
  for (std::size_t card = 0; card < node.use.size(); ++card) {
    const auto word = packed(node.use[card]);
    if (!word) return {};
    brief.use.at(card) = *word;
  }
  return brief;
}

}  // namespace tangram::model
