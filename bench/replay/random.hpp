#pragma once

#include <cmath>
#include <cstdint>
#include <random>

/// Random numbers written out, because the standard's distributions differ between libraries.
namespace tangram::bench {

/// 0 < x < 1, evenly.
[[nodiscard]] inline double uniform(std::mt19937_64& random) {
  constexpr double kSteps = 9007199254740992.0;  // 2^53: what a double holds
  return (static_cast<double>(random() >> 11U) + 0.5) / kSteps;
}

[[nodiscard]] inline double exponential(std::mt19937_64& random, double mean) {
  return -mean * std::log(uniform(random));
}

}  // namespace tangram::bench
