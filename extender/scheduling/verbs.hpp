#pragma once

#include "base/parallel_loops.hpp"
#include "cluster/disruption_budgets.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/scheduling/binder.hpp"
#include "extender/scheduling/decide.hpp"
#include "extender/scheduling/denials.hpp"
#include "extender/scheduling/group_reservations.hpp"
#include "extender/scheduling/make_way.hpp"
#include "extender/scheduling/move_places.hpp"
#include "extender/scheduling/offers.hpp"
#include "extender/scheduling/promises.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::extender {

/// One method per verb of the extender protocol: decode, take one snapshot, decide, encode.
///
/// Each takes the request's body and returns the body of a 200: a refusal travels in its Error
/// field, because kube-scheduler does not read the body of any other status. (prioritize has no
/// such field: its error is an empty list, which kube-scheduler takes as "no opinion".)
///
/// kube-scheduler filters the next pod while the last one's bind is on its way, so filter reserves
/// room for its pod on the node it ranks first, and the next filter does not offer that room,
/// unless its pod is more important and fits nowhere else. A pod for which there would be room if
/// reservations and binds under way came to nothing is answered with an Error, which
/// kube-scheduler tries again by time; after "does not fit", the pod would wait for an event that
/// may never come.
///
/// After an Error kube-scheduler forgets the pod's nomination, and others take the room that it
/// evicted pods for. So a nominated pod never gets one. It also gives up the attempt to place a
/// PodGroup, so no member gets one where only room is lacking.
///
/// Of members of PodGroups GroupReservations says more, and of pods that are made in the place of
/// evicted ones MovePlaces.
///
/// A filter searches for no longer than Settings::search_steps: one pod of many containers must not
/// keep kube-scheduler from all others. The best node that was tried is the answer. If none of them
/// fits and not all were tried, that is an Error as well; the next try goes on from there, because
/// what was found of a node is remembered.
///
/// Threads: safe. bind blocks; the others only compute.
class Verbs {
 public:
  struct Parts {
    cluster::SharedLedger& ledger;
    const cluster::PolicySource& policies;
    Offers& offers;
    Binder& binder;
    Promises& promises;
    Denials& denials;
    GroupReservations& groups;
    MovePlaces& move_places;
    cluster::PodTable& pods;  ///< also gets the outcome of each filter
    /// The disruption budgets; null while they are not known.
    Required<std::function<std::shared_ptr<const cluster::BudgetList>()>> budgets;
    /// Why no verb can be answered now, for another try later; empty = all is well.
    Required<std::function<std::string_view()>> not_ready;
    const Clock& clock;
    /// Do the watches of nodes and pods go on? While they do not, room may be free that the ledger
    /// does not show.
    Required<std::function<bool()>> following;
  };
  struct Settings {
    std::size_t short_list = 1;  ///< 0 = all nodes that fit
    /// How long room is reserved for a pod between its filter and its bind; 0 = not at all.
    std::chrono::milliseconds hold_ttl{3'000};
    /// The same for a pod whose volumes, or others of its group, may delay its bind; at least
    /// hold_ttl.
    std::chrono::milliseconds long_hold_ttl{120'000};
    /// How long one filter may search for cards of a pod of several containers, on all nodes
    /// together: about 10 ms. The nodes of a cluster of 5,000 are all tried at once for pods that
    /// fit, up to four containers and eight cards.
    std::int64_t search_steps = 200'000;
    /// Threads of its own that help with a filter that scores more than some hundred nodes anew.
    std::size_t filter_helpers = 0;
  };
  Verbs(Parts parts, Settings settings)
      : parts_(std::move(parts)), settings_(settings), filter_threads_(settings.filter_helpers) {}

  [[nodiscard]] std::string filter(std::string body);
  [[nodiscard]] std::string prioritize(std::string body) const;
  [[nodiscard]] std::string preempt(std::string body);

  struct BindReply {
    std::string body;
    BindOutcome outcome;
  };
  /// @param deadline  when kube-scheduler stops waiting
  [[nodiscard]] BindReply bind(std::string body, TimePoint deadline);

 private:
  /// What the ledger says of a pod when its filter begins.
  struct Standing {
    cluster::ClusterPtr cluster;  ///< without the pod's own reservation
    std::string bound_for;        ///< the node that a bind of it was sent for; empty = none
    std::vector<model::AllocationPtr> unconfirmed;  ///< of other pods; of the same moment
  };
  [[nodiscard]] Standing stand(const std::string& uid);
  [[nodiscard]] std::string repeat_offer(const FilterArgs& args, const std::string& node) const;
  [[nodiscard]] std::chrono::milliseconds hold_for(const kube::Pod& pod) const;
  [[nodiscard]] FilterResult judge_nodes(const FilterArgs& args, const cluster::PodPlan& plan,
                                         const PodView& cluster, const NodeSet& refused,
                                         std::size_t short_list, model::SearchBudget& budget);
  [[nodiscard]] std::string_view why_again(const FilterArgs& args, const cluster::PodPlan& plan,
                                           const Standing& standing, const PodView& cluster,
                                           const FilterResult& result,
                                           model::SearchBudget& budget) const;
  /// Where no node has room: the place that is reserved for the pod, or one where reservations make
  /// way for it.
  [[nodiscard]] std::optional<FilterResult> take_room(
      const FilterArgs& args, const cluster::PodPlan& plan, const Standing& standing,
      const PodView& cluster, const NodeSet& refused, model::SearchBudget& budget);
  /// The answer to a pod for which a place is reserved, and which may come to its node.
  [[nodiscard]] std::optional<FilterResult> offer_reserved(const FilterArgs& args,
                                                           const cluster::PodPlan& plan) const;
  /// @param node  null only for a pod that asks for no card: nothing is reserved for it
  void reserve(const kube::Pod& pod, const cluster::PodPlan& plan, const model::NodeState* node,
               const model::Ledger::Uids& displaced = {});
  /// The pod waits for something that passes by itself.
  [[nodiscard]] std::string try_again(const FilterArgs& args, std::string_view why) const;
  /// Makes kube-scheduler try again by time; a nominated pod, by an event that the waker makes.
  [[nodiscard]] std::string deny_for_now(const FilterArgs& args, std::string_view why) const;
  void wait_for_doubtful(const PreemptArgs& args, const model::Ledger::Uids& in_doubt,
                         const PodView& cluster);
  /// Is it better to wait than to evict more pods?
  [[nodiscard]] bool gets_room_soon(const kube::Pod& pod, const cluster::PodPlan& plan,
                                    const PodView& cluster) const;
  // Of members of PodGroups.
  [[nodiscard]] std::string filter_member(const FilterArgs& args,
                                          const Result<cluster::PodPlan>& plan);
  [[nodiscard]] bool reserve_for_member(const kube::Pod& pod, const cluster::PodPlan& plan,
                                        const DisplacementOn& room, bool in_doubt);
  std::string refuse_member(const FilterArgs& args, cluster::Wait wait, std::string answer);
  void remember_outcome(const FilterArgs& args, const FilterResult& result,
                        const model::ClusterSnapshot& cluster, bool first_offer);

  Parts parts_;
  Settings settings_;
  ParallelLoops filter_threads_;
};

}  // namespace tangram::extender
