#pragma once

#include "bench/replay/placer.hpp"
#include "bench/replay/trace.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tangram::bench {

/// Keeps its own count of what is free, from the trace alone, and says whether each placement
/// obeys the rules of the replay. Shares no code with the ledger or the policies it judges.
///
/// Rules: a node's CPU and memory; devices of a model the pod accepts; a sharing pod on one
/// device with enough milli left; any other GPU pod on that many different, wholly idle devices
/// of one node; and a pod that is left out must fit nowhere.
class Judge {
 public:
  explicit Judge(const std::vector<TraceNode>& nodes);

  /// Nodes with enough CPU and memory: what kube-scheduler would have left over.
  [[nodiscard]] std::vector<std::size_t> feasible(const TracePod& pod) const;

  /// Has this node enough CPU and memory?
  [[nodiscard]] bool host_fits(std::size_t node, const TracePod& pod) const {
    return host_fits(rooms_[node], pod);
  }

  /// Books what was decided for the pod, if the rules allow it.
  /// @returns what is wrong with it, and counts nothing then
  std::optional<std::string> judge(const TracePod& pod, const std::optional<Placed>& placed);

  /// Gives back what judge() booked.
  void leave(const TracePod& pod, const Placed& placed);

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
