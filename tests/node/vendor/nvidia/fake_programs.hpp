#pragma once

#include "node/isolation/programs.hpp"
#include "tests/fake_mps/partitions.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tangram::node::nvidia {

/// A machine's programs as far as the enforcers use them: MPS daemons that start, answer and quit,
/// found by their pipe directory, and an nvidia-smi that accepts every setting. Records everything.
class FakePrograms final : public Programs {
 public:
  static constexpr std::int64_t kServer = 4712;  ///< the process id of each server

  Result<ProgramEnd> run(const Command& command, std::chrono::milliseconds limit) override {
    const std::lock_guard lock(mutex_);
    commands_.push_back(command);
    longest_ = std::max(longest_, limit);
    if (broken_) return *broken_;
    const auto& arguments = command.arguments;
    if (std::find(arguments.begin(), arguments.end(), "-d") != arguments.end()) {
      if (arguments.back() == "-S" && !no_partitions_) partitions_[pipe_dir(command)];
      return start(pipe_dir(command));
    }
    if (arguments.at(0) == "nvidia-cuda-mps-control") return control(command);
    const auto is = [&](const char* program) {
      return std::find(arguments.begin(), arguments.end(), program) != arguments.end();
    };
    if (is("-c")) return asked_for_mount(arguments.back());
    if (is("mount")) return mount(arguments.back());
    if (is("umount")) mounts_.erase(arguments.back());
    return ProgramEnd{0, ""};
  }

  bool kill(std::int64_t pid, std::string_view name, std::string_view) override {
    if (pid == 0) return false;
    const std::lock_guard lock(mutex_);
    killed_.emplace_back(std::string(name) + " " + std::to_string(pid));
    hung_.clear();
    return true;
  }

  /// Every program fails so from now on; nothing = they work again.
  void break_with(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    broken_ = std::move(error);
  }
  void refuse_starts(bool refuse) {
    const std::lock_guard lock(mutex_);
    refuse_starts_ = refuse;
  }
  /// The daemon's commands for limits fail.
  void refuse_limits(bool refuse) {
    const std::lock_guard lock(mutex_);
    refuse_limits_ = refuse;
  }
  /// The daemons start no server.
  void refuse_servers(bool refuse) {
    const std::lock_guard lock(mutex_);
    refuse_servers_ = refuse;
  }
  /// A server is listed only after so many looks.
  void delay_servers(int looks) {
    const std::lock_guard lock(mutex_);
    looks_before_server_ = looks;
  }
  /// Servers end after so many looks, as those do that cannot have the card.
  void end_servers_after(int looks) {
    const std::lock_guard lock(mutex_);
    looks_of_server_ = looks;
  }
  /// The daemons' servers end, and their daemons start others, with these process ids.
  void replace_servers(const std::vector<std::int64_t>& pids) {
    const std::lock_guard lock(mutex_);
    servers_.clear();
    for (const std::string& dir : daemons_) {
      for (const std::int64_t pid : pids) servers_[dir] += std::to_string(pid) + "\n";
    }
  }
  void refuse_mounts(bool refuse) {
    const std::lock_guard lock(mutex_);
    refuse_mounts_ = refuse;
  }
  /// To whether a folder is mounted; nothing = the truth.
  void answer_of_mounts(std::optional<Result<ProgramEnd>> answer) {
    const std::lock_guard lock(mutex_);
    mount_answer_ = std::move(answer);
  }
  /// The driver is too old for them.
  void refuse_partitions(bool refuse) {
    const std::lock_guard lock(mutex_);
    no_partitions_ = refuse;
  }
  /// So many commands for partitions are done, and not answered in time.
  void answer_late(int commands) {
    const std::lock_guard lock(mutex_);
    late_ = commands;
  }
  /// Of a daemon that was started with -S. Valid until that ends.
  fake_mps::Partitions& partitions(const std::string& pipe_dir) {
    const std::lock_guard lock(mutex_);
    return partitions_.at(pipe_dir);
  }
  void run_daemon(const std::string& pipe_dir) {
    const std::lock_guard lock(mutex_);
    daemons_.insert(pipe_dir);
  }
  void crash(const std::string& pipe_dir) {
    const std::lock_guard lock(mutex_);
    partitions_.erase(pipe_dir);
    daemons_.erase(pipe_dir);
    servers_.erase(pipe_dir);
  }
  /// It runs, but answers no client until it is killed.
  void hang(const std::string& pipe_dir) {
    const std::lock_guard lock(mutex_);
    daemons_.erase(pipe_dir);
    hung_.insert(pipe_dir);
  }

  [[nodiscard]] std::vector<Command> commands() const {
    const std::lock_guard lock(mutex_);
    return commands_;
  }
  /// Commands that start a daemon.
  [[nodiscard]] std::vector<Command> starts() const {
    std::vector<Command> found;
    for (const Command& command : commands()) {
      const auto& all = command.arguments;
      if (std::find(all.begin(), all.end(), "-d") != all.end()) found.push_back(command);
    }
    return found;
  }
  /// What the front ends of daemons were told, in order.
  [[nodiscard]] std::vector<std::string> inputs() const {
    std::vector<std::string> found;
    for (const Command& command : commands()) {
      if (!command.input.empty()) found.push_back(command.input);
    }
    return found;
  }
  [[nodiscard]] std::set<std::string> daemons() const {
    const std::lock_guard lock(mutex_);
    return daemons_;
  }
  /// The last ones that this daemon was given.
  [[nodiscard]] std::string limits(const std::string& pipe_dir) const {
    const std::lock_guard lock(mutex_);
    const auto found = limits_.find(pipe_dir);
    return found == limits_.end() ? "" : found->second;
  }
  [[nodiscard]] std::set<std::string> mounts() const {
    const std::lock_guard lock(mutex_);
    return mounts_;
  }
  [[nodiscard]] std::vector<std::string> killed() const {
    const std::lock_guard lock(mutex_);
    return killed_;
  }
  [[nodiscard]] std::chrono::milliseconds longest() const {
    const std::lock_guard lock(mutex_);
    return longest_;
  }

 private:
  static std::string pipe_dir(const Command& command) {
    const std::string name = "CUDA_MPS_PIPE_DIRECTORY=";
    for (const std::string& one : command.env) {
      if (one.starts_with(name)) return one.substr(name.size());
    }
    return {};
  }
  Result<ProgramEnd> asked_for_mount(const std::string& folder) {
    if (mount_answer_) return *mount_answer_;
    return ProgramEnd{mounts_.count(folder) > 0 ? 64 : 65, ""};
  }
  Result<ProgramEnd> mount(const std::string& folder) {
    if (refuse_mounts_) return ProgramEnd{32, "mount: permission denied"};
    mounts_.insert(folder);
    return ProgramEnd{0, ""};
  }
  Result<ProgramEnd> start(const std::string& pipe_dir) {
    if (refuse_starts_) return ProgramEnd{1, "no device\nmore"};
    if (hung_.count(pipe_dir) != 0) {
      return ProgramEnd{1, "An instance of this daemon is already running"};
    }
    daemons_.insert(pipe_dir);
    for (const char* name : {"/control", "/control_privileged", "/log"}) {
      std::ofstream(pipe_dir + name) << daemons_.size();
    }
    return ProgramEnd{0, ""};
  }
  Result<ProgramEnd> control(const Command& command) {
    const std::string dir = pipe_dir(command);
    if (hung_.count(dir) != 0) return fail(Errc::kTimeout, "did not end in time");
    if (daemons_.count(dir) == 0) return ProgramEnd{1, "Cannot find MPS control daemon process"};
    if (command.input == "lspart\n" || command.input.starts_with("sm_partition ")) {
      const auto divided = partitions_.find(dir);
      const bool known = divided != partitions_.end();
      if (late_ > 0 && known && command.input.starts_with("sm_partition ")) {
        --late_;
        (void)divided->second.answer(command.input);
        return fail(Errc::kTimeout, "did not end in time");
      }
      // Whatever the answer is, like the real one.
      return ProgramEnd{0, known ? divided->second.answer(command.input) : "unknown command\n"};
    }
    if (command.input == "quit\n") {
      partitions_.erase(dir);
      daemons_.erase(dir);
      servers_.erase(dir);
    }
    if (command.input == "get_server_list\n") return ProgramEnd{0, listed_servers(dir)};
    if (command.input == "start_server -uid 0\n" && !refuse_servers_) {
      servers_[dir] = std::to_string(kServer) + "\n";
    }
    if (!command.input.starts_with("set_")) return ProgramEnd{0, ""};
    if (refuse_limits_) return ProgramEnd{1, "unknown command"};
    limits_[dir] = command.input;
    return ProgramEnd{0, ""};
  }

  std::string listed_servers(const std::string& dir) {
    const auto found = servers_.find(dir);
    if (found == servers_.end()) return "";
    if (looks_before_server_-- > 0) return "";
    const std::string pids = found->second;
    if (looks_of_server_ && --*looks_of_server_ <= 0) servers_.erase(found);
    return pids;
  }

  mutable std::mutex mutex_;
  std::map<std::string, fake_mps::Partitions> partitions_;  ///< by pipe directory
  bool no_partitions_ = false;
  int late_ = 0;
  std::vector<Command> commands_;
  std::set<std::string> daemons_;
  std::set<std::string> hung_;
  std::vector<std::string> killed_;
  std::optional<Error> broken_;
  bool refuse_starts_ = false;
  bool refuse_mounts_ = false;
  bool refuse_limits_ = false;
  bool refuse_servers_ = false;
  int looks_before_server_ = 0;
  std::optional<int> looks_of_server_;
  std::map<std::string, std::string> servers_;  ///< by pipe directory; a process id in each line
  std::map<std::string, std::string> limits_;
  std::set<std::string> mounts_;
  std::optional<Result<ProgramEnd>> mount_answer_;
  std::chrono::milliseconds longest_{};
};

}  // namespace tangram::node::nvidia
