#include "bench/replay/waits.hpp"

#include <algorithm>
#include <numeric>

namespace tangram::bench {

namespace {

constexpr double kMsPerSecond = 1000;

double seconds(std::int64_t ms) { return static_cast<double>(ms) / kMsPerSecond; }

}  // namespace

PodClass class_of(const TracePod& pod) {
  if (pod.priority > 0) return PodClass::kUrgent;
  if (pod.gpus == 0) return PodClass::kCpuOnly;
  if (pod.gpus > 1) return PodClass::kMultiCard;
  return pod.gpu_milli < policies::kDeviceMilli ? PodClass::kSharing : PodClass::kWholeCard;
}

std::int64_t percentile(const std::vector<std::int64_t>& sorted, int percent) {
  if (sorted.empty()) return 0;
  const std::size_t rank =
      (sorted.size() * static_cast<std::size_t>(percent) + 99) / 100;  // rounded up
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

WaitStatistics statistics_of(std::vector<std::int64_t> waits) {
  WaitStatistics statistics{.pods = waits.size()};
  if (waits.empty()) return statistics;
  std::sort(waits.begin(), waits.end());
  const auto sum = std::accumulate(waits.begin(), waits.end(), std::int64_t{0});
  statistics.mean = seconds(sum) / static_cast<double>(waits.size());
  statistics.p50 = seconds(percentile(waits, 50));
  statistics.p99 = seconds(percentile(waits, 99));
  return statistics;
}

}  // namespace tangram::bench
