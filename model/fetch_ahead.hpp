#pragma once

#include "model/node_state.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tangram::model {

/// For a walk that looks into many nodes: it would wait for the memory of each one. Has what the
/// look reads fetched some nodes before its turn: the node itself, and then what it points to.
/// @tparam NodeOf  the address of the node whose turn is the i-th: `const NodeState*(std::size_t)`
template <class NodeOf>
class FetchAhead {
 public:
  FetchAhead(std::size_t nodes, NodeOf node_of) : nodes_(nodes), node_of_(std::move(node_of)) {
    for (std::size_t i = 0; i < kNodes; ++i) fetch_node(i);
  }
  /// The turn of the i-th node comes.
  void at(std::size_t i) const {
    fetch_node(i + kNodes);
    fetch_parts(i + kParts);
  }

 private:
  static constexpr std::size_t kNodes = 16;
  static constexpr std::size_t kParts = 8;
  static constexpr std::size_t kLine = 64;         // of the processor's caches
  static constexpr std::size_t kMost = 8 * kLine;  // more would push out what was fetched before

  static void fetch(const void* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += kLine) {
      __builtin_prefetch(static_cast<const char*>(from) + at);
    }
  }
  void fetch_node(std::size_t i) const {
    if (i < nodes_) fetch(node_of_(i), sizeof(NodeState));
  }
  void fetch_parts(std::size_t i) const {
    if (i >= nodes_) return;
    const NodeState& node = *node_of_(i);
    fetch(node.use.data(), std::min(node.use.size() * sizeof(CardUse), kMost));
    fetch(node.inventory.get(), sizeof(NodeInventory));
  }

  std::size_t nodes_;
  NodeOf node_of_;
};

}  // namespace tangram::model
