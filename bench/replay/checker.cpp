#include "bench/replay/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tangram::bench {

namespace {

bool accepts(const TracePod& pod, const std::string& model) {
  return pod.models.empty() ||
         std::find(pod.models.begin(), pod.models.end(), model) != pod.models.end();
}

/// A pod that requests a whole device fits only an idle one.
bool device_fits(const TracePod& pod, std::int64_t free) { return free >= pod.gpu_milli; }

}  // namespace

PlacementChecker::PlacementChecker(const std::vector<TraceNode>& nodes) {
  for (const TraceNode& node : nodes) {
    rooms_.push_back({.node = &node,
                      .cpu = node.cpu_milli,
                      .memory = node.memory_mib,
                      .milli = std::vector<std::int64_t>(static_cast<std::size_t>(node.gpus),
                                                         policies::kDeviceMilli),
                      .broken = std::vector<bool>(static_cast<std::size_t>(node.gpus))});
    idle_ += node.gpus;
  }
}

std::int64_t PlacementChecker::idle_devices(const Room& room) {
  std::int64_t idle = 0;
  for (std::size_t gpu = 0; gpu < room.milli.size(); ++gpu) {
    if (room.usable(gpu) && room.milli[gpu] == policies::kDeviceMilli) ++idle;
  }
  return idle;
}

template <class Change>
void PlacementChecker::change(std::size_t node, const Change& change) {
  Room& room = rooms_[node];
  idle_ -= idle_devices(room);
  change(room);
  idle_ += idle_devices(room);
  ++room.version;
}

void PlacementChecker::set_health(std::size_t node, std::uint32_t gpu, bool healthy) {
  change(node, [&](Room& room) { room.broken[gpu] = !healthy; });
}

void PlacementChecker::set_health(std::size_t node, bool healthy) {
  change(node, [&](Room& room) { room.down = !healthy; });
}

bool PlacementChecker::host_fits(const Room& room, const TracePod& pod) {
  return !room.down && room.cpu >= pod.cpu_milli && room.memory >= pod.memory_mib;
}

bool PlacementChecker::fits(const Room& room, const TracePod& pod) {
  if (!host_fits(room, pod)) return false;
  if (pod.gpus == 0) return true;
  if (!accepts(pod, room.node->model)) return false;
  int devices = 0;
  for (std::size_t gpu = 0; gpu < room.milli.size() && devices < pod.gpus; ++gpu) {
    if (room.usable(gpu) && device_fits(pod, room.milli[gpu])) ++devices;
  }
  return devices >= pod.gpus;
}

std::int64_t PlacementChecker::room_for(std::size_t node, const TracePod& pod) const {
  const Room& room = rooms_[node];
  if (!fits(room, pod)) return 0;
  // Above any count; sums over a million nodes stay within 64 bits.
  std::int64_t count = 1'000'000'000;
  if (pod.cpu_milli > 0) count = std::min(count, room.cpu / pod.cpu_milli);
  if (pod.memory_mib > 0) count = std::min(count, room.memory / pod.memory_mib);
  if (pod.gpus == 0) return count;
  std::int64_t parts = 0;
  for (std::size_t gpu = 0; gpu < room.milli.size(); ++gpu) {
    if (room.usable(gpu)) parts += room.milli[gpu] / pod.gpu_milli;
  }
  return std::min(count, parts / pod.gpus);
}

std::vector<std::size_t> PlacementChecker::feasible(const TracePod& pod) const {
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    if (host_fits(rooms_[i], pod)) nodes.push_back(i);
  }
  return nodes;
}

std::optional<std::string> PlacementChecker::devices_wrong(const Room& room, const TracePod& pod,
                                                           const std::vector<std::uint32_t>& gpus) {
  if (gpus.size() != static_cast<std::size_t>(pod.gpus)) {
    return "got " + std::to_string(gpus.size()) + " devices, requested " + std::to_string(pod.gpus);
  }
  if (!gpus.empty() && !accepts(pod, room.node->model)) {
    return "does not accept model " + room.node->model;
  }
  std::set<std::uint32_t> seen;
  for (const std::uint32_t gpu : gpus) {
    if (gpu >= room.milli.size()) return "device " + std::to_string(gpu) + " does not exist";
    if (!seen.insert(gpu).second) return "got device " + std::to_string(gpu) + " twice";
    if (room.broken[gpu]) return "got device " + std::to_string(gpu) + ", which is broken";
    if (!device_fits(pod, room.milli[gpu])) {
      return fmt::format("requested {} milli of device {}, {} are free", pod.gpu_milli, gpu,
                         room.milli[gpu]);
    }
  }
  return std::nullopt;
}

std::optional<std::string> PlacementChecker::wrong(const TracePod& pod,
                                                   const Placed& placed) const {
  if (placed.node >= rooms_.size()) return "went to a node that does not exist";
  const Room& room = rooms_[placed.node];
  const std::string where = "on node " + room.node->name + ": ";
  if (room.down) return where + "the node is broken";
  if (room.cpu < pod.cpu_milli) {
    return fmt::format("{}requested {} milli-CPU, {} are free", where, pod.cpu_milli, room.cpu);
  }
  if (room.memory < pod.memory_mib) {
    return fmt::format("{}requested {} MiB, {} are free", where, pod.memory_mib, room.memory);
  }
  if (const auto devices = devices_wrong(room, pod, placed.gpus)) return where + *devices;
  return std::nullopt;
}

std::optional<std::string> PlacementChecker::record(const TracePod& pod,
                                                    const std::optional<Placed>& placed) {
  if (!placed) {
    const auto room = std::find_if(rooms_.begin(), rooms_.end(),
                                   [&](const Room& candidate) { return fits(candidate, pod); });
    if (room == rooms_.end()) return std::nullopt;
    return "was left out but fits node " + room->node->name;
  }
  if (auto complaint = wrong(pod, *placed)) return complaint;
  change(placed->node, [&](Room& room) {
    room.cpu -= pod.cpu_milli;
    room.memory -= pod.memory_mib;
    for (const std::uint32_t gpu : placed->gpus) room.milli[gpu] -= pod.gpu_milli;
  });
  allocated_ += pod.total_milli();
  return std::nullopt;
}

void PlacementChecker::remove(const TracePod& pod, const Placed& placed) {
  change(placed.node, [&](Room& room) {
    room.cpu += pod.cpu_milli;
    room.memory += pod.memory_mib;
    for (const std::uint32_t gpu : placed.gpus) room.milli[gpu] += pod.gpu_milli;
  });
  allocated_ -= pod.total_milli();
}

}  // namespace tangram::bench
