#include "model/node_looks.hpp"

namespace tangram::model {

Look NodeLooks::join(const NodePtr& node) {
  const auto hash = static_cast<std::uint32_t>(look_hash(*node));
  auto index = by_hash_.find(
      hash, [&](std::uint32_t group) { return look_alike(*groups_[group].example, *node); });
  if (!index) {
    if (free_.empty()) {
      index = static_cast<std::uint32_t>(groups_.size());
      groups_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    groups_[*index] = {.version = ++last_version_, .hash = hash, .example = node};
    by_hash_.add(hash, *index);
  }
  Group& group = groups_[*index];
  ++group.nodes;
  return {.version = group.version, .index = *index};
}

void NodeLooks::leave(Look look) {
  if (--groups_[look.index].nodes == 0) left_.push_back(look.index);
}

void NodeLooks::forget_unused() {
  for (const std::uint32_t index : left_) {
    Group& group = groups_[index];
    if (group.nodes > 0 || group.example == nullptr) continue;
    by_hash_.remove(group.hash, index);
    group = {};
    free_.push_back(index);
  }
  left_.clear();
}

}  // namespace tangram::model
