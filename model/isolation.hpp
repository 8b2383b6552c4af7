#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::model {

/// How pods that share a card are kept apart. A card runs one mode at a time.
enum class Isolation : std::uint8_t {
  kMps,        ///< NVIDIA MPS: memory and compute limits per client process
  kTimeSlice,  ///< turns: by share where the node leases time, else the driver's
  kNone,       ///< no limit at all
};

/// The only list of the modes' names, in the order of the enumerators: annotations, grants, card
/// lists, settings, options and messages use it.
inline constexpr std::array<std::string_view, 3> kIsolationNames{"mps", "time-slice", "none"};
inline constexpr std::size_t kIsolationModes = kIsolationNames.size();
inline constexpr auto kAllIsolationModes = [] {
  std::array<Isolation, kIsolationModes> modes{};
  for (std::size_t i = 0; i < modes.size(); ++i) modes.at(i) = static_cast<Isolation>(i);
  return modes;
}();

[[nodiscard]] constexpr std::string_view to_string(Isolation mode) {
  return kIsolationNames.at(static_cast<std::size_t>(mode));
}
[[nodiscard]] std::optional<Isolation> parse_isolation(std::string_view text);
/// For a text that names no mode: the text, and the names there are.
[[nodiscard]] std::string not_an_isolation(std::string_view text);

/// A set of isolation modes.
class IsolationSet {
 public:
  constexpr IsolationSet() = default;
  constexpr IsolationSet(std::initializer_list<Isolation> modes) {
    for (const Isolation mode : modes) add(mode);
  }
  [[nodiscard]] static constexpr IsolationSet all() {
    IsolationSet set;
    for (const Isolation mode : kAllIsolationModes) set.add(mode);
    return set;
  }
  constexpr void add(Isolation mode) { bits_ |= bit(mode); }
  [[nodiscard]] constexpr IsolationSet without(Isolation mode) const {
    IsolationSet rest = *this;
    rest.bits_ &= ~bit(mode);
    return rest;
  }
  [[nodiscard]] constexpr bool has(Isolation mode) const { return (bits_ & bit(mode)) != 0; }
  friend constexpr bool operator==(IsolationSet, IsolationSet) = default;

 private:
  static constexpr unsigned bit(Isolation mode) { return 1U << static_cast<unsigned>(mode); }
  unsigned bits_ = 0;
};

}  // namespace tangram::model
