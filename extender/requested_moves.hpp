#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "cluster/move_request.hpp"
#include "kube/api.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::extender {

struct RequestedMovesSettings {
  std::string ns;  ///< of the ConfigMap cluster::kMoveRequests; empty = no request is taken
  std::chrono::milliseconds api_timeout{4'000};
};

/// The moves that an operator requests, and what is reported about them. A request outlives the
/// leader that took it: the next one goes on with the pods that still stand.
/// Threads: one at a time.
class RequestedMoves {
 public:
  /// Between two reads of the ConfigMap: people wait for it.
  static constexpr std::chrono::milliseconds kInterval{2'000};

  struct Parts {
    kube::KubeApi& api;  ///< all outlive it
    const Clock& clock;
    /// May a write that takes so long be sent now? Only the leader writes.
    Required<std::function<bool(std::chrono::milliseconds)>> may_write;
  };
  RequestedMoves(RequestedMovesSettings settings, Parts parts);

  /// Reads the ConfigMap and reports progress, if it is time. Only for the leader.
  void look();
  /// This replica does not lead any more.
  void forget();

  /// The request to carry out. @returns null if there is none; valid until look(), end(), forget()
  [[nodiscard]] const cluster::MoveRequest* current() const {
    return current_ ? &*current_ : nullptr;
  }
  [[nodiscard]] bool is_current(std::string_view id) const {
    return current_ && current_->id == id;
  }
  [[nodiscard]] bool may_move(std::string_view uid) const;

  /// A pod of the request with that id was evicted, and its next one has a node.
  void moved(std::string_view id);
  /// So many waiting pods have room.
  void placed(std::size_t count);
  /// No more moves of the request begin.
  void end(cluster::MoveState state, const std::string& message);

 private:
  [[nodiscard]] std::optional<cluster::MoveRequests> read();
  void take(const cluster::MoveRequests& read);
  void write();

  const RequestedMovesSettings settings_;
  const Parts parts_;
  TimePoint next_look_{};
  std::string seen_;  ///< the request as written, for which `current_` was set
  std::optional<cluster::MoveRequest> current_;
  cluster::MoveProgress progress_;
  bool to_write_ = false;  ///< `progress_`
  std::string problem_;    ///< that was logged
};

}  // namespace tangram::extender
