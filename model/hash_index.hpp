#pragma once

#include <algorithm>
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

/// Sixteen bytes at a time by the product of their halves, as wyhash does.
///
/// Anybody can compute texts that share a hash: not for texts of those who may do harm by it.
[[nodiscard, gnu::always_inline]] inline std::uint32_t hash_of(std::string_view text) {
  __extension__ using Wide = unsigned __int128;
  constexpr std::uint64_t kOfFirst = 0x9E37'79B9'7F4A'7C15;
  constexpr std::uint64_t kOfSecond = 0xD6E8'FEB8'6659'FD93;
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto word_at = [](const char* at, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, bytes);
    return word;
  };
  const auto mixed = [](std::uint64_t hash, std::uint64_t first, std::uint64_t second) {
    const Wide product = Wide{first ^ hash ^ kOfFirst} * (second ^ kOfSecond);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
  };
  const char* at = text.data();
  std::uint64_t hash = text.size() * kOfFirst;  // no byte of a text undoes the difference
  if (text.size() < kWord) {
    hash = mixed(hash, word_at(at, text.size()), 0);
  } else {
    const char* const last_word = at + text.size() - kWord;  // overlaps others
    for (; at + kWord < last_word; at += 2 * kWord) {
      hash = mixed(hash, word_at(at, kWord), word_at(at + kWord, kWord));
    }
    hash = mixed(hash, word_at(std::min(at, last_word), kWord), word_at(last_word, kWord));
  }
  return static_cast<std::uint32_t>(hash ^ (hash >> 32U));
}

}  // namespace tangram::model
