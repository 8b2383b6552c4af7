#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "base/result.hpp"
#include "config/config.hpp"
#include "kube/api.hpp"
#include "kube/leader_election.hpp"
#include "kube/reflector.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace tangram::extender {

/// This replica among the others.
struct Replica {
  std::string ns = "tangram-system";  ///< of the Lease and of the pod
  std::string pod;                    ///< the pod's own name; empty = not in a pod: no role label
  std::string identity;               ///< unlike any other replica's, also that of an earlier life
};

/// Whether this replica may bind pods.
///
///     kFollower --lease--> kTakingOver ---------listed anew---------> kLeader
///         ^                     |                                        |
///         '---------------------'-------- lease lost, or stopped --------'
///
/// A new leader reads the cluster again, from the API server's latest, before it decides anything:
/// what its watch shows may be older than the last bind of the leader before. Then it puts the
/// label tangram.dev/role: leader on its pod, by which the Service finds it, and takes it off the
/// other pods, which may not be able to do so themselves.
/// Threads: its own two; the public calls are safe from any.
class Leadership {
 public:
  enum class Role { kFollower, kTakingOver, kLeader };

  struct Parts {
    kube::KubeApi& api;
    const Clock& clock;
    /// Read again by a new leader.
    kube::Reflector& nodes;
    kube::Reflector& pods;
    /// Waits until nothing that was begun as the leader is under way; called before the Lease is
    /// given back.
    Required<std::function<void()>> finish;
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

  [[nodiscard]] Role role() const;
  /// Counts how often this replica took over.
  [[nodiscard]] std::uint64_t term() const { return nodes_ticket_; }
  /// Whether the lease outlives a write that begins now and takes that long.
  [[nodiscard]] bool may_write(std::chrono::milliseconds takes) const;
  [[nodiscard]] kube::LeaderElector::Status status() const { return elector_->status(); }

 private:
  Leadership(Replica replica, Parts parts)
      : replica_(std::move(replica)), parts_(std::move(parts)) {}

  void take_over();
  [[nodiscard]] bool listed_anew() const;
  void keep_label(const std::stop_token& stop);
  bool label_self(bool leader);
  bool unlabel_others();
  Result<void> label(const std::string& pod, bool leader);

  const Replica replica_;
  const Parts parts_;
  std::unique_ptr<kube::LeaderElector> elector_;
  std::atomic<bool> leading_{false};
  std::atomic<std::uint64_t> nodes_ticket_{0};
  std::atomic<std::uint64_t> pods_ticket_{0};
  std::jthread election_;
  std::jthread labelling_;
};

}  // namespace tangram::extender
