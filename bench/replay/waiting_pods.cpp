#include "bench/replay/waiting_pods.hpp"

#include <algorithm>

namespace tangram::bench {

WaitingPods::Shape WaitingPods::shape_of(Unit unit, const TracePod& request) {
  return {.priority = request.priority,
          .pods = unit.pods,
          .cpu_milli = request.cpu_milli,
          .memory_mib = request.memory_mib,
          .gpus = request.gpus,
          .gpu_milli = request.gpu_milli,
          .models = request.models};
}

void WaitingPods::add(Unit unit, const TracePod& request) {
  const auto line = lines_.try_emplace(shape_of(unit, request)).first;
  line->second.request = &request;
  const Turn turn{.less_urgent = -request.priority, .number = next_++};
  line->second.units.emplace(turn, unit);
  places_.emplace(unit.first, Place{line, turn});
}

void WaitingPods::remove(Unit unit) {
  const auto place = places_.find(unit.first);
  const auto [line, turn] = place->second;
  places_.erase(place);
  line->second.units.erase(turn);
  if (line->second.units.empty()) lines_.erase(line);
}

/// Equal pods take as much of a node's room as they would in any order, so the sum over the nodes
/// says exactly how many fit together.
std::int64_t WaitingPods::total_room(const TracePod& request, RoomByNode& room) const {
  const std::size_t nodes = checker_.node_count();
  room.version.resize(nodes);
  room.room.resize(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    if (room.version[node] == checker_.version(node)) continue;
    room.version[node] = checker_.version(node);
    room.total -= room.room[node];
    room.room[node] = checker_.room_for(node, request);
    room.total += room.room[node];
  }
  return room.total;
}

std::optional<WaitingPods::Unit> WaitingPods::first_that_fits(std::size_t node) {
  const std::pair<const Turn, Unit>* first = nullptr;
  for (auto& [shape, line] : lines_) {
    const auto& candidate = *line.units.begin();
    if (first != nullptr && first->first < candidate.first) continue;
    // The node's new room is needed: else the group would have fitted before.
    const bool fits = checker_.fits(node, *line.request) &&
                      (shape.pods == 1 || total_room(*line.request, line.room) >=
                                              static_cast<std::int64_t>(shape.pods));
    if (fits) first = &candidate;
  }
  return first == nullptr ? std::nullopt : std::optional(first->second);
}

bool WaitingPods::fits(Unit unit, const TracePod& request) {
  RoomByNode room;
  return total_room(request, room) >= static_cast<std::int64_t>(unit.pods);
}

std::vector<WaitingPods::Unit> WaitingPods::in_order(std::size_t most_alike) const {
  std::map<Turn, Unit> all;
  for (const auto& [shape, line] : lines_) {
    auto end = line.units.begin();
    std::advance(end, std::min(most_alike, line.units.size()));
    all.insert(line.units.begin(), end);
  }
  std::vector<Unit> units;
  units.reserve(all.size());
  for (const auto& [turn, unit] : all) units.push_back(unit);
  return units;
}

bool WaitingPods::has_alike(Unit unit, const TracePod& request) const {
  return lines_.contains(shape_of(unit, request));
}

}  // namespace tangram::bench
