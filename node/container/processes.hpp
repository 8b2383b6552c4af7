#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tangram::node {

/// Where a process runs.
struct ProcessPlace {
  std::string pod_uid;       ///< empty = in no pod, or it has ended
  std::string container_id;  ///< the runtime's; empty = it cannot be told
  friend auto operator<=>(const ProcessPlace&, const ProcessPlace&) = default;
};

/// The machine's processes, as far as they belong to pods. Needs the host's PID namespace.
class Processes {
 public:
  virtual ~Processes() = default;
  [[nodiscard]] virtual ProcessPlace place_of(std::int64_t pid) const = 0;
  /// All pods that have a process, with one of those each.
  [[nodiscard]] virtual std::map<std::string, std::int64_t> pods() const = 0;
  /// The UID of the pod a process runs in; empty = in none, or it has ended.
  [[nodiscard]] std::string pod_of(std::int64_t pid) const { return place_of(pid).pod_uid; }
};

/// Reads /proc/PID/cgroup. Kubelet names a pod's control group after its UID, with '_' for '-'
/// where systemd makes the groups: ".../pod1234-…/…" or ".../kubepods-pod1234_….slice/…". The
/// runtime names the group of a container, directly below, after its id.
class ProcProcesses final : public Processes {
 public:
  explicit ProcProcesses(std::string proc = "/proc");
  [[nodiscard]] ProcessPlace place_of(std::int64_t pid) const override;
  [[nodiscard]] std::map<std::string, std::int64_t> pods() const override;

 private:
  std::string proc_;
};

/// The place in the text of a /proc/PID/cgroup. A container's id has 64 hexadecimal digits, as that
/// of containerd, CRI-O and Docker:
///
///     …/pod1234-…/ID, …/pod1234-…/crio-ID                          the runtime makes the groups
///     ….slice/cri-containerd-ID.scope, ….slice/crio-ID.scope/…     systemd makes them
///     ….slice:cri-containerd:ID                                    kubelet's do, the runtime's not
///
/// Groups below the container's own are its programs' and do not count.
[[nodiscard]] ProcessPlace place_in_cgroup(std::string_view text);

}  // namespace tangram::node
