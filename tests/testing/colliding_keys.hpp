#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tangram::testing {

/// Different texts of 16 letters whose std::hash is the same in libstdc++: MurmurHash64A with a
/// fixed seed. Its first block is any text. The second one undoes what the first made of the state,
/// if that is text as well.
inline std::vector<std::string> colliding_keys(std::size_t count) {
  constexpr std::uint64_t kFactor = 0xc6a4a7935bd1e995;
  constexpr std::uint64_t kSeed = 0xc70f6907;
  const auto mixed = [](std::uint64_t block) {
    block *= kFactor;
    block ^= block >> 47U;
    return block * kFactor;
  };
  std::uint64_t inverse = 1;  // of the factor, modulo 2^64, by Newton's method
  for (int i = 0; i < 6; ++i) inverse *= 2 - kFactor * inverse;
  const auto unmixed = [&](std::uint64_t block) {
    block *= inverse;
    block ^= block >> 47U;
    return block * inverse;
  };
  const auto byte_of = [](std::uint64_t block, unsigned i) {
    return static_cast<char>(block >> (8 * i) & 0xffU);
  };
  const auto is_text = [&](std::uint64_t block) {
    for (unsigned i = 0; i < 8; ++i) {
      const char c = byte_of(block, i);
      if (c < ' ' || c == '"' || c == '\\' || c == 127) return false;
    }
    return true;
  };
  std::vector<std::string> keys;
  for (std::uint64_t number = 0; keys.size() < count; ++number) {
    std::uint64_t first = 0;  // the number, written with the letters from 'a' to 'p'
    for (unsigned i = 0; i < 8; ++i) first |= ('a' + (number >> (4 * i) & 15U)) << (8 * i);
    // The state after the second block is 0.
    const std::uint64_t second = unmixed(((kSeed ^ (16 * kFactor)) ^ mixed(first)) * kFactor);
    if (!is_text(second)) continue;
    std::string& key = keys.emplace_back();
    for (const std::uint64_t block : {first, second}) {
      for (unsigned i = 0; i < 8; ++i) key += byte_of(block, i);
    }
  }
  return keys;
}

}  // namespace tangram::testing
