#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/sleeper.hpp"
#include "cli/defrag/defrag.hpp"
#include "cli/screen.hpp"
#include "cluster/move_request.hpp"
#include "kube/api.hpp"

#include <chrono>
#include <functional>
#include <string>

/// `defrag --run`: the leading extender carries a plan out, and this waits for it.
namespace tangram::cli {

/// The plan as a request: its pods move, and no others.
/// @param now  the request is named by it: of two operators at once only one writes it
[[nodiscard]] cluster::MoveRequest move_request_of(const Defrag& plan, WallTime now,
                                                   std::chrono::seconds timeout);

struct MovesPlace {
  kube::KubeApi& api;
  std::string ns;  ///< of the extender
};

/// Writes the request.
/// @returns kInvalidArgument: it has too many pods;
///          kConflict: another request is under way, or was written at this moment; or forbidden;
///          kNotFound: the extender takes no requests;
///          kUnavailable: the API server rejects it, or does not answer
Result<void> request_moves(const MovesPlace& place, const cluster::MoveRequest& request,
                           WallTime now);

struct MovesWait {
  const Clock& clock;
  Sleeper sleep;
  /// Told whenever it is farther, until the end.
  std::function<void(const cluster::MoveProgress&)> report;
};
/// Waits until the request is over. One that no extender takes in time is withdrawn.
/// @returns its last progress;
///          kConflict     another request, or none, stands in its place
///          kUnavailable  no extender has taken it, or reports about it any more
Result<cluster::MoveProgress> await_moves(const MovesPlace& place,
                                          const cluster::MoveRequest& request,
                                          const MovesWait& wait);

/// "2 of 3 pods evicted; room for 1 of 2 waiting pods"
[[nodiscard]] std::string progress_text(const cluster::MoveRequest& request,
                                        const cluster::MoveProgress& progress);
[[nodiscard]] std::string draw_outcome(const Screen& screen, const cluster::MoveRequest& request,
                                       const cluster::MoveProgress& progress);

}  // namespace tangram::cli
