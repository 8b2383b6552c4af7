#pragma once

#include "model/hash_index.hpp"
#include "model/node_state.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tangram::model {

using NodePtr = std::shared_ptr<const NodeState>;

/// Which nodes are alike: nodes of one look are, see look_alike(), so what was found out about one
/// of them holds for all. A cluster has many such nodes: idle ones, full ones, and those with the
/// same pods.
struct Look {
  /// Never used again; 0 = none: of a node that is made up for a question, or not present.
  std::uint64_t version = 0;
  /// Low, and used again: below twice the number of nodes that there ever were at a time.
  std::uint32_t index = 0;
  friend bool operator==(const Look&, const Look&) = default;
};

/// Gives out looks.
/// Threads: not safe.
class NodeLooks {
 public:
  /// The look of the node, which has it until leave().
  [[nodiscard]] Look join(const NodePtr& node);
  /// A node that had the look has it no more.
  void leave(Look look);
  /// Readers see the looks now. Forgets those without nodes: of many changes before, one may have
  /// taken away what the next put back.
  void publish();
  /// The index of every look lies below.
  [[nodiscard]] std::size_t places() const { return groups_.size(); }

 private:
  struct Group {
    std::uint64_t version = 0;
    std::uint32_t hash = 0;
    NodePtr example;  ///< to compare with; null = the place is free
    std::size_t nodes = 0;
  };

  void forget(std::uint32_t index);

  std::uint64_t last_version_ = 0;
  std::uint64_t published_version_ = 0;  ///< later ones are in no snapshot yet
  std::vector<Group> groups_;
  std::vector<std::uint32_t> left_;  ///< perhaps without nodes; some stand twice
  std::vector<std::uint32_t> free_;  ///< places; a heap, the lowest in front
  HashIndex by_hash_;
};

}  // namespace tangram::model
