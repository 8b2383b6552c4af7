#pragma once

#include "base/result.hpp"
#include "node/isolation/programs.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tangram::gpu_check {

/// What one client process is to do.
struct WorkerOptions {
  std::int64_t start_at = 0;        ///< seconds since 1970: all begin to compute together; 0 = now
  std::int64_t seconds = 0;         ///< how long to compute; 0 = not at all
  std::int64_t allocate_up_to = 0;  ///< MiB to try to take; 0 = none
  std::int64_t bins = 0;            ///< in how many of them to count units of work; 0 = none
  std::int64_t bin_ms = 100;        ///< how long each is
  std::int64_t rounds = 0;          ///< of a unit: Cuda::Unit
  std::int64_t kernels = 1;         ///< of a unit
  std::int64_t batch = 1;           ///< units that are launched at a time
  std::int64_t idle_from = -1;      ///< the bin from which on it does nothing; -1 = none
};

/// Does it, in this process, and prints what came of it, a word and a value on each line.
/// @returns the exit code
int run_worker(const WorkerOptions& options);

/// What a worker printed.
class Findings {
 public:
  explicit Findings(const std::string& output);
  [[nodiscard]] std::string text(const std::string& word) const;
  [[nodiscard]] double number(const std::string& word) const;
  /// Units that ended in each bin.
  [[nodiscard]] std::vector<double> bins() const;

 private:
  std::map<std::string, std::string> values_;
};

/// Runs this same program as a worker, with this environment besides.
/// @param inside  what goes before its command line: Container::command() of nothing
Result<Findings> start_worker(node::Programs& programs, const WorkerOptions& options,
                              std::vector<std::string> env,
                              const std::vector<std::string>& inside = {});

}  // namespace tangram::gpu_check
