#pragma once

#include <cstdint>
#include <iterator>
#include <random>

namespace tangram::testing {

/// Random numbers of a seed, the same ones on every platform: the standard's distributions are not.
/// What takes part of 2^64 is a little more often low, by less than any test could see.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// 0 to n - 1. @param n  1 or more
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  /// Both included.
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  bool one_in(std::int64_t n) { return below(n) == 0; }

  template <class Container>
  const auto& one_of(const Container& all) {
    return *std::next(all.begin(), below(static_cast<std::int64_t>(all.size())));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tangram::testing
