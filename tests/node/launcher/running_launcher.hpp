#pragma once

#include "node/launcher/client.hpp"
#include "node/launcher/server.hpp"
#include "tests/testing/temp_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tangram::node::launcher {

/// The two ends of a pipe.
struct Pipe {
  Descriptor out;
  Descriptor in;

  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    out = Descriptor(ends[0]);
    in = Descriptor(ends[1]);
  }
  /// Up to the end of a line, without it, or of the input.
  [[nodiscard]] std::string line() const {
    std::string text;
    for (char byte = 0; ::read(out.get(), &byte, 1) == 1 && byte != '\n';) text += byte;
    return text;
  }
  [[nodiscard]] std::string rest() const {
    std::string text;
    for (char byte = 0; ::read(out.get(), &byte, 1) == 1;) text += byte;
    return text;
  }
};

/// A process that does this; killed at the end, and with the test.
class Forked {
 public:
  explicit Forked(const std::function<int()>& work) : pid_(::fork()) {
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ > 0) return;
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(work());
  }
  ~Forked() { kill(); }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill(int signal = SIGKILL) {
    if (pid_ > 0) (void)::kill(pid_, signal);
    wait();
  }
  /// @returns the exit code; 128 and a signal
  int wait() {
    int status = 0;
    if (pid_ > 0 && ::waitpid(pid_, &status, 0) == pid_) code_ = exit_code_of(status);
    pid_ = -1;
    return code_;
  }

 private:
  static int exit_code_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  pid_t pid_;
  int code_ = -1;
};

/// A command that was sent, with the test's ends of its files.
struct Sent {
  Pipe input;
  Pipe output;
  Descriptor socket;

  /// Waits for it.
  [[nodiscard]] Reply reply() const {
    const auto answer = receive_message(socket.get(), kMostReplyBytes);
    const auto decoded = answer ? decode_reply(answer->bytes) : Result<Reply>(answer.error());
    return decoded ? *decoded : Reply(Refused{"no answer: " + decoded.error().message});
  }
  /// -1 if it was refused, which the test then shows.
  [[nodiscard]] int exit_code() const {
    const Reply answer = reply();
    const auto* refused = std::get_if<Refused>(&answer);
    EXPECT_EQ(refused, nullptr) << refused->why;
    return refused == nullptr ? std::get<Ended>(answer).exit_code : -1;
  }
  [[nodiscard]] std::string refusal() const {
    const Reply answer = reply();
    const auto* refused = std::get_if<Refused>(&answer);
    return refused == nullptr ? "it ended" : refused->why;
  }
};

/// A launcher in a process of its own, at a socket of its own.
class RunningLauncher {
 public:
  explicit RunningLauncher(ServerSettings settings = {}) : settings_(std::move(settings)) {
    settings_.socket = path();
    restart();
  }

  [[nodiscard]] std::string folder() const { return folder_.path() + "/l"; }
  [[nodiscard]] std::string path() const { return folder() + "/s"; }
  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  Forked& process() { return *process_; }

  /// It listens when this returns.
  void restart() {
    process_.reset();
    auto server = Server::create(settings_);
    if (!server) throw std::runtime_error(server.error().message);
    process_.emplace([&] { return server->run() ? 0 : 1; });
  }

  /// Sends bytes with the files of a command.
  [[nodiscard]] Sent send_bytes(const std::string& bytes, std::size_t files = kFiles) const {
    Sent sent;
    auto socket = connect_to(path());
    if (!socket) throw std::runtime_error(socket.error().message);
    sent.socket = std::move(*socket);
    std::vector<int> all{sent.input.out.get(), sent.output.in.get(), sent.output.in.get()};
    all.resize(files);
    const auto done = send_message(sent.socket.get(), bytes, all);
    EXPECT_TRUE(done) << done.error().message;
    // The command alone has these ends.
    sent.input.out.reset();
    sent.output.in.reset();
    return sent;
  }
  [[nodiscard]] Sent send(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& env = {"PATH=/usr/bin:/bin"}) const {
    return send_bytes(encode(Request{arguments, env}).value());
  }
  [[nodiscard]] Sent shell(const std::string& script) const { return send({"sh", "-c", script}); }

 private:
  testing::TempFolder folder_;
  ServerSettings settings_;
  std::optional<Forked> process_;
};

}  // namespace tangram::node::launcher
