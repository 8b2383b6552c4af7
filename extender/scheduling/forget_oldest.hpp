#pragma once

#include <algorithm>
#include <cstddef>

namespace tangram::extender {

/// Keeps a map, to which one entry has been added, within its limit.
/// @param time  of an entry
template <class Map, class Time>
void forget_oldest(Map& map, std::size_t most, const Time& time) {
  if (map.size() <= most) return;
  map.erase(std::min_element(map.begin(), map.end(),
                             [&](const auto& a, const auto& b) { return time(a) < time(b); }));
}

}  // namespace tangram::extender
