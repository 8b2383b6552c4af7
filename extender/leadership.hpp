#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "base/result.hpp"
#include "config/config.hpp"
#include "extender/role_label.hpp"
#include "extender/takeover.hpp"
#include "kube/api.hpp"
#include "kube/leader_election.hpp"
#include "kube/reflector.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace tangram::extender {

/// This replica among the others.
struct Replica {
  std::string ns = "tangram-system";  ///< of the Lease and of the pod
  std::string pod;                    ///< the pod's own name; empty = not in a pod: no role label
  std::string identity;               ///< unlike any other replica's, also that of an earlier life
};

/// Whether this replica may bind pods.
///
///     kFollower --lease--> kTakingOver ------all binds are seen------> kLeader
///         ^                     |                                         |
///         '---------------------'-------- lease lost, or stopped ---------'
///
/// A new leader decides nothing before it knows all binds of the leader before: see Takeover. Then
/// it gets the label by which the Service finds it: see RoleLabel. Threads: its own two; the public
/// calls are safe from any.
class Leadership {
 public:
  enum class Role { kFollower, kTakingOver, kLeader };

  struct Parts {
    kube::KubeApi& api;
    const Clock& clock;
    kube::Reflector& nodes;  ///< which keep the ledger in step
    kube::Reflector& pods;
    /// Waits until nothing that was begun as the leader is under way; called before the Lease is
    /// given back. @returns false if a bind may still take effect; then the Lease is left to expire
    Required<std::function<bool()>> finish;
    std::function<double()> random;  ///< 0 <= x < 1
  };

  /// @returns kInvalidArgument if the settings contradict client-go's rules
  static Result<std::unique_ptr<Leadership>> create(const config::Config::LeaderElection& settings,
                                                    Replica replica, Parts parts);
  ~Leadership();
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  /// Begins to take part.
  void start();
  /// Gives the Lease back, after finish(), and the label. Blocks; safe to repeat.
  void stop();

  [[nodiscard]] Role role();
  /// Counts how often this replica took over.
  [[nodiscard]] std::uint64_t term() const { return term_; }
  /// Whether the lease outlives a write that begins now and takes that long.
  [[nodiscard]] bool may_write(std::chrono::milliseconds takes);
  [[nodiscard]] kube::LeaderElector::Status status() const { return elector_->status(); }

 private:
  Leadership(Replica replica, Parts parts, std::chrono::milliseconds renew_deadline);

  void take_over();
  void keep_label(const std::stop_token& stop);

  const Replica replica_;
  const Parts parts_;
  RoleLabel label_;  ///< of the labelling thread
  Takeover takeover_;
  std::unique_ptr<kube::LeaderElector> elector_;
  std::atomic<std::uint64_t> term_{0};
  std::jthread election_;
  std::jthread labelling_;
};

}  // namespace tangram::extender
