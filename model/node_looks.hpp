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
  std::uint64_t version = 0;  ///< never used again; 0 = of a node made up for a question
  std::uint32_t index = 0;    ///< below the number of nodes there ever were; used again
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
  /// Forgets looks without nodes. Once for many changes: one may take away what the next puts back.
  void forget_unused();

 private:
  struct Group {
    std::uint64_t version = 0;
    std::uint32_t hash = 0;
    NodePtr example;  ///< to compare with; null = the place is free
    std::size_t nodes = 0;
  };

  std::uint64_t last_version_ = 0;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> left_;  ///< perhaps without nodes; some stand twice
  std::vector<std::uint32_t> free_;  ///< places
  HashIndex by_hash_;
};

}  // namespace tangram::model
