#pragma once

#include "model/answer_memo.hpp"
#include "model/node_state.hpp"

#include <array>
#include <bit>
#include <cstdint>
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
    return answers_.answer({.traits = first_run_ + run, .use = std::bit_cast<Words>(use)}, ask);
  }

 private:
  static_assert(sizeof(CardUse) == 32, "compared and hashed as four words without gaps");
  using Words = std::array<std::uint64_t, sizeof(CardUse) / sizeof(std::uint64_t)>;
  struct Key {
    std::uint64_t traits = 0;  ///< 0 = none
    Words use{};
    friend bool operator==(const Key&, const Key&) = default;
  };
  /// Multiplies by odd numbers without a pattern, so that close amounts lie apart.
  struct Hash {
    [[nodiscard]] std::uint64_t operator()(const Key& key) const {
      std::uint64_t mixed = key.traits * 0xff51'afd7'ed55'8ccd +
                            key.use[0] * 0x9e37'79b9'7f4a'7c15 + key.use[1] * 0xbf58'476d'1ce4'e5b9;
      mixed ^= key.use[2] * 0x94d0'49bb'1331'11eb + key.use[3] * 0xd6e8'feb8'6659'fd93;
      return mixed * 0x9e37'79b9'7f4a'7c15;
    }
  };

  AnswerMemo<Key, std::int64_t, Hash> answers_{6, 11};
  /// Of the nodes so far: while they are held here, no other make has their address.
  std::vector<std::shared_ptr<const CardMake>> makes_;
  std::uint64_t first_run_ = 0;  ///< of the node's make
};

}  // namespace tangram::model
