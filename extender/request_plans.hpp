#pragma once

#include "base/clock.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/move_chooser.hpp"
#include "extender/requested_moves.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace tangram::extender {

/// Chooses what to do next for an operator's request, and ends it when it is done, or when no moves
/// help its waiting pods any more. Threads: one at a time.
class RequestPlans {
 public:
  /// Between plans; doubling, because each reads all nodes.
  static constexpr std::chrono::seconds kNextPlan{2};
  static constexpr std::chrono::seconds kMostNextPlan{10};
  /// A request ends if its pods find no moves for so long: reservations of pods that are being
  /// placed last for seconds, and kube-scheduler has asked about all pods by then.
  static constexpr std::chrono::seconds kHelpless{30};

  struct Parts {
    const Clock& clock;  ///< all outlive it
    cluster::SharedLedger& ledger;
    const cluster::PodTable& pods;
    MoveChooser& chooser;
    RequestedMoves& requests;
  };
  explicit RequestPlans(const Parts& parts) : parts_(parts) {}

  struct Next {
    std::optional<ChosenMoves> moves = std::nullopt;
    /// Its pods wait for something else: moves without a request may go on.
    bool idle = false;
    bool helpless = false;  ///< the request was ended, because no moves help
  };
  /// To be called while there is a request.
  [[nodiscard]] Next next();
  /// Reports which waiting pods of the current request have nodes.
  /// @returns whether that ends it: none of them waits any more
  bool report();
  /// No plan for so long, kMostNextPlan at most.
  void pause(std::chrono::seconds time);

 private:
  [[nodiscard]] bool is_any_leaving(const cluster::MoveRequest& request) const;
  /// @returns whether that ends the request
  [[nodiscard]] bool found_none(const ChoiceOfMoves& found);
  void notice_new_request();
  /// Something may help again.
  void start_over();

  /// What is known of one request.
  struct Known {
    std::uint64_t serial = 0;  ///< RequestedMoves::serial()
    TimePoint next_plan{};
    std::chrono::seconds pause = kNextPlan;       ///< until the plan after that
    std::set<std::string, std::less<>> placed{};  ///< UIDs of waiting pods that had nodes
    std::optional<TimePoint> helpless_since{};
    std::set<std::string, std::less<>> helpless{};  ///< UIDs of waiting pods without a plan
    bool all_tried = false;
    bool cut_short = false;
  };

  const Parts parts_;
  Known known_;
};

}  // namespace tangram::extender
