#include "bench/replay/arrivals.hpp"

#include "bench/replay/random.hpp"

#include <algorithm>
#include <cmath>

namespace tangram::bench {

namespace {

constexpr double kMinuteMs = 60'000;
constexpr double kHourMs = 60 * kMinuteMs;
constexpr std::size_t kRounds = 4;
// Streams of their own, each of the one seed.
constexpr std::uint64_t kUrgentStream = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kGroupStream = 0xc2b2ae3d27d4eb4f;

bool has_times(const Trace& trace) { return trace.arrivals.front().arrives_s.has_value(); }

std::size_t count_of(const Trace& trace, const ArrivalOptions& options, double gap) {
  if (has_times(trace)) return trace.arrivals.size();
  if (options.hours > 0) return static_cast<std::size_t>(options.hours * kHourMs / gap);
  return options.pods == 0 ? kRounds * trace.arrivals.size() : options.pods;
}

/// Mean milliseconds between two arrivals that request the load.
double gap_of(const Trace& trace, const ArrivalOptions& options) {
  std::int64_t requested = 0;
  for (const TracePod& pod : trace.arrivals) requested += pod.total_milli();
  const double mean_milli =
      static_cast<double>(requested) / static_cast<double>(trace.arrivals.size());
  return 100 * mean_milli * options.mean_life_minutes * kMinuteMs /
         (options.load_percent * static_cast<double>(trace.capacity_milli()));
}

void make_urgent(std::vector<Arrival>& arrivals, const ArrivalOptions& options) {
  std::mt19937_64 random(options.seed ^ kUrgentStream);
  for (Arrival& arrival : arrivals) {
    if (100 * uniform(random) < options.urgent_percent) arrival.pod.priority = kUrgentPriority;
  }
}

/// The pods after the first become like it. Every pod begins a group equally likely, so that the
/// mix, and thereby the load, stays what it is on average.
void make_groups(std::vector<Arrival>& arrivals, const ArrivalOptions& options) {
  const std::size_t size = options.group_size;
  if (options.grouped_percent == 0 || size < 2) return;
  std::mt19937_64 random(options.seed ^ kGroupStream);
  // A group begins with probability p, else one pod goes by: of size p + (1 - p) pods on average
  // size p are grouped.
  const double grouped = options.grouped_percent / 100.0;
  const double begins = grouped / (static_cast<double>(size) * (1 - grouped) + grouped);
  for (std::size_t i = 0; i + size <= arrivals.size(); ++i) {
    if (uniform(random) >= begins) continue;
    for (std::size_t j = i; j < i + size; ++j) {
      arrivals[j] = arrivals[i];
      arrivals[j].pod.priority = 0;
      arrivals[j].group = 0;
    }
    arrivals[i].group = size;
    i += size - 1;
  }
}

}  // namespace

std::vector<Arrival> arrivals_of(const Trace& trace, const ArrivalOptions& options) {
  std::vector<Arrival> arrivals;
  if (trace.arrivals.empty()) return arrivals;
  const double gap = gap_of(trace, options);
  std::mt19937_64 random(options.seed);
  const std::size_t count = count_of(trace, options, gap);
  double now = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const TracePod& pod = trace.arrivals[i % trace.arrivals.size()];
    now += exponential(random, gap);
    const double lasts = exponential(random, options.mean_life_minutes * kMinuteMs);
    arrivals.push_back({.pod = pod,
                        .arrives = pod.arrives_s ? 1000 * *pod.arrives_s : std::llround(now),
                        .lasts = std::max<std::int64_t>(
                            1, pod.lasts_s ? 1000 * *pod.lasts_s : std::llround(lasts))});
  }
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.arrives < b.arrives; });
  make_urgent(arrivals, options);
  make_groups(arrivals, options);
  return arrivals;
}

}  // namespace tangram::bench
