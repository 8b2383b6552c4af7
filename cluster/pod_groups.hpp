#pragma once

#include "kube/objects.hpp"
#include "kube/pod_group.hpp"
#include "kube/reflector.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tangram::cluster {

/// Is the pod placed in attempts of a whole PodGroup of Kubernetes?
[[nodiscard]] inline bool is_in_pod_group(const kube::Pod& pod) {
  return pod.group.kind == kube::GroupOfPod::Kind::kPodGroup;
}
/// One key for all members of a group, whatever kind it is of. @returns empty if it has none
[[nodiscard]] std::string group_key(const kube::Pod& pod);

/// The PodGroups of the cluster, as the watch shows them. Of one that cannot be read nothing is
/// known, and of those past kMost: reservations of their members end by time alone.
/// Threads: written by one reflector's thread, read from any.
class PodGroups final : public kube::ObjectSink {
 public:
  /// They take about 40 MiB. Kubernetes is built for 150,000 pods.
  static constexpr std::size_t kMost = 100'000;

  /// @param refused  called on the reflector's thread with the group_key() of a group whenever
  ///                 kube-scheduler says anew that its last attempt to place it has failed. It
  ///                 says nothing if an attempt fails for the same reason as the one before
  explicit PodGroups(std::function<void(const std::string& key)> refused)
      : refused_(std::move(refused)) {}

  void begin_list() override { listed_.clear(); }
  void listed(std::string_view object) override;
  void unlisted(std::string_view object) override;
  void end_list() override;
  void change(kube::EventType type, std::string_view object) override;
  [[nodiscard]] std::size_t kept_bytes() const override;

  /// So many members of the group run, or none; 0 = each for itself.
  /// @returns nothing if the group is not known
  [[nodiscard]] std::optional<int> min_count(std::string_view key) const;
  [[nodiscard]] std::size_t size() const;

 private:
  struct Group {
    int min_count = 0;
    std::uint64_t refusal = 0;
  };
  using Groups = std::map<std::string, Group, std::less<>>;  ///< by group_key()

  const std::function<void(const std::string& key)> refused_;
  Groups listed_;  ///< of the list that is being read, on the reflector's thread
  mutable std::mutex mutex_;
  Groups groups_;  ///< under mutex_
};

}  // namespace tangram::cluster
