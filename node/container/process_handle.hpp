#pragma once

#include "base/result.hpp"

#include <cstdint>

namespace tangram::node {

/// One process, whatever process has its number later: kill() never reaches another one. What /proc
/// or a driver says about the number after open() is about this process if kill() then succeeds,
/// because a process keeps its number until it has ended.
///
/// Needs Linux 5.3. Threads: one at a time.
class ProcessHandle {
 public:
  /// @returns kNotFound     there is no such process
  ///          kUnavailable  the kernel does not know such handles, or there are no more descriptors
  static Result<ProcessHandle> open(std::int64_t pid);
  ProcessHandle(ProcessHandle&& other) noexcept;
  ProcessHandle& operator=(ProcessHandle&&) = delete;
  ProcessHandle(const ProcessHandle&) = delete;
  ProcessHandle& operator=(const ProcessHandle&) = delete;
  ~ProcessHandle();

  /// Sends SIGKILL. The process ends some time later. Needs CAP_KILL for processes of other users.
  /// @returns kNotFound     it has ended
  ///          kUnavailable  with the system's reason
  [[nodiscard]] Result<void> kill() const;

 private:
  explicit ProcessHandle(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;  ///< -1 = moved away
};

}  // namespace tangram::node
