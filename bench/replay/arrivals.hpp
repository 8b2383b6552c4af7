#pragma once

#include "bench/replay/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tangram::bench {

/// When a pod arrives and how long it runs. Times in milliseconds from the start.
struct Arrival {
  TracePod pod;
  std::int64_t arrives = 0;
  std::int64_t lasts = 0;  ///< of work, once it runs; > 0
  /// The first of a group says how many pods it has, the others 0: they follow it, are like it and
  /// arrive with it. A pod of its own is a group of one.
  std::size_t group = 1;
};

/// Arrivals for a trace that does not have its own.
struct ArrivalOptions {
  /// Requested GPU time in percent of the capacity. Below the allocation that a policy reaches
  /// without departures no pod waits.
  int load_percent = 97;
  /// Pods in all; the trace's arrivals over and over. 0 = four times as many as it has.
  std::size_t pods = 0;
  /// Hours of arrivals, instead of a number of pods; 0 = by pods.
  int hours = 0;
  int mean_life_minutes = 60;
  /// Of the pods, in percent: urgent, and in groups of group_size that run together or not at all.
  int urgent_percent = 0;
  int grouped_percent = 0;
  std::size_t group_size = 4;
  std::uint64_t seed = 1;
};

/// The priority of pods that are made urgent; those of the trace have their own.
inline constexpr int kUrgentPriority = 1000;

/// In order of arrival. Arrivals at random moments (exponential gaps), exponential lifetimes;
/// times that the trace has are kept as they are, and its pods come once. Equal options make equal
/// arrivals. What is urgent, and what is in a group, changes nothing else: the draws are apart.
[[nodiscard]] std::vector<Arrival> arrivals_of(const Trace& trace, const ArrivalOptions& options);

}  // namespace tangram::bench
