#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "cluster/move_request.hpp"
#include "kube/api.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
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
  /// For clocks that differ: a request may end so much later than MoveRequest::kLongest.
  static constexpr std::chrono::minutes kSlack{5};
  /// After the end of a request's time, a report that cannot be written is given up.
  static constexpr std::chrono::seconds kReportFor{60};

  struct Parts {
    kube::KubeApi& api;  ///< all outlive it
    const Clock& clock;
    /// May a write that takes so long be sent now? Only the leader writes.
    Required<std::function<bool(std::chrono::milliseconds)>> may_write;
  };
  RequestedMoves(RequestedMovesSettings settings, Parts parts);

  /// Reads the ConfigMap and reports progress, if it is time. Only for the leader.
  void look();
  /// Reads it at once. @returns true if the request stands as it did, and its time is not over
  [[nodiscard]] bool confirm();
  /// Is the time of the current request over? Whoever carries it out ends it then.
  [[nodiscard]] bool is_over() const { return current_ && parts_.clock.wall() >= current_->until; }
  /// This replica does not lead any more.
  void forget();

  /// The request to carry out, once it is reported that this leader has taken it.
  /// @returns null if there is none; valid until look(), confirm(), end() and forget()
  [[nodiscard]] const cluster::MoveRequest* current() const {
    return current_ && is_reported_ ? &*current_ : nullptr;
  }
  /// Another one for each request that was taken, also for one with the id of the last; never 0.
  [[nodiscard]] std::uint64_t serial() const { return serial_; }
  [[nodiscard]] bool is_current(std::uint64_t serial) const {
    return current() != nullptr && serial == serial_;
  }

  /// A pod was evicted for the request of that serial number.
  void evicted(std::uint64_t serial);
  /// So many waiting pods have nodes; what was reported before does not get less.
  void placed(std::size_t count);
  [[nodiscard]] std::size_t placed() const { return progress_.placed; }
  /// Why nothing moves for now.
  void hindered(const std::string& why);
  [[nodiscard]] const std::string& hindrance() const { return progress_.message; }
  /// No more moves of the request begin.
  void end(cluster::MoveState state, const std::string& message);

 private:
  [[nodiscard]] std::optional<cluster::MoveRequests> read();
  void take(const cluster::MoveRequests& read);
  void take(cluster::MoveRequest request, const std::optional<cluster::MoveProgress>& before);
  void report();
  void complain(std::string& last, const std::string& problem) const;

  const RequestedMovesSettings settings_;
  const Parts parts_;
  TimePoint next_look_{};
  std::string seen_;  ///< the request as written, for which `current_` was set
  std::optional<cluster::MoveRequest> current_;
  std::uint64_t serial_ = 0;
  cluster::MoveProgress progress_;  ///< of the last request
  bool to_report_ = false;          ///< `progress_`
  bool is_reported_ = false;        ///< that the request was taken
  WallTime report_until_{};
  std::string read_problem_;    ///< that was logged
  std::string report_problem_;  ///< the same
};

}  // namespace tangram::extender
