#include "tests/e2e/process.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <deque>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

namespace tangram::e2e {

Result<Process> Process::start(const std::vector<std::string>& command,
                               const std::filesystem::path& log,
                               const std::vector<std::string>& variables) {
  posix_spawn_file_actions_t files{};
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  // Closes inherited sockets too: a connection that another program also holds never closes.
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);

  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  for (const auto& word : variables) environment.push_back(const_cast<char*>(word.c_str()));
  environment.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, command.front().c_str(), &files, nullptr, arguments.data(),
                                environment.data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    return fail(Errc::kUnavailable,
                command.front() + ": " + std::generic_category().message(error));
  }
  return Process(pid);
}

Process::~Process() { kill(); }
Process::Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

bool Process::running() {
  if (pid_ != 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = 0;
  return pid_ != 0;
}

void Process::signal(int number) const {
  if (pid_ != 0) ::kill(pid_, number);
}

void Process::kill() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

bool Process::terminate(std::chrono::seconds timeout) {
  signal(SIGTERM);
  if (wait(timeout)) return true;
  kill();
  return false;
}

bool Process::wait(std::chrono::milliseconds limit) {
  // waitpid has no time-out, so this polls every 10 ms.
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (running()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

int free_port() {
  using boost::asio::ip::tcp;
  boost::asio::io_context io;
  const tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  return acceptor.local_endpoint().port();
}

std::string tail(const std::filesystem::path& log, int lines) {
  std::ifstream in(log);
  std::deque<std::string> last;
  for (std::string line; std::getline(in, line);) {
    last.push_back(line);
    if (last.size() > static_cast<std::size_t>(lines)) last.pop_front();
  }
  std::string text;
  for (const auto& line : last) text += line + "\n";
  return text;
}

}  // namespace tangram::e2e
