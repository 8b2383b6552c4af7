#include "node/slot_count.hpp"

#include <algorithm>

namespace tangram::node {

int slot_count(const Inventory& inventory, int sharers_per_card,
               const Result<std::vector<SlotOwner>>& owners) {
  int count = 0;
  for (const InstalledCard& card : inventory.cards) {
    count += std::min(sharers_per_card, card.card.max_sharers);
  }
  if (!owners) return count;
  for (const SlotOwner& owner : *owners) {
    for (const std::string& slot : owner.slots) {
      if (const auto number = slot_number(slot)) count = std::max(count, *number + 1);
    }
  }
  return count;
}

}  // namespace tangram::node
