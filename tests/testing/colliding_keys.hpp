#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tangram::testing {

/// The steps of MurmurHash64A, which is std::hash of a text in libstdc++.
class Murmur {
 public:
  static constexpr std::uint64_t kFactor = 0xc6a4a7935bd1e995;
  static constexpr std::uint64_t kSeed = 0xc70f6907;

  static std::uint64_t mixed(std::uint64_t block) {
    block *= kFactor;
    block ^= block >> 47U;
    return block * kFactor;
  }

  /// The block of which `mixed` makes this one.
  static std::uint64_t unmixed(std::uint64_t block) {
    block *= inverse_of_factor();
    block ^= block >> 47U;
    return block * inverse_of_factor();
  }

 private:
  /// Modulo 2^64, by Newton's method.
  static constexpr std::uint64_t inverse_of_factor() {
    std::uint64_t inverse = 1;
    for (int i = 0; i < 6; ++i) inverse *= 2 - kFactor * inverse;
    return inverse;
  }
};

/// The block's 8 bytes, as the hash reads them.
inline std::string bytes_of(std::uint64_t block) {
  std::string bytes;
  for (unsigned i = 0; i < 8; ++i) bytes += static_cast<char>(block >> (8 * i) & 0xffU);
  return bytes;
}

/// Different texts of 16 letters whose std::hash is the same: their first block is any text. The
/// second one undoes what the first made of the state, if that is text as well.
inline std::vector<std::string> colliding_keys(std::size_t count) {
  const auto is_plain = [](char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; };
  std::vector<std::string> keys;
  for (std::uint64_t number = 0; keys.size() < count; ++number) {
    std::uint64_t first = 0;  // the number, written with the letters from 'a' to 'p'
    for (unsigned i = 0; i < 8; ++i) first |= ('a' + (number >> (4 * i) & 15U)) << (8 * i);
    // The state after the second block is 0.
    const std::uint64_t state = (Murmur::kSeed ^ (16 * Murmur::kFactor)) ^ Murmur::mixed(first);
    const std::string second = bytes_of(Murmur::unmixed(state * Murmur::kFactor));
    if (std::all_of(second.begin(), second.end(), is_plain))
      keys.push_back(bytes_of(first) + second);
  }
  return keys;
}

}  // namespace tangram::testing
