#include "node/isolation/programs.hpp"

#include "base/file.hpp"
#include "base/quote.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>

namespace tangram::node {

namespace {

using std::chrono::milliseconds;

/// Between two checks for the program's end. The programs are short and run seldom.
constexpr milliseconds kCheckInterval{5};

/// A file in memory. Not a pipe: a daemon that the program starts may keep the pipe open, so that
/// reading does not end, or may be killed when it writes after the reader has closed it.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content) : fd_(::memfd_create("tangram", MFD_CLOEXEC)) {
    if (fd_ < 0) return;
    good_ = ::write(fd_, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
            ::lseek(fd_, 0, SEEK_SET) == 0;
  }
  ~MemoryFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] int fd() const { return fd_; }

  [[nodiscard]] std::string content() const {
    std::string text(ProgramEnd::kMaxOutput, '\0');
    const ssize_t size = ::pread(fd_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

 private:
  int fd_;
  bool good_ = false;
};

/// @param variable  "NAME=value"
bool sets(const std::vector<std::string>& env, std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('=') + 1);
  return std::any_of(env.begin(), env.end(),
                     [&](const std::string& one) { return one.starts_with(name); });
}

/// The settings of posix_spawn, freed at the end.
class Spawn {
 public:
  Spawn(int input, int output) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1);

    ::posix_spawnattr_init(&attributes_);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Spawn() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  /// @returns 0, or an errno
  int start(const Command& command, pid_t& pid) {
    std::vector<char*> arguments;
    for (const auto& one : command.arguments) arguments.push_back(const_cast<char*>(one.c_str()));
    arguments.push_back(nullptr);
    std::vector<char*> env;
    for (const auto& one : command.env) env.push_back(const_cast<char*>(one.c_str()));
    for (char** one = environ; *one != nullptr; ++one) {
      // Of two values of one variable a shell takes the last.
      if (!sets(command.env, *one)) env.push_back(*one);
    }
    env.push_back(nullptr);
    return ::posix_spawnp(&pid, arguments[0], &files_, &attributes_, arguments.data(), env.data());
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

/// @returns the exit code, or nothing when the time was over
Result<int> wait_for(pid_t pid, milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= end) {
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return fail(Errc::kTimeout, "did not end in " + std::to_string(limit.count()) + " ms");
    }
    std::this_thread::sleep_for(kCheckInterval);
  }
  constexpr int kSignalled = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

}  // namespace

Result<ProgramEnd> SystemPrograms::run(const Command& command, milliseconds limit) {
  const std::string& name = command.arguments.at(0);
  const MemoryFile input(command.input);
  const MemoryFile output("");
  if (!input.good() || !output.good()) {
    return fail(Errc::kUnavailable, name + ": no memory for what it reads and writes");
  }
  pid_t pid = 0;
  if (const int error = Spawn(input.fd(), output.fd()).start(command, pid); error != 0) {
    const bool missing = error == ENOENT || error == EACCES;
    if (!missing) {
      return fail(Errc::kUnavailable,
                  name + " cannot be started now: " +
                      std::error_code(error, std::generic_category()).message());
    }
    return fail(Errc::kNotFound, name + " cannot be started: " +
                                     std::error_code(error, std::generic_category()).message() +
                                     "; is it installed, and in the agent's PATH?");
  }
  const auto code = wait_for(pid, limit);
  if (!code) return fail(code.error().code, name + " " + code.error().message);
  return ProgramEnd{*code, output.content()};
}

bool SystemPrograms::kill(std::int64_t pid, std::string_view name, std::string_view variable) {
  constexpr std::size_t kKernelName = 15;
  if (pid <= 1) return false;
  const auto comm = read_file("/proc/" + std::to_string(pid) + "/comm");
  if (!comm || !comm->starts_with(name.substr(0, kKernelName))) return false;
  const auto environment = read_file("/proc/" + std::to_string(pid) + "/environ");
  const std::string entry = std::string(variable) + '\0';
  if (!environment || ('\0' + *environment).find('\0' + entry) == std::string::npos) return false;
  return ::kill(static_cast<pid_t>(pid), SIGKILL) == 0;
}

Result<void> run_to_success(Programs& programs, const Command& command, milliseconds limit,
                            const std::string& what, std::optional<int> not_found) {
  const auto end = programs.run(command, limit);
  if (end && end->exit_code == 0) return {};
  const bool missing = end ? end->exit_code == not_found : end.error().code == Errc::kNotFound;
  return fail(missing ? Errc::kInvalidArgument : Errc::kUnavailable,
              end ? what + ": " + describe(command, *end) : end.error().message);
}

std::string describe(const Command& command, const ProgramEnd& end) {
  const std::string_view output(end.output);
  const std::string line(output.substr(0, output.find('\n')));
  return command.arguments.at(0) + ": exit code " + std::to_string(end.exit_code) +
         (line.empty() ? "" : ": " + quote(line));
}

}  // namespace tangram::node
