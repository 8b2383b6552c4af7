#pragma once

#include "base/result.hpp"
#include "model/grant.hpp"

#include <set>
#include <string>
#include <vector>

namespace tangram::node {

struct BindMount {
  std::string host_path;
  std::string container_path;
  bool read_only = false;
  friend bool operator==(const BindMount&, const BindMount&) = default;
};

/// What a container gets besides what its image and its pod say: the contents of its CDI device.
struct ContainerEdits {
  std::vector<std::string> env;  ///< "NAME=value"; wins over the pod's own
  std::vector<BindMount> mounts;
  friend bool operator==(const ContainerEdits&, const ContainerEdits&) = default;
};

/// What really holds the containers on a card to their shares.
struct Enforcement {
  bool memory = false;
  bool compute = false;
  std::string note;  ///< for people, where something is missing: "the MPS daemon does not answer"
  friend bool operator==(const Enforcement&, const Enforcement&) = default;
};

/// Keeps pods that share a card apart, in one mode. Threads: safe; calls on different cards do not
/// wait for each other.
class Enforcer {
 public:
  virtual ~Enforcer() = default;

  /// Makes a card ready for sharing in this mode. Idempotent, and cheap once it is; otherwise it
  /// may take some seconds (a daemon's start), never more than 20: kubelet waits 30 for a
  /// container's start to be prepared.
  /// @returns kUnavailable     not now: another try may succeed
  ///          kInvalidArgument  never on this card or machine, with what to do
  virtual Result<void> prepare(const std::string& card) = 0;

  /// What one container needs so as to be held to these shares, the cards in the order in which it
  /// sees them. Pure.
  /// @returns kInvalidArgument if the mode cannot hold them (MPS: shares of several cards)
  [[nodiscard]] virtual Result<ContainerEdits> edits(
      const std::vector<model::GrantedCard>& cards) const = 0;

  /// Cards that pods share in this mode now: all others are given back (daemons end, settings are
  /// undone). What a restarted agent finds running and is named here, it keeps.
  virtual void keep(const std::set<std::string>& cards) = 0;

  /// A pod is about to use the card in another mode, or alone: gives it back at once, if it was
  /// prepared. Nobody shares it in this mode any more.
  /// @returns kUnavailable if it cannot be given back now
  virtual Result<void> release(const std::string& card) = 0;

  /// Looks whether what prepare() set up still works, and mends it. Called every few seconds.
  virtual void look_after() = 0;

  /// Of a card that prepare() or keep() named.
  [[nodiscard]] virtual Enforcement enforcement(const std::string& card) const = 0;
};

}  // namespace tangram::node
