#pragma once

#include "base/csv.hpp"
#include "base/result.hpp"
#include "model/node_state.hpp"
#include "policies/workload.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::policies {

/// A device of a trace has this many milli; the traces know no other.
inline constexpr std::int64_t kDeviceMilli = 1000;

/// A pod as the published traces describe it. One that shares asks gpus = 1 and
/// gpu_milli < 1000; any other asks `gpus` whole devices of one node, or none.
struct TracePod {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  int gpus = 0;
  std::int64_t gpu_milli = 0;                  ///< of each device
  std::vector<std::string> models;             ///< devices it accepts; empty = any
  std::optional<std::int64_t> arrives_s = {};  ///< where the trace says so
  std::optional<std::int64_t> lasts_s = {};    ///< the same
  int priority = 0;                            ///< the trace's, or 0; > 0 = urgent

  [[nodiscard]] std::int64_t total_milli() const { return gpus * gpu_milli; }
};

/// Reads cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec ("A|B") and the name's column; of the
/// optional columns arrives_s, lasts_s and priority what is not empty.
/// @returns kNotFound if the file cannot be read; kInvalidArgument, with file and line
Result<std::vector<TracePod>> read_trace_pods(const std::string& path,
                                              std::string_view name_column);

/// What the pod would ask in annotations: gpu-fraction if it shares, else gpu-count.
[[nodiscard]] model::PodDemand demand_of(const TracePod& pod, model::Isolation isolation);

/// The target workload for policies, made of the pods to expect.
[[nodiscard]] Workload workload_of(const std::vector<TracePod>& pods, model::Isolation isolation,
                                   int coverage_percent = kCoveragePercent);

}  // namespace tangram::policies
