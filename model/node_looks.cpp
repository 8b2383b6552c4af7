#include "model/node_looks.hpp"

#include <algorithm>
#include <functional>

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
      std::pop_heap(free_.begin(), free_.end(), std::greater());
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
  if (--groups_[look.index].nodes > 0) return;
  // A later list may change a node once for each of its pods before anybody looks.
  if (look.version > published_version_) return forget(look.index);
  left_.push_back(look.index);
}

void NodeLooks::publish() {
  published_version_ = last_version_;
  for (const std::uint32_t index : left_) {
    const Group& group = groups_[index];
    if (group.nodes == 0 && group.example != nullptr) forget(index);
  }
  left_.clear();
}

void NodeLooks::forget(std::uint32_t index) {
  by_hash_.remove(groups_[index].hash, index);
  groups_[index] = {};
  free_.push_back(index);
  std::push_heap(free_.begin(), free_.end(), std::greater());
}

}  // namespace tangram::model
