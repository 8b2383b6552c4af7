#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

struct Command {
  std::vector<std::string> arguments;  ///< the first is the program, looked for in PATH
  std::vector<std::string> env;        ///< "NAME=value", besides and before the agent's own
  std::string input;                   ///< its standard input
};

struct ProgramEnd {
  int exit_code = 0;   ///< 128 + the signal that ended it
  std::string output;  ///< standard output and errors, at most kMaxOutput of them
  static constexpr std::size_t kMaxOutput = 16 * 1024;  ///< a message for a log, not data
};

/// Other programs of this machine. Threads: safe.
class Programs {
 public:
  virtual ~Programs() = default;

  /// Runs one and waits for its end. Whatever it left in the background goes on.
  /// @returns kNotFound if it is not there, kUnavailable if it cannot be started now, kTimeout if
  /// it was not done in time: it was killed
  ///          then, with the process group that it had
  virtual Result<ProgramEnd> run(const Command& command, std::chrono::milliseconds limit) = 0;

  /// Kills a process at once, if its name begins so and it was started with this environment
  /// variable
  /// ("NAME=value"): numbers are used again, and others have such processes too. The kernel knows
  /// only the first 15 characters of a name.
  /// @returns whether there was such a process
  virtual bool kill(std::int64_t pid, std::string_view name, std::string_view variable) = 0;
};

/// The real ones. They get a clean signal mask and none of the agent's open files.
class SystemPrograms final : public Programs {
 public:
  Result<ProgramEnd> run(const Command& command, std::chrono::milliseconds limit) override;
  bool kill(std::int64_t pid, std::string_view name, std::string_view variable) override;
};

/// The program's name and its end, for messages: "nvidia-smi: exit code 3: No devices were found".
std::string describe(const Command& command, const ProgramEnd& end);

}  // namespace tangram::node
