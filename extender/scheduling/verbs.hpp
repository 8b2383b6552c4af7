#pragma once

#include "cluster/disruption_budgets.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/scheduling/binder.hpp"
#include "extender/scheduling/decide.hpp"
#include "extender/scheduling/offers.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
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
/// room for its pod on the node it ranks first, and the next filter does not offer that room. A
/// pod for which there would be room if reservations and binds under way came to nothing is
/// answered with an Error, which kube-scheduler tries again by time; after "does not fit", the pod
/// would wait for an event that may never come.
///
/// Threads: safe. bind blocks; the others only compute.
class Verbs {
 public:
  struct Parts {
    cluster::SharedLedger& ledger;
    const cluster::PolicySource& policies;
    Offers& offers;
    Binder& binder;
    cluster::PodTable& pods;  ///< also gets the outcome of each filter
    /// The disruption budgets; null while they are not known.
    Required<std::function<std::shared_ptr<const cluster::BudgetList>()>> budgets;
    /// Why no verb can be answered now, for another try later; empty = all is well.
    Required<std::function<std::string_view()>> not_ready;
  };
  struct Settings {
    std::size_t short_list = 8;  ///< 0 = all nodes that fit
    /// How long room is reserved for a pod between its filter and its bind; 0 = not at all.
    std::chrono::milliseconds hold_ttl{3'000};
  };
  Verbs(Parts parts, Settings settings) : parts_(std::move(parts)), settings_(settings) {}

  [[nodiscard]] std::string filter(std::string body);
  [[nodiscard]] std::string prioritize(std::string body) const;
  [[nodiscard]] std::string preempt(std::string body) const;

  struct BindReply {
    std::string body;
    BindOutcome outcome;
  };
  [[nodiscard]] BindReply bind(std::string body);

 private:
  /// What the ledger says of a pod when its filter begins.
  struct Standing {
    cluster::ClusterPtr cluster;  ///< without the pod's own reservation
    std::string bound_for;        ///< the node that a bind of it was sent for; empty = none
    std::vector<model::AllocationPtr> unconfirmed;  ///< of other pods; of the same moment
  };
  [[nodiscard]] Standing stand(const std::string& uid);
  [[nodiscard]] std::string repeat_offer(const FilterArgs& args, const std::string& node) const;
  void reserve(const kube::Pod& pod, const cluster::PodPlan& plan, const model::NodeState& node);
  /// The pod waits for something that passes by itself.
  [[nodiscard]] std::string try_again(std::string_view pod_uid, std::string_view why) const;
  void remember_outcome(const FilterArgs& args, const FilterResult& result);

  Parts parts_;
  Settings settings_;
  NodeOrder order_;
};

}  // namespace tangram::extender
