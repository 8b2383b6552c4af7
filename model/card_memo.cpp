#include "model/card_memo.hpp"

#include "model/cards.hpp"

#include <algorithm>

namespace tangram::model {

void CardMemo::enter(const NodeState& node) {
  constexpr std::size_t kMost = 64;  // clusters have few; each new one is looked for among them
  auto known = std::find(makes_.rbegin(), makes_.rend(), node.make);
  if (known == makes_.rend()) {
    if (makes_.size() == kMost) {
      makes_.clear();
      answers_.forget_all();
    }
    makes_.push_back(node.make);
    known = makes_.rbegin();
  }
  const auto number = static_cast<std::uint64_t>(makes_.rend() - known);  // from 1 on
  first_run_ = number * kMaxCardsPerNode;
}

}  // namespace tangram::model
