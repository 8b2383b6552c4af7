#pragma once

#include "base/result.hpp"

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace tangram::e2e {

/// A program that a test started. The destructor kills it, however the test ends.
/// Threads: one at a time.
class Process {
 public:
  /// Appends stdout and stderr to `log`.
  /// @param command  the program's path, then its arguments
  /// @param variables  "NAME=value", in addition to this process's variables
  /// @returns kUnavailable if it cannot be started
  static Result<Process> start(const std::vector<std::string>& command,
                               const std::filesystem::path& log,
                               const std::vector<std::string>& variables = {});
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool running();

  void signal(int number) const;
  /// SIGKILL: the program cannot log or clean up.
  void kill();
  /// SIGTERM, and SIGKILL if the program still runs after `timeout`.
  /// @returns whether it ended by itself
  bool terminate(std::chrono::seconds timeout = std::chrono::seconds(30));

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  bool wait(std::chrono::milliseconds limit);

  pid_t pid_ = 0;  ///< 0 = ended, and its status was collected
};

/// A TCP port on loopback that nothing listens on. For servers that must come back on the same port
/// after a restart; others listen on port 0.
[[nodiscard]] int free_port();

/// The end of a log, for messages about what failed.
[[nodiscard]] std::string tail(const std::filesystem::path& log, int lines = 15);

}  // namespace tangram::e2e
