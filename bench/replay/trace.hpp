#pragma once

#include "base/result.hpp"
#include "policies/trace_pods.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tangram::bench {

using policies::TracePod;

/// A node of the trace. All its devices are alike.
struct TraceNode {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  int gpus = 0;
  std::string model;
};

/// What a replay reads.
struct Trace {
  std::vector<TraceNode> nodes;    ///< in the order that breaks ties: the first wins
  std::vector<TracePod> arrivals;  ///< in order of arrival
  std::vector<TracePod> workload;  ///< the pods that policies expect
  std::string workload_origin;     ///< where they come from, for people

  [[nodiscard]] std::int64_t capacity_milli() const;
};

struct TracePaths {
  std::string nodes;     ///< sn,cpu_milli,memory_mib,gpu,model
  std::string arrivals;  ///< order,pod,cpu_milli,memory_mib,num_gpu,gpu_milli[,gpu_spec]
  std::string order;     ///< rank,node
  std::string workload;  ///< like arrivals, order left out; empty = see find_workload()

  /// The files of arrivals "NAME-SEED" in a folder laid out as nodes.csv, arrivals/, pods/.
  static TracePaths in_folder(const std::string& folder, const std::string& trace_seed);
};

/// The pods a trace was drawn from, if they lie where a data folder keeps them: for arrivals
/// DIR/NAME-SEED.csv that is DIR/../pods/NAME.csv. @returns "" if there is no such file
[[nodiscard]] std::string find_workload(const std::string& arrivals_path);

/// @returns kNotFound if a file cannot be read; kInvalidArgument, with file and line, if one is
///          wrong or they do not belong together (a ranked node that does not exist)
Result<Trace> read_trace(const TracePaths& paths);

}  // namespace tangram::bench
