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

 private:
  std::map<std::string, std::string> values_;
};

/// Runs this same program as a worker, with this environment besides.
Result<Findings> start_worker(node::Programs& programs, const WorkerOptions& options,
                              std::vector<std::string> env);

}  // namespace tangram::gpu_check
