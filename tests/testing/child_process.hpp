#pragma once

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <stdexcept>

namespace tangram::testing {

/// A process that only answers runs() until it is killed, at the latest with this one.
class ChildProcess {
 public:
  ChildProcess() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) {
      throw std::runtime_error("no socket pair");
    }
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ == 0) answer(ends[1]);
    ::close(ends[1]);
    socket_ = ends[0];
  }
  ~ChildProcess() {
    end();
    ::close(socket_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Kills it if it still runs, and removes it from the system's table.
  void end() {
    if (status_) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  /// It was killed by another than end(), which waits for the end.
  [[nodiscard]] bool was_killed() {
    if (!status_) wait();
    return WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL;
  }
  /// Not if it was killed before the call: a process with that signal executes nothing more.
  [[nodiscard]] bool runs() const {
    char byte = 'x';
    return ::send(socket_, &byte, 1, MSG_NOSIGNAL) == 1 && ::recv(socket_, &byte, 1, 0) == 1;
  }

 private:
  [[noreturn]] static void answer(int socket) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte = 0;
    while (::recv(socket, &byte, 1, 0) == 1 && ::send(socket, &byte, 1, 0) == 1) {}
    ::_exit(0);
  }
  void wait() {
    int status = 0;
    if (::waitpid(pid_, &status, 0) == pid_) status_ = status;
  }

  pid_t pid_ = -1;
  int socket_ = -1;
  std::optional<int> status_;
};

}  // namespace tangram::testing
