#pragma once

#include "base/result.hpp"
#include "bench/replay/arrivals.hpp"
#include "bench/replay/failures.hpp"
#include "bench/replay/inprocess.hpp"
#include "bench/replay/scheduler.hpp"
#include "bench/replay/simulation.hpp"
#include "bench/replay/trace.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>

namespace tangram::bench {

/// What tangram-replay --churn is asked for.
struct SimulationCommand {
  bool wanted = false;
  std::string compare;  ///< policies, comma-separated; empty = the one policy
  ArrivalOptions arrivals;
  FailureOptions failures;
  SimulationOptions simulation;
  int restart_seconds = 60;
  int move_seconds = 300;
  std::string pictures;
};
void add_simulation(CLI::App& app, SimulationCommand& command);

/// A scheduler of a policy; `in_process` is the same one, if it can move pods.
struct MadeScheduler {
  std::unique_ptr<Scheduler> scheduler;
  const InProcessScheduler* in_process = nullptr;
};
using MakeScheduler = std::function<Result<MadeScheduler>(const std::string& policy)>;

/// Simulates the policy, or those to compare, and prints and writes the reports.
/// @param policy   as one of those to compare
/// @param summary  file for the JSON; empty = none
/// @returns whether all rules were kept
Result<bool> run_simulation(const SimulationCommand& command, const Trace& trace,
                            const std::string& policy, const std::string& via,
                            const std::string& summary, const MakeScheduler& make);

}  // namespace tangram::bench
