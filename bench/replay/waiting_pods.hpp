#pragma once

#include "bench/replay/checker.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tangram::bench {

/// Pods without a place, each alone or in a group that gets its places together or not at all. The
/// urgent ones come first, then those that have waited longest.
///
/// Of pods with equal requests only the first is looked at: where it does not fit, the others do
/// not. Answers come from the checker's own count, so no pod is tried where it has no room.
class WaitingPods {
 public:
  struct Unit {
    std::size_t first = 0;  ///< pod; those of a group follow it
    std::size_t pods = 1;
    friend auto operator<=>(const Unit&, const Unit&) = default;
  };

  explicit WaitingPods(const PlacementChecker& checker) : checker_(checker) {}

  /// @param request  of each of its pods; outlives the queue
  void add(Unit unit, const TracePod& request);
  void remove(Unit unit);

  /// The first unit that fits now, of those that did not before the node got more room: a single
  /// pod on this node, a group anywhere.
  [[nodiscard]] std::optional<Unit> first_that_fits(std::size_t node);
  /// Does the unit fit anywhere?
  [[nodiscard]] bool fits(Unit unit, const TracePod& request);

  /// All in order, but of equal requests at most so many.
  [[nodiscard]] std::vector<Unit> in_order(std::size_t most_alike) const;
  /// Whether any unit waits that requests the same.
  [[nodiscard]] bool has_alike(Unit unit, const TracePod& request) const;
  [[nodiscard]] bool empty() const { return places_.empty(); }

 private:
  /// Equal shapes fit the same places.
  struct Shape {
    int priority = 0;
    std::size_t pods = 1;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    int gpus = 0;
    std::int64_t gpu_milli = 0;
    std::vector<std::string> models;
    friend auto operator<=>(const Shape&, const Shape&) = default;
  };
  [[nodiscard]] static Shape shape_of(Unit unit, const TracePod& request);

  /// Urgent first, then in the order of add().
  struct Turn {
    int less_urgent = 0;  ///< negative priority
    std::uint64_t number = 0;
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };
  /// For groups: how many pods of the shape each node has room for.
  struct RoomByNode {
    std::vector<std::uint64_t> version;
    std::vector<std::int64_t> room;
    std::int64_t total = 0;
  };
  struct Line {
    const TracePod* request = nullptr;
    std::map<Turn, Unit> units;  ///< > 0
    RoomByNode room;
  };
  [[nodiscard]] std::int64_t total_room(const TracePod& request, RoomByNode& room) const;

  const PlacementChecker& checker_;
  std::map<Shape, Line> lines_;
  std::uint64_t next_ = 0;
  struct Place {
    std::map<Shape, Line>::iterator line;
    Turn turn;
  };
  std::map<std::size_t, Place> places_;  ///< by the unit's first pod
};

}  // namespace tangram::bench
