#pragma once

#include "bench/replay/trace.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tangram::bench {

/// The classes of pods in reports. An urgent pod is kUrgent, whatever it requests.
enum class PodClass { kSharing, kWholeCard, kMultiCard, kCpuOnly, kUrgent };
inline constexpr std::size_t kPodClasses = 5;
inline constexpr std::array<std::string_view, kPodClasses> kPodClassNames{
    "sharing", "whole card", "multi-card", "CPU only", "urgent"};

[[nodiscard]] PodClass class_of(const TracePod& pod);

template <class T>
using ByClass = std::array<T, kPodClasses>;

/// Of some pods' waits, in seconds.
struct WaitStatistics {
  std::size_t pods = 0;
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
};

/// @param waits  in milliseconds, in any order
[[nodiscard]] WaitStatistics statistics_of(std::vector<std::int64_t> waits);

/// The smallest value that at least so many percent of the values do not exceed (nearest rank);
/// 0 of none.
[[nodiscard]] std::int64_t percentile(const std::vector<std::int64_t>& sorted, int percent);

}  // namespace tangram::bench
