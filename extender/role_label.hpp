#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "kube/api.hpp"
#include "kube/objects.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tangram::extender {

/// Sets the label tangram.dev/role of a pod, if that is still as it was read.
/// @param role  empty = takes it off
[[nodiscard]] kube::Request set_role(const kube::Pod& pod, std::string_view role,
                                     std::chrono::milliseconds timeout);
/// May a write take effect later, though it did not succeed?
[[nodiscard]] bool may_come_late(const Result<kube::Response>& response);

/// The label tangram.dev/role: leader, by which the Service finds the leader's pod. Keeps it on
/// this replica's pod while that leads, and takes it off other pods, which may not be able to do so
/// themselves. It also takes off what Takeover has put there in its place.
///
/// A pod is changed only if it is still as it was read, and the role is asked for in between. So a
/// change that reaches the API server late, when the roles are others, has no effect.
/// Threads: one, except for look_again(). Calls block.
class RoleLabel {
 public:
  struct Parts {
    kube::KubeApi& api;
    const Clock& clock;
    std::string ns;   ///< of the replicas' pods
    std::string pod;  ///< this replica's
    Required<std::function<bool()>> leads;
  };
  explicit RoleLabel(Parts parts) : parts_(std::move(parts)) {}

  /// Somebody else may have changed the label of this replica's pod. From any thread.
  /// @param again  so may a write that has had no answer
  void look_again(bool again);

  /// Makes the labels what they should be. @returns how long to wait until the next look
  std::chrono::milliseconds step();
  /// Takes it off this replica's pod, which stops: one attempt.
  void take_off();

 private:
  enum class Outcome {
    kDone,
    kChanged,  ///< the pod, or the role: look again
    kUnknown,  ///< the write may take effect later
    kFailed
  };

  Outcome label_all(bool leads);
  Outcome label_own(bool leads, std::chrono::milliseconds timeout);
  Outcome unlabel_others();
  Outcome unlabel(const kube::Pod& pod);
  [[nodiscard]] std::optional<kube::Pod> read_own(std::chrono::milliseconds timeout);
  [[nodiscard]] Outcome judge(const Result<kube::Response>& response, const kube::Pod& pod) const;

  const Parts parts_;
  std::atomic<bool> stale_{false};       ///< what is known of the label
  std::atomic<bool> late_write_{false};  ///< is expected
  std::optional<bool> labelled_;  ///< nothing = not known: from an earlier life, or it has failed
  TimePoint looked_{};
  TimePoint unsure_until_ = TimePoint::min();  ///< a write without an answer may take effect
  std::string own_uid_;                        ///< as read first
  bool refused_ = false;  ///< the API server does not let us change other pods, and the log says so
};

}  // namespace tangram::extender
