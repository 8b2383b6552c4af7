#include "bench/replay/trace.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <fuzzer/FuzzedDataProvider.h>

/// Any three files: are refused, or are a trace whose sums are sums, and whose workload covers it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  static const fuzz::MemoryFile nodes;
  static const fuzz::MemoryFile order;
  static const fuzz::MemoryFile arrivals;
  FuzzedDataProvider input(data, size);
  nodes.replace(input.ConsumeRandomLengthString());
  order.replace(input.ConsumeRandomLengthString());
  arrivals.replace(input.ConsumeRemainingBytesAsString());
  const auto trace = bench::read_trace(
      {.nodes = nodes.path(), .arrivals = arrivals.path(), .order = order.path(), .workload = {}});
  const auto pods = policies::read_trace_pods(arrivals.path(), "pod");
  if (trace) fuzz::require(pods && trace->capacity_milli() >= 0);
  if (!pods) return 0;
  for (const policies::TracePod& pod : *pods) {
    fuzz::require(pod.total_milli() >= 0 && (pod.gpus > 0) == (pod.gpu_milli > 0));
  }
  const auto workload = policies::workload_of(*pods, model::Isolation::kMps, 100);
  fuzz::require(workload.total == static_cast<std::int64_t>(pods->size()));
  return 0;
}
