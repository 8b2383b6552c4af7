#pragma once

#include "model/node_state.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace tangram::model {

/// What one question about parts of cards was answered, kept for the nodes that are looked at next:
/// where no two nodes are alike, most of their cards still are.
///
/// The answers depend on the traits and the use of a card alone. Memory: 3 KiB from the first
/// answer on, 96 KiB where cards are of many kinds; what has no place there any more is asked
/// again. Threads: one at a time.
class CardMemo {
 public:
  /// The answers that follow are about cards of this node.
  void enter(const NodeState& node);

  /// @param run  the first card of those that are as_before, up to the one that is asked about;
  ///             below kMaxCardsPerNode
  /// @param ask  finds the answer; is called unless it is known
  template <class Ask>
  [[nodiscard]] std::int64_t answer(std::uint32_t run, const CardUse& use, Ask&& ask) {
    const Words words = std::bit_cast<Words>(use);
    const std::uint64_t traits = first_run_ + run;
    Place& place = places_[place_of(traits, words)];
    if (place.traits == traits && place.use == words) return place.answer;
    const std::int64_t answer = ask();
    if (place.traits != 0) ++pushed_out_;
    place = {.traits = traits, .use = words, .answer = answer};
    if (pushed_out_ > places_.size() / 8) grow();
    return answer;
  }

 private:
  static_assert(sizeof(CardUse) == 32, "compared and hashed as four words without gaps");
  using Words = std::array<std::uint64_t, sizeof(CardUse) / sizeof(std::uint64_t)>;
  struct Place {
    std::uint64_t traits = 0;  ///< 0 = free
    Words use{};
    std::int64_t answer = 0;
  };
  static constexpr unsigned kFewBits = 6;
  static constexpr unsigned kMostBits = 11;

  void forget_all(unsigned bits);
  void grow();

  /// Multiplied by odd numbers without a pattern, so that close amounts lie apart.
  [[nodiscard]] std::size_t place_of(std::uint64_t traits, const Words& words) const {
    std::uint64_t mixed = traits * 0xff51'afd7'ed55'8ccd + words[0] * 0x9e37'79b9'7f4a'7c15 +
                          words[1] * 0xbf58'476d'1ce4'e5b9;
    mixed ^= words[2] * 0x94d0'49bb'1331'11eb + words[3] * 0xd6e8'feb8'6659'fd93;
    return static_cast<std::size_t>((mixed * 0x9e37'79b9'7f4a'7c15) >> (64U - bits_));
  }

  std::vector<Place> places_;
  unsigned bits_ = kFewBits;    ///< that choose one of them
  std::size_t pushed_out_ = 0;  ///< answers, since there are so many places
  /// Of the nodes so far: while they are held here, no other make has their address.
  std::vector<std::shared_ptr<const CardMake>> makes_;
  std::uint64_t first_run_ = 0;  ///< of the node's make
};

}  // namespace tangram::model
