#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::model {

/// Finds things in a table by their hashes, thousands of times in one request: open addressing with
/// places of 8 bytes, so that all of it stays in the processor's cache, and a copy of it is one of
/// memory. It has no keys: those stand with the things, and the caller compares.
/// Threads: as a std::vector.
class HashIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};  ///< no index of a thing

  /// @param is_it  called with the index of a thing of this hash: is it the one?
  template <class IsIt>
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint32_t hash, IsIt&& is_it) const {
    const Place* const places = places_.data();
    const std::size_t last = places_.size() - 1;
    for (std::size_t at = hash & last; places[at].index != kNone; at = (at + 1) & last) {
      if (places[at].hash == hash && is_it(places[at].index)) return places[at].index;
    }
    return std::nullopt;
  }

  /// @returns the index of the first thing of this hash; kNone if there is none
  [[nodiscard]] std::uint32_t first(std::uint32_t hash) const {
    const std::size_t last = places_.size() - 1;
    std::size_t at = hash & last;
    while (places_[at].hash != hash && places_[at].index != kNone) at = (at + 1) & last;
    return places_[at].index;
  }

  /// Has the place fetched from memory where find() will look first.
  void fetch(std::uint32_t hash) const {
    __builtin_prefetch(places_.data() + (hash & (places_.size() - 1)));
  }

  /// @param index  not there yet
  void add(std::uint32_t hash, std::uint32_t index);
  /// @param index  there, with this hash
  void remove(std::uint32_t hash, std::uint32_t index);

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Place {
    std::uint32_t hash = 0;
    std::uint32_t index = kNone;
  };

  void put(Place place);

  std::vector<Place> places_{1};  ///< a power of two, at most half of them taken
  std::size_t size_ = 0;
};

/// Anybody can compute texts that share a hash: not for texts of those who may do harm by it.
[[nodiscard]] inline std::uint32_t hash_of(std::string_view text) {
  constexpr std::uint64_t kGoldenRatio = 0x9E37'79B9'7F4A'7C15;
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const std::size_t size = text.size();
  std::uint64_t hash = size * kGoldenRatio;
  const auto mix_in = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, bytes);
    // Multiplying carries each bit upwards, shifting takes the upper ones down again.
    hash = (hash ^ word) * kGoldenRatio;
    hash ^= hash >> 32U;
  };
  if (size < kWord) {
    mix_in(0, size);
  } else {
    for (std::size_t at = 0; at + kWord < size; at += kWord) mix_in(at, kWord);
    mix_in(size - kWord, kWord);  // overlaps the one before it
  }
  return static_cast<std::uint32_t>((hash * kGoldenRatio) >> 32U);
}

}  // namespace tangram::model
