#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tangram::node {

/// The machine's processes, as far as they belong to pods. Needs the host's PID namespace.
class Processes {
 public:
  virtual ~Processes() = default;
  /// The UID of the pod a process runs in; empty = in none, or it has ended.
  [[nodiscard]] virtual std::string pod_of(std::int64_t pid) const = 0;
  /// All pods that have a process, with one of those each.
  [[nodiscard]] virtual std::map<std::string, std::int64_t> pods() const = 0;
};

/// Reads /proc/PID/cgroup. Kubelet names a pod's control group after its UID, with '_' for '-'
/// where systemd makes the groups: ".../pod1234-…/…" or ".../kubepods-pod1234_….slice/…".
class ProcProcesses final : public Processes {
 public:
  explicit ProcProcesses(std::string proc = "/proc");
  [[nodiscard]] std::string pod_of(std::int64_t pid) const override;
  [[nodiscard]] std::map<std::string, std::int64_t> pods() const override;

 private:
  std::string proc_;
};

/// The pod UID in the text of a /proc/PID/cgroup; empty = none.
[[nodiscard]] std::string pod_uid_in_cgroup(const std::string& text);

}  // namespace tangram::node
