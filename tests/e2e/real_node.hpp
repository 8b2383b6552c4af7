#pragma once

#include "tests/e2e/objects.hpp"

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tangram::e2e {

/// The node that node.sh brought up, and its programs: "kubelet", "containerd" and "tangram-node".
/// What cannot be done throws std::runtime_error with the end of the program's log.
/// Threads: safe for different programs.
class RealNode {
 public:
  static constexpr const char* kName = "gpu-node";

  /// 0 = it does not run.
  [[nodiscard]] pid_t pid(const std::string& program) const;
  /// SIGKILL; returns when it has ended. Containers and their shims live on.
  void kill(const std::string& program) const;
  /// SIGTERM; returns when it has ended.
  void stop(const std::string& program) const;
  /// SIGSTOP, SIGCONT …; nothing if it does not run.
  void signal(const std::string& program, int number) const;
  /// @param arguments  of tangram-node, beside those of node.sh
  /// Returns when containerd or tangram-node answers, for kubelet at once.
  void start(const std::string& program, const std::vector<std::string>& arguments = {}) const;

  /// Like a power failure: ends every program and container, and empties /run.
  void lose_power() const;

  /// What the fake NVML shows, from now on; a card that is not healthy has an XID error.
  void write_cards(const std::vector<CardSpec>& cards) const;

  [[nodiscard]] std::filesystem::path records() const;  ///< of the containers' starts
  [[nodiscard]] std::filesystem::path cdi() const;      ///< /var/run/cdi
  [[nodiscard]] std::filesystem::path plugins() const;  ///< /var/lib/kubelet/device-plugins
  [[nodiscard]] std::string agent_address() const;      ///< of its metrics, "127.0.0.1:PORT"

 private:
  [[nodiscard]] std::filesystem::path root() const;
  void wait_gone(const std::string& program, pid_t pid) const;
};

}  // namespace tangram::e2e
