#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "cluster/disruption_budgets.hpp"
#include "cluster/moves.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/move_budget.hpp"
#include "extender/move_chooser.hpp"
#include "extender/move_proof.hpp"
#include "extender/relocation.hpp"
#include "extender/request_plans.hpp"
#include "extender/requested_moves.hpp"
#include "extender/scheduling/denials.hpp"
#include "extender/scheduling/move_places.hpp"
#include "extender/scheduling/promises.hpp"
#include "kube/api.hpp"

#include <prometheus/collectable.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

struct DefragmenterSettings {
  // Of moves without a request:
  bool enabled = false;
  int moves_per_hour = 10;
  /// Hours of the day in UTC in which moves begin: from <= hour < until, over midnight if until is
  /// less than from.
  int from_hour = 0;
  int until_hour = 24;
  /// What the waiting pod gets of a card, beside what moves for it.
  int min_gain_percent = 100;
  std::chrono::seconds waited{60};  ///< by a pod before others move for it

  std::string requests_ns = {};  ///< as RequestedMovesSettings::ns
  std::chrono::milliseconds api_timeout{4'000};
};

/// What came of one move.
enum class MoveOutcome {
  kMoved,    ///< the pod is gone, and the next one of its controller has a node
  kRefused,  ///< the API server would not let it go, or it may not move any more: it stays
  kFailed,   ///< a write failed: it stays, as far as is known
  kStalled   ///< it is gone, and its controller's next pod has no node in time
};
inline constexpr std::size_t kMoveOutcomes = 4;
[[nodiscard]] std::string_view to_string(MoveOutcome outcome);

/// What came of one plan.
enum class PlanOutcome {
  kCarriedOut,  ///< the waiting pod has its node
  kStopped,     ///< the cluster is not as it was planned any more
  kNone         ///< there was no plan that is worth it
};
inline constexpr std::size_t kPlanOutcomes = 3;
[[nodiscard]] std::string_view to_string(PlanOutcome outcome);

/// Moves pods so that a waiting one fits, where no eviction for its priority helps.
///
/// kube-scheduler says of a pod that it fits nowhere. After DefragmenterSettings::waited,
/// cluster::plan_moves() says which few pods have to leave a node for it, and where each of them
/// goes. Only pods of the same or a lower priority move for it. What it needs for this one pod is
/// carried out:
///
///  1. Pods, nodes and what stands on them are read at the API server, and each eviction is tried
///     as a dry run. If anything speaks against a move, no pod is evicted.
///  2. The places of all next pods are reserved (MovePlaces), and the room that they leave is
///     promised to the waiting pod, which is nominated to the node.
///  3. The pods are evicted one after the other: the next one when the one before is gone and its
///     controller's next pod has a node. Before each, all is read and proved again.
///
/// If anything is not as planned any more, no further pod is evicted: the next plan begins with the
/// cluster as it is. Nobody moves while a watch is interrupted or budgets are not known.
///
/// An operator's request (RequestedMoves) is carried out in the same way, whatever the settings
/// say of moves without a request: the pods that it names move, and no others, for waiting
/// pods that it names. It ends at the first difference, unless only one of its waiting pods needs
/// no moves any more.
///
/// Threads: run() on its own; look() one at a time; Collect() from any.
class Defragmenter final : public prometheus::Collectable {
 public:
  /// Of one plan without a request. More than a handful take longer than a waiting pod has
  /// use for.
  static constexpr std::size_t kMostMoves = 10;
  /// Between plans, and after one that was stopped because something went wrong.
  static constexpr std::chrono::seconds kNextPlan{10};
  static constexpr std::chrono::seconds kAfterStop{300};
  /// A request that cannot be read anew for so long holds no more places.
  static constexpr std::chrono::seconds kUnconfirmed{60};
  /// A pod is gone, and no pod of its controller waits: so long until it counts as moved, though
  /// its place was not taken. Controllers make the next one within seconds, but for quotas and
  /// back-off.
  static constexpr std::chrono::seconds kElsewhere{60};
  /// An eviction without an answer: the pod that stands after that was not evicted.
  static constexpr std::chrono::seconds kUntilKnown{30};

  struct Parts {
    kube::KubeApi& api;  ///< all outlive it
    const Clock& clock;
    cluster::SharedLedger& ledger;
    const cluster::PodTable& pods;
    Promises& promises;
    const cluster::PolicySource& policies;
    Denials& denials;
    MovePlaces& places;
    Relocation& relocation;
    /// Null = not known.
    Required<std::function<std::shared_ptr<const cluster::BudgetList>()>> budgets;
    /// Do ledger and budgets follow the API server?
    Required<std::function<bool()>> following;
    /// May a write that takes so long be sent now? Only the leader writes.
    Required<std::function<bool(std::chrono::milliseconds)>> may_write;
    /// Reports to people about a pod; must not block.
    std::function<void(const cluster::PodName&, std::string_view reason,
                       const std::string& sentence)>
        report;
  };
  Defragmenter(DefragmenterSettings settings, Parts parts);

  /// Plans, or goes on with a plan, by one eviction at most. Blocks for as long as that takes.
  void look();
  /// Looks again and again.
  void run(const std::stop_token& stop);
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  /// A move that has begun.
  struct Leaving {
    TimePoint since;
    bool doubtful = false;            ///< the eviction has had no answer
    std::optional<TimePoint> gone{};  ///< since when
  };
  struct Run : ChosenMoves {
    std::uint64_t request = 0;  ///< RequestedMoves::serial(); 0 = without a request
    std::size_t done = 0;
    std::size_t evicted = 0;
    std::optional<Leaving> leaving{};
    bool nominated = false;  ///< the pod, to the node, as far as is known
    bool ended = false;      ///< no more moves begin; the one that has begun is watched to its end
    bool is_read = true;     ///< just now, and nothing speaks against the next move
    TimePoint ready{};       ///< since when the next move could begin
  };

  void step_down();
  /// @param kept  no place that is reserved was lost. @returns "" if there is none
  [[nodiscard]] std::string reason_to_stop(bool kept) const;
  void end_request_in_time();
  void end_request(const std::string& why);
  void plan();
  void plan_request();
  void start(Run run);
  [[nodiscard]] MoveObstacle rehearse(const Run& run);
  [[nodiscard]] MoveObstacle move_obstacle(const cluster::Move& move);
  void refused(const cluster::Move& move);
  [[nodiscard]] MoveObstacle next_obstacle(Run& run);
  void give_up(const Run& run, const MoveObstacle& obstacle);
  [[nodiscard]] MoveObstacle nominate(const kube::Pod& pod, const std::string& node) const;

  void go_on();
  [[nodiscard]] MoveObstacle reason_to_end(const Run& run) const;
  void finish();
  void watch(Run& run);
  bool look_at_leaving(Run& run);
  void begin_next(Run& run);
  /// @returns nothing if the plan is stopped by the answer
  [[nodiscard]] std::optional<Leaving> evict(Run& run);
  [[nodiscard]] static bool has_moves_left(const Run& run) {
    return run.done + (run.leaving ? 1 : 0) < run.moves.size();
  }
  void clear_nominations();
  void moved(Run& run);
  void count_evicted(Run& run);
  /// Ends the run, and the request that it is of.
  void stop(const std::string& why, std::chrono::seconds pause);
  /// Of a request, other pods may wait still if only this one does not.
  void stop(const MoveObstacle& obstacle);
  /// Ends the run alone.
  void drop(const std::string& why, std::chrono::seconds pause);
  void count(MoveOutcome outcome) { ++moves_.at(static_cast<std::size_t>(outcome)); }
  void count(PlanOutcome outcome) { ++plans_.at(static_cast<std::size_t>(outcome)); }

  const DefragmenterSettings settings_;
  const Parts parts_;
  MoveChooser chooser_;
  RequestedMoves requests_;
  RequestPlans request_plans_;
  const MoveProof proof_;
  MoveBudget budget_;
  std::optional<Run> run_;
  std::map<std::string, std::string, std::less<>> in_vain_;  ///< nominations to clear: node by UID
  TimePoint next_plan_{};
  std::array<std::atomic<std::uint64_t>, kMoveOutcomes> moves_{};
  std::array<std::atomic<std::uint64_t>, kPlanOutcomes> plans_{};
};

}  // namespace tangram::extender
