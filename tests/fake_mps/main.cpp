// An nvidia-cuda-mps-control for machines without a GPU: see README.md.

#include "tests/fake_mps/daemon.hpp"
#include "tests/fake_mps/packets.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <vector>

namespace tangram::fake_mps {
namespace {

constexpr const char* kControl = "/control";
constexpr const char* kPrivileged = "/control_privileged";

/// Each line is a packet: with "quit" the daemon may be gone before the next one.
int front_end(const std::string& folder) {
  for (std::string line; std::getline(std::cin, line);) {
    const bool plain = line.starts_with("get_server_list");
    const auto answer = ask(folder + (plain ? kControl : kPrivileged), line);
    std::cout << answer.value_or("Cannot find MPS control daemon process\n");
    if (!answer || answer->starts_with("error")) return 1;
  }
  return 0;
}

struct Connection {
  int file;
  bool privileged;
};

/// Answers one packet. @returns whether the connection goes on
bool answer(Daemon& daemon, const Connection& client) {
  const std::string packet = receive(client.file);
  if (packet.empty()) return false;
  const std::string text = daemon.answer(packet, client.privileged);
  // An empty packet would look like the end of the connection.
  ::send(client.file, text.data(), text.size(), MSG_NOSIGNAL);
  return !text.empty();
}

/// Serves until it is told to quit.
void serve(int control, int privileged, bool divided) {
  Daemon daemon(divided);
  std::vector<Connection> connections;
  while (!daemon.ended()) {
    std::vector<pollfd> wanted{{control, POLLIN, 0}, {privileged, POLLIN, 0}};
    for (const Connection& one : connections) wanted.push_back({one.file, POLLIN, 0});
    ::poll(wanted.data(), wanted.size(), -1);
    for (std::size_t i = connections.size(); i > 0; --i) {
      if (wanted[i + 1].revents == 0 || answer(daemon, connections[i - 1])) continue;
      ::close(connections[i - 1].file);
      connections.erase(connections.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if ((wanted[i].revents & POLLIN) == 0) continue;
      connections.push_back({::accept4(wanted[i].fd, nullptr, nullptr, SOCK_CLOEXEC), i == 1});
    }
  }
}

/// Makes the daemon's files and serves. @param ready  is written to once clients can connect
int run_daemon(const std::string& folder, int ready, bool divided) {
  const int control = listen_at(folder + kControl);
  const int privileged = listen_at(folder + kPrivileged);
  if (control < 0 || privileged < 0) return 1;
  ::chmod((folder + kControl).c_str(), 0666);
  ::chmod((folder + kPrivileged).c_str(), 0755);
  const std::string log = folder + "/log";
  ::mkfifo(log.c_str(), 0777);
  ::chmod(log.c_str(), 0777);
  for (const char* name : {"/control_lock", "/nvidia-cuda-mps-control.pid"}) {
    std::ofstream(folder + name) << ::getpid() << '\n';
    ::chmod((folder + name).c_str(), 0666);
  }
  if (ready >= 0) {
    if (::write(ready, "1", 1) != 1) return 1;
    ::close(ready);
  }
  serve(control, privileged, divided);
  for (const char* name : {kControl, kPrivileged, "/log", "/nvidia-cuda-mps-control.pid"}) {
    ::unlink((folder + name).c_str());
  }
  return 0;
}

/// Returns in the first process when the daemon is ready or has failed.
int start_in_background(const std::string& folder, bool divided) {
  std::array<int, 2> ready{};
  if (::pipe2(ready.data(), O_CLOEXEC) != 0) return 1;
  if (::fork() == 0) {
    ::close(ready[0]);
    ::setsid();
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, file);
    return run_daemon(folder, ready[1], divided);
  }
  ::close(ready[1]);
  char byte = 0;
  if (::read(ready[0], &byte, 1) == 1) return 0;
  std::cout << "An instance of this daemon is already running\n";
  return 1;
}

int main_of(const std::vector<std::string>& arguments) {
  const char* const folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  if (folder == nullptr) return 1;
  const auto has = [&](const char* flag) {
    return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
  };
  ::umask(0);
  ::signal(SIGCHLD, SIG_IGN);  // no zombies
  if (has("-d")) return start_in_background(folder, has("-S"));
  if (has("-f")) return run_daemon(folder, -1, has("-S"));
  return front_end(folder);
}

}  // namespace
}  // namespace tangram::fake_mps

int main(int count, char** arguments) {
  return tangram::fake_mps::main_of({arguments + 1, arguments + count});
}
