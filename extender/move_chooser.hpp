#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "cluster/disruption_budgets.hpp"
#include "cluster/move_request.hpp"
#include "cluster/moves.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/movable_pods.hpp"
#include "extender/scheduling/denials.hpp"
#include "extender/scheduling/move_places.hpp"
#include "extender/scheduling/promises.hpp"
#include "kube/api.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

/// One waiting pod, and what has to move for it, all from one node.
struct ChosenMoves {
  cluster::WantedPod wanted;
  std::string node;
  std::vector<cluster::Move> moves;
  std::vector<MovePlace> places;  ///< of the moves
};

/// What came of a look for moves.
enum class Choice {
  kNobody,  ///< no pod waits that others could move for now, or not enough is known to say so
  kLater,   ///< another look may find more: a pod may get room without moves, or nodes were not
            ///< asked
  kNone,    ///< no moves help, or they are not worth it
  kMoves
};
struct ChoiceOfMoves {
  Choice choice = Choice::kNobody;
  std::optional<ChosenMoves> moves = std::nullopt;  ///< of kMoves
  bool cut_short = false;                           ///< of kNone: as MovePlan::cut_short
  std::vector<std::string> tried = {};              ///< of kNone: UIDs of waiting pods
};

/// Chooses for which of the waiting pods others move, and which ones: a plan of
/// cluster::plan_moves() for the pods that kube-scheduler has found no node for. Remembers since
/// when pods wait, and what spoke against a move, so that the next plan is another one. Changes
/// nothing in the cluster. Threads: one at a time.
class MoveChooser {
 public:
  /// Pods of one priority that are planned for at once, those first that wait for longest.
  static constexpr std::size_t kMostWanted = 64;
  /// A pod for which there was no plan, and others of its priority and below, get their turn: it is
  /// planned for again after that, doubling.
  static constexpr std::chrono::seconds kAfterNone{60};
  static constexpr std::chrono::seconds kMostAfterNone{600};
  /// After an answer of that age kube-scheduler is asked to try the pod again first: the nodes that
  /// it asked about may have changed since.
  static constexpr std::chrono::seconds kFresh{120};
  /// For a pod or node that spoke against a move.
  static constexpr std::chrono::seconds kSpared{600};

  struct Parts {
    kube::KubeApi& api;  ///< all outlive it
    const Clock& clock;
    cluster::SharedLedger& ledger;
    const cluster::PodTable& pods;
    Promises& promises;
    const cluster::PolicySource& policies;
    Denials& denials;
    /// Null = not known.
    Required<std::function<std::shared_ptr<const cluster::BudgetList>()>> budgets;
    std::chrono::milliseconds api_timeout{4'000};
  };
  explicit MoveChooser(Parts parts);

  /// Takes notice of who waits. Before each choice.
  void follow();
  /// This replica does not lead any more: pods wait anew.
  void forget();
  /// Nothing that was found speaks against a move any more.
  void forget_obstacles();

  struct Question {
    std::size_t most = 0;  ///< moves
    /// What a waiting pod gets of cards, beside what moves for it.
    int min_gain_percent = 0;
    std::chrono::seconds waited{};  ///< by the pod, before others move for it
    /// Only its pods move, for its waiting pods, however long these have waited. Null = any.
    const cluster::MoveRequest* request = nullptr;
    /// UIDs of waiting pods of the request that are left out, so that others get their turn.
    std::set<std::string, std::less<>> left_out = {};
  };
  [[nodiscard]] ChoiceOfMoves choose(const Question& question);

  /// What speaks against the waiting pod's node, read at this moment. Definite ones are remembered.
  [[nodiscard]] MoveObstacle arrival_obstacle(const ChosenMoves& chosen);
  /// The same of the place of a pod that is to move.
  [[nodiscard]] MoveObstacle move_obstacle(const cluster::Move& move);
  /// It is not to move for a while, nor, if that is the reason, any pod to its node.
  void spare(const cluster::Move& move, bool node);
  /// It gets its turn again later.
  void put_off(const kube::Pod& waiting, std::chrono::seconds at_least = {});

 private:
  /// A pod that kube-scheduler has an answer about.
  struct Waiting {
    TimePoint since;
    TimePoint next_try{};
    std::chrono::seconds backoff{};
  };
  /// What a plan is made of.
  struct Moment {
    cluster::ClusterPtr cluster;
    model::Ledger::Uids in_doubt;
    cluster::BudgetList budgets;
    std::set<std::string, std::less<>> closed;  ///< nodes
    std::vector<cluster::WantedPod> wanted;
    std::map<std::string_view, DenialPtr> denials;     ///< of these, by UID
    std::optional<std::set<std::string_view>> movers;  ///< UIDs; nothing = any
  };

  /// Of pods that others may move for now, of one priority.
  [[nodiscard]] std::vector<DenialPtr> due(const Question& question) const;
  [[nodiscard]] bool may_wait_for_moves(const Denial& denial) const;
  [[nodiscard]] bool is_due(const Denial& denial, const Question& question) const;
  [[nodiscard]] std::optional<Moment> moment(const Question& question);
  [[nodiscard]] cluster::MovePlan plan(const Moment& now, std::size_t most);
  [[nodiscard]] bool may_leave(const Moment& now, const model::Allocation& pod) const;
  [[nodiscard]] bool takes(const Moment& now, const kube::Pod& pod,
                           const model::NodeState& node) const;
  /// @returns nothing if the first arrival is not worth it
  [[nodiscard]] std::optional<ChosenMoves> first_of(const Moment& now, cluster::MovePlan plan,
                                                    int min_gain_percent);
  [[nodiscard]] bool is_fresh(const Denial& denial);

  const Parts parts_;
  MovablePods movable_;
  std::map<std::string, Waiting, std::less<>> waiting_;   ///< by pod UID
  std::map<std::string, TimePoint, std::less<>> spared_;  ///< pods by UID, until when
  std::map<std::string, TimePoint, std::less<>> closed_;  ///< nodes, until when
};

}  // namespace tangram::extender
