#pragma once

#include "base/result.hpp"
#include "bench/replay/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tangram::bench {

/// Where a pod went.
struct Placed {
  std::size_t node = 0;             ///< into Trace::nodes
  std::vector<std::uint32_t> gpus;  ///< the node's devices, 0-based; empty for a pod without GPU
  friend bool operator==(const Placed&, const Placed&) = default;
};

/// The scheduler under test: decides where a pod goes, and assumes it there.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// @param arrival   the pod's number among the arrivals: its identity. The same number again
  ///                  means that a waiting pod is tried again
  /// @param feasible  the nodes that have CPU and memory for it, into Trace::nodes, in the
  ///                  order that breaks ties
  /// @returns nothing if it fits no node; an error ends the replay
  virtual Result<std::optional<Placed>> place(std::size_t arrival, const TracePod& pod,
                                              const std::vector<std::size_t>& feasible) = 0;

  /// The pod that was placed as this arrival ends.
  virtual Result<void> remove(std::size_t arrival) = 0;

  /// Lines for the end of the report; usually none.
  [[nodiscard]] virtual std::string remarks() const { return {}; }
};

}  // namespace tangram::bench
