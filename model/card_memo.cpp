#include "model/card_memo.hpp"

#include "model/cards.hpp"

#include <algorithm>

namespace tangram::model {

void CardMemo::enter(const NodeState& node) {
  constexpr std::size_t kMost = 64;  // clusters have few; each new one is looked for among them
  auto known = std::find(makes_.rbegin(), makes_.rend(), node.make);
  if (known == makes_.rend()) {
    if (makes_.size() == kMost || places_.empty()) {
      makes_.clear();
      forget_all(bits_);
    }
    makes_.push_back(node.make);
    known = makes_.rbegin();
  }
  const auto number = static_cast<std::uint64_t>(makes_.rend() - known);  // from 1 on
  first_run_ = number * kMaxCardsPerNode;
}

void CardMemo::grow() {
  constexpr unsigned kAtATime = 2;
  if (bits_ < kMostBits) forget_all(std::min(bits_ + kAtATime, kMostBits));
}

void CardMemo::forget_all(unsigned bits) {
  bits_ = bits;
  pushed_out_ = 0;
  places_.assign(std::size_t{1} << bits, Place());
}

}  // namespace tangram::model
