#pragma once

#include "bench/replay/failures.hpp"
#include "bench/replay/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tangram::bench {

/// What is broken. A device can break while its node is broken, and the other way round: it works
/// again once all is repaired.
class Health {
 public:
  explicit Health(const std::vector<TraceNode>& nodes) {
    for (const TraceNode& node : nodes) {
      nodes_.push_back(
          {.broken = 0, .gpus = std::vector<int>(static_cast<std::size_t>(node.gpus))});
    }
  }

  void breaks(const Failure& failure) { ++counter(failure); }
  void is_repaired(const Failure& failure) { --counter(failure); }

  [[nodiscard]] bool node_works(std::size_t node) const { return nodes_[node].broken == 0; }
  /// By device, also of the node that it is in.
  [[nodiscard]] std::vector<bool> working_gpus(std::size_t node) const {
    std::vector<bool> working;
    for (const int broken : nodes_[node].gpus) working.push_back(node_works(node) && broken == 0);
    return working;
  }

 private:
  struct Node {
    int broken = 0;
    std::vector<int> gpus;
  };
  int& counter(const Failure& failure) {
    Node& node = nodes_[failure.node];
    return failure.gpu ? node.gpus[*failure.gpu] : node.broken;
  }

  std::vector<Node> nodes_;
};

}  // namespace tangram::bench
