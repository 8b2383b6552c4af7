#include "model/hash_index.hpp"

#include <algorithm>

namespace tangram::model {

void HashIndex::add(std::uint32_t hash, std::uint32_t index) {
  constexpr std::size_t kFewest = 16;
  if (2 * (size_ + 1) > places_.size()) {
    const auto full =
        std::exchange(places_, std::vector<Place>(std::max(kFewest, 2 * places_.size())));
    for (const Place& place : full) {
      if (place.index != kNone) put(place);
    }
  }
  put({hash, index});
  ++size_;
}

void HashIndex::put(Place place) {
  std::size_t at = place.hash & (places_.size() - 1);
  while (places_[at].index != kNone) at = (at + 1) & (places_.size() - 1);
  places_[at] = place;
}

/// Those behind it move up, so that no search ends too early (Knuth, vol. 3, 6.4, algorithm R).
void HashIndex::remove(std::uint32_t hash, std::uint32_t index) {
  const std::size_t last = places_.size() - 1;
  std::size_t gap = hash & last;
  while (places_[gap].index != index) gap = (gap + 1) & last;
  for (std::size_t at = (gap + 1) & last; places_[at].index != kNone; at = (at + 1) & last) {
    const std::size_t from_home = (at - places_[at].hash) & last;
    const std::size_t from_gap = (at - gap) & last;
    if (from_home >= from_gap) places_[std::exchange(gap, at)] = places_[at];
  }
  places_[gap] = {};
  --size_;
}

}  // namespace tangram::model
