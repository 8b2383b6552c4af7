#pragma once

#include "base/result.hpp"
#include "bench/replay/trace.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::bench {

/// Where a pod went.
struct Placed {
  std::size_t node = 0;             ///< into Trace::nodes
  std::vector<std::uint32_t> gpus;  ///< the node's devices, 0-based; empty for a pod without GPU
  friend bool operator==(const Placed&, const Placed&) = default;
};

/// A pod's number is its identity at a scheduler, in the order in which they come. A pod that is
/// evicted and comes again is another pod, with another number.
using PodNumber = std::size_t;

/// The name of an allocation's pod in snapshot(), and its number.
[[nodiscard]] std::string pod_name(PodNumber number);
[[nodiscard]] PodNumber number_of(std::string_view pod_name);

/// The scheduler under test: decides where a pod goes, and assumes it there.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// @param number    the same number again means that a waiting pod is tried again
  /// @param feasible  the nodes that have CPU and memory for it, into Trace::nodes, in the
  ///                  order that breaks ties
  /// @returns nothing if it fits no node: it waits until it is tried again, or removed; an error
  ///          ends the replay
  virtual Result<std::optional<Placed>> place(PodNumber number, const TracePod& pod,
                                              const std::vector<std::size_t>& feasible) = 0;

  /// The pod ends, or is evicted, or waits no more.
  virtual Result<void> remove(PodNumber number) = 0;

  /// A pod, placed or waiting, that goes exactly there.
  struct Move {
    PodNumber number = 0;
    TracePod pod;
    Placed to;
  };
  /// All leave their places, and then take the new ones: some may be another's.
  /// @returns kInvalidArgument if this scheduler cannot move pods
  virtual Result<void> move(const std::vector<Move>& moves) = 0;

  /// Devices of a node break, or are repaired. Pods on broken ones were removed before.
  virtual Result<void> set_health(std::size_t node, const std::vector<std::uint32_t>& gpus,
                                  bool healthy) = 0;

  /// What is known of the cluster now. Its pods are named by pod_name().
  [[nodiscard]] virtual std::shared_ptr<const model::ClusterSnapshot> snapshot() = 0;

  /// Lines for the end of the report; usually none.
  [[nodiscard]] virtual std::string remarks() const { return {}; }
};

}  // namespace tangram::bench
