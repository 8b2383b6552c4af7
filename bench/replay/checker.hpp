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
/// of one node; none that is broken; and a pod that is not placed must fit nowhere.
class PlacementChecker {
 public:
  explicit PlacementChecker(const std::vector<TraceNode>& nodes);

  /// Nodes with enough CPU and memory: those for which kube-scheduler calls the extender.
  [[nodiscard]] std::vector<std::size_t> feasible(const TracePod& pod) const;

  /// Whether the pod fits the node, by the rules.
  [[nodiscard]] bool fits(std::size_t node, const TracePod& pod) const {
    return fits(rooms_[node], pod);
  }
  /// How many pods like this one the node has room for.
  [[nodiscard]] std::int64_t room_for(std::size_t node, const TracePod& pod) const;
  [[nodiscard]] std::size_t node_count() const { return rooms_.size(); }

  /// Records the placement if it obeys the rules.
  /// @returns the broken rule; then nothing is recorded
  std::optional<std::string> record(const TracePod& pod, const std::optional<Placed>& placed);

  /// Removes a recorded placement.
  void remove(const TracePod& pod, const Placed& placed);

  /// A device breaks or is repaired. Its pods were removed before.
  void set_health(std::size_t node, std::uint32_t gpu, bool healthy);
  /// A node breaks, with all that it has, or is repaired. Its pods were removed before.
  void set_health(std::size_t node, bool healthy);

  /// GPU milli of all pods that are placed.
  [[nodiscard]] std::int64_t allocated_milli() const { return allocated_; }
  /// Devices without pods that are not broken, nor their nodes.
  [[nodiscard]] std::int64_t idle_devices() const { return idle_; }
  /// Grows with every change of the node.
  [[nodiscard]] std::uint64_t version(std::size_t node) const { return rooms_[node].version; }

 private:
  struct Room {
    const TraceNode* node = nullptr;
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::vector<std::int64_t> milli;  ///< free, by device
    std::vector<bool> broken;         ///< by device
    bool down = false;
    std::uint64_t version = 1;

    [[nodiscard]] bool usable(std::size_t gpu) const { return !down && !broken[gpu]; }
  };

  [[nodiscard]] static std::int64_t idle_devices(const Room& room);
  /// Applies a change to the node, and counts.
  template <class Change>
  void change(std::size_t node, const Change& change);
  [[nodiscard]] static bool host_fits(const Room& room, const TracePod& pod);
  [[nodiscard]] static bool fits(const Room& room, const TracePod& pod);
  [[nodiscard]] static std::optional<std::string> devices_wrong(
      const Room& room, const TracePod& pod, const std::vector<std::uint32_t>& gpus);
  [[nodiscard]] std::optional<std::string> wrong(const TracePod& pod, const Placed& placed) const;

  std::vector<Room> rooms_;
  std::int64_t allocated_ = 0;
  std::int64_t idle_ = 0;
};

}  // namespace tangram::bench
