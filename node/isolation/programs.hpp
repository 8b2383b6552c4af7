#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

struct Command {
  std::vector<std::string> arguments;  ///< the first is the program, looked for in PATH
  std::vector<std::string> env;        ///< "NAME=value", besides the agent's other ones
  std::string input;                   ///< its standard input
};

struct ProgramEnd {
  int exit_code = 0;   ///< 128 + the signal that ended it
  std::string output;  ///< standard output and errors, at most kMaxOutput of them
  static constexpr std::size_t kMaxOutput = 16'384;  ///< a message for a log, not data
};

/// Runs other programs. Threads: safe.
class Programs {
 public:
  virtual ~Programs() = default;

  /// Runs one and waits for its end. Its background processes continue.
  /// @returns kNotFound     it is not installed
  ///          kUnavailable  it cannot be started now
  ///          kTimeout      it did not end in time, and was killed with its process group
  virtual Result<ProgramEnd> run(const Command& command, std::chrono::milliseconds limit) = 0;

  /// Kills a process whose name starts so and that was started with this environment variable
  /// ("NAME=value"): process ids are used again. Of a name the kernel has 15 characters.
  /// @returns whether there was such a process
  virtual bool kill(std::int64_t pid, std::string_view name, std::string_view variable) = 0;
};

/// Programs of this machine. They get a clean signal mask and none of the agent's open files.
class SystemPrograms final : public Programs {
 public:
  Result<ProgramEnd> run(const Command& command, std::chrono::milliseconds limit) override;
  bool kill(std::int64_t pid, std::string_view name, std::string_view variable) override;
};

/// Runs a program that must succeed.
/// @param what  for the message: "the MPS daemon does not start"
/// @param not_found  the exit code by which it says that the program which it starts is not
///                   installed, as shells do; none if it starts no other
/// @returns kInvalidArgument if it, or the program that it starts, is not installed; kUnavailable
///          for every other failure
Result<void> run_to_success(Programs& programs, const Command& command,
                            std::chrono::milliseconds limit, const std::string& what,
                            std::optional<int> not_found = {});

/// The program's name and its end, for messages: "mount: exit code 32: bad option".
std::string describe(const Command& command, const ProgramEnd& end);

}  // namespace tangram::node
