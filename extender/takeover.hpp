#pragma once

#include "base/clock.hpp"
#include "kube/api.hpp"
#include "kube/reflector.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace tangram::extender {

/// Makes sure that a new leader knows every bind of the one before: what its watch has shown may be
/// older.
///
/// It writes a mark: a new value of the label tangram.dev/role of its own pod, which the watch of
/// pods shows like every other change of a pod. The API server reports changes of one kind of
/// object in the order of their versions (kubernetes.io/docs/reference/using-api/api-concepts,
/// "Resource versions"), so a watch that has shown the mark has shown all binds before it, however
/// large the cluster is. Nodes need none: what a leader knows of them may always be some
/// milliseconds old, and no bind changes them.
///
/// Where there is no pod to mark, where a watch is interrupted, or if the mark does not show in
/// time, nodes and pods are listed anew.
///
/// Threads: begin() on one at a time, the rest from any.
class Takeover {
 public:
  /// Usually it takes milliseconds.
  static constexpr std::chrono::milliseconds kLongest{2'000};

  struct Parts {
    kube::KubeApi& api;
    const Clock& clock;
    kube::Reflector& nodes;
    kube::Reflector& pods;
    std::string ns;   ///< of the pod
    std::string pod;  ///< this replica's own; empty = not in a pod
    /// Of the writes of the mark together, and then of the wait for it.
    std::chrono::milliseconds limit = kLongest;
  };
  explicit Takeover(Parts parts) : parts_(std::move(parts)) {}

  /// To be called once the Lease is held. Blocks for Parts::limit at most.
  /// @returns false if a mark has had no answer, so it may be written late
  bool begin();
  /// To be called once the Lease is lost.
  void end();
  /// Are all binds of the leader before in the ledger? No between end() and begin().
  bool done();

 private:
  /// Lists that began after the Lease was acquired.
  struct Tickets {
    std::uint64_t nodes = 0;
    std::uint64_t pods = 0;
  };

  [[nodiscard]] Tickets list_anew();
  struct Mark {
    std::optional<std::string> version{};  ///< nothing = there is none, or it proves nothing
    bool answered = true;
  };
  [[nodiscard]] Mark mark();
  [[nodiscard]] Result<kube::Response> write_mark(TimePoint until);
  [[nodiscard]] std::chrono::milliseconds left(TimePoint until) const;

  const Parts parts_;
  std::mutex mutex_;
  // Under mutex_.
  bool begun_ = false;
  bool done_ = false;
  std::string mark_;                ///< its version
  TimePoint until_{};               ///< when it should have been seen
  std::optional<Tickets> tickets_;  ///< nothing = it is the mark that is waited for
};

}  // namespace tangram::extender
