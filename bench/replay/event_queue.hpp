#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

namespace tangram::bench {

/// In the order in which events of the same moment happen.
enum class EventKind { kEnd, kRepair, kFailure, kArrival, kPlanning };

/// Something that will happen in a simulation.
struct Event {
  std::int64_t at = 0;  ///< milliseconds from the start
  EventKind kind{};
  std::size_t what = 0;  ///< a pod or a failure
  std::size_t run = 0;   ///< of a pod that ends
  bool operator>(const Event& other) const {
    return std::tie(at, kind, what, run) > std::tie(other.at, other.kind, other.what, other.run);
  }
};

/// The first one on top. The order does not depend on that of the calls.
using EventQueue = std::priority_queue<Event, std::vector<Event>, std::greater<>>;

}  // namespace tangram::bench
