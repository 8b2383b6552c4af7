#pragma once

#include "bench/replay/arrivals.hpp"
#include "bench/replay/trace.hpp"

#include <cstdint>
#include <string>
#include <utility>

/// Small clusters and pods to write scenarios with.
namespace tangram::bench {

/// Nodes n0, n1, ... with so many devices each, and plenty of CPU and memory.
inline Trace cluster_of(const std::vector<int>& devices) {
  Trace trace;
  for (const int gpus : devices) {
    trace.nodes.push_back({.name = "n" + std::to_string(trace.nodes.size()),
                           .cpu_milli = 64'000,
                           .memory_mib = 64'000,
                           .gpus = gpus,
                           .model = "T4"});
  }
  return trace;
}

inline TracePod pod_of(int gpus, std::int64_t gpu_milli) {
  TracePod pod;
  pod.name = "p";
  pod.cpu_milli = 1'000;
  pod.gpus = gpus;
  pod.gpu_milli = gpu_milli;
  return pod;
}

/// Times in seconds.
inline Arrival arrival(TracePod pod, std::int64_t arrives, std::int64_t lasts) {
  return {.pod = std::move(pod), .arrives = 1000 * arrives, .lasts = 1000 * lasts};
}
inline Arrival urgent(TracePod pod, std::int64_t arrives, std::int64_t lasts) {
  pod.priority = kUrgentPriority;
  return arrival(std::move(pod), arrives, lasts);
}

/// So many equal pods that come together.
inline void add_group(std::vector<Arrival>& arrivals, const Arrival& member, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    arrivals.push_back(member);
    arrivals.back().group = i == 0 ? size : 0;
  }
}

}  // namespace tangram::bench
