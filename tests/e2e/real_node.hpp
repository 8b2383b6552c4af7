#pragma once

#include "tests/e2e/objects.hpp"

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tangram::e2e {

/// The node that node.sh started, and its programs: "kubelet", "containerd" and "tangram-node".
/// Errors throw std::runtime_error with the end of the program's log.
/// Threads: safe for different programs.
class RealNode {
 public:
  static constexpr const char* kName = "gpu-node";

  /// 0 = the program does not run.
  [[nodiscard]] pid_t pid(const std::string& program) const;
  /// SIGKILL; returns when the program has ended. Containers and their shims keep running.
  void kill(const std::string& program) const;
  /// SIGTERM; returns when the program has ended.
  void stop(const std::string& program) const;
  /// SIGSTOP, SIGCONT …; does nothing if the program does not run.
  void signal(const std::string& program, int number) const;
  /// @param arguments  of tangram-node, in addition to those of node.sh; for containerd those of
  ///                   parse_containerd_options there
  /// Returns when containerd or tangram-node answers, and for kubelet at once.
  void start(const std::string& program, const std::vector<std::string>& arguments = {}) const;

  /// NVIDIA's driver as packages of the host have it, or a driver container.
  /// @param place  "host", "container" or "none"
  void place_driver(const std::string& place) const;

  /// Like a power failure: ends every program and container, and empties /run.
  void lose_power() const;

  /// Sets what the fake NVML reports from now on. An unhealthy card has an XID error.
  void write_cards(const std::vector<CardSpec>& cards) const;

  [[nodiscard]] std::filesystem::path records() const;  ///< of the containers' starts
  [[nodiscard]] std::filesystem::path cdi() const;      ///< /var/run/cdi
  [[nodiscard]] std::filesystem::path plugins() const;  ///< /var/lib/kubelet/device-plugins
  [[nodiscard]] std::filesystem::path journal() const;  ///< the agent's, of allocations
  [[nodiscard]] std::string pod_resources() const;      ///< kubelet's socket
  [[nodiscard]] std::string runtime() const;            ///< containerd's socket
  [[nodiscard]] std::string agent_address() const;      ///< of its metrics, "127.0.0.1:PORT"

 private:
  [[nodiscard]] std::filesystem::path root() const;
  void wait_gone(const std::string& program, pid_t pid) const;
};

}  // namespace tangram::e2e
