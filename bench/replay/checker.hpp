#pragma once

#include "bench/replay/scheduler.hpp"
#include "bench/replay/trace.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tangram::bench {

/// Checks each placement against the rules of the replay. Keeps its own count of free resources,
/// from the trace alone, and shares no code with the ledger and the policies.
///
/// Rules: a node's CPU and memory; devices of a model the pod accepts; a sharing pod on one
/// device with enough milli left; any other GPU pod on that many different, wholly idle devices
/// of one node; and a pod that is not placed must fit nowhere.
class PlacementChecker {
 public:
  explicit PlacementChecker(const std::vector<TraceNode>& nodes);

  /// Nodes with enough CPU and memory: those for which kube-scheduler calls the extender.
  [[nodiscard]] std::vector<std::size_t> feasible(const TracePod& pod) const;

  /// Whether the node has enough CPU and memory.
  [[nodiscard]] bool host_fits(std::size_t node, const TracePod& pod) const {
    return host_fits(rooms_[node], pod);
  }

  /// Records the placement if it obeys the rules.
  /// @returns the broken rule; then nothing is recorded
  std::optional<std::string> record(const TracePod& pod, const std::optional<Placed>& placed);

  /// Removes a recorded placement.
  void remove(const TracePod& pod, const Placed& placed);

  /// GPU milli of all pods that are placed.
  [[nodiscard]] std::int64_t allocated_milli() const { return allocated_; }

 private:
  struct Room {
    const TraceNode* node = nullptr;
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::vector<std::int64_t> milli;  ///< free, by device
  };

  [[nodiscard]] static bool host_fits(const Room& room, const TracePod& pod);
  [[nodiscard]] static bool fits(const Room& room, const TracePod& pod);
  [[nodiscard]] static std::optional<std::string> devices_wrong(
      const Room& room, const TracePod& pod, const std::vector<std::uint32_t>& gpus);
  [[nodiscard]] std::optional<std::string> wrong(const TracePod& pod, const Placed& placed) const;

  std::vector<Room> rooms_;
  std::int64_t allocated_ = 0;
};

}  // namespace tangram::bench
