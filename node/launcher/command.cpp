#include "node/launcher/command.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>
#include <vector>

namespace tangram::node::launcher {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// As a new program expects them: the launcher has blocked some, and may have been started with
/// ignored ones.
void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) (void)std::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  (void)::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become(char* const* arguments, char** env, const std::array<int, kFiles>& files) {
  (void)::setpgid(0, 0);
  reset_signals();
  int number = STDIN_FILENO;
  for (const int file : files) {
    if (::dup2(file, number++) < 0) ::_exit(kNotRun);
  }
  ::closefrom(STDERR_FILENO + 1);
  if (::chdir("/") != 0) ::_exit(kNotRun);
  environ = env;  // execvp() looks for PATH there
  (void)::execvp(arguments[0], arguments);
  const int error = errno;
  (void)::dprintf(STDERR_FILENO, "tangram-launcher: %s: %s\n", arguments[0],
                  std::generic_category().message(error).c_str());
  ::_exit(error == ENOENT || error == ENOTDIR ? kNotFound : kNotExecutable);
}

}  // namespace

Result<pid_t> start(const Request& request, const std::array<int, kFiles>& files) {
  const auto arguments = pointers_to(request.arguments);
  auto env = pointers_to(request.env);
  const pid_t pid = ::fork();
  if (pid == 0) become(arguments.data(), env.data(), files);
  if (pid < 0) {
    return fail(Errc::kUnavailable,
                "no process can be made now: " + std::generic_category().message(errno));
  }
  // Both processes set it: the group exists whichever of them runs first.
  (void)::setpgid(pid, pid);
  return pid;
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

void open_standard_files() {
  int fd = -1;
  do fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) (void)::close(fd);
}

}  // namespace tangram::node::launcher
