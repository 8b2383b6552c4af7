#include "extender/scheduling/verbs.hpp"

#include "cluster/allocations.hpp"
#include "extender/scheduling/pod_view.hpp"
#include "extender/scheduling/preemption.hpp"
#include "model/placement.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace tangram::extender {

namespace {

constexpr std::string_view kSettling =
    "the room for this pod is being given to another one; trying again shows who gets it";
constexpr std::string_view kBoundElsewhere =
    "an earlier bind of this pod to a node that is not asked about may still take effect; try "
    "again";

}  // namespace

std::string Verbs::filter(std::string text) {
  if (const auto why = parts_.not_ready(); !why.empty()) return encode_filter_error(why);
  Body body(std::move(text));
  const auto args = decode_filter_args(body);
  if (!args) return encode_filter_error("filter request: " + args.error().message);
  const auto plan = parts_.policies.plan(args->pod);
  if (!plan) return encode_filter_error(plan.error().message);
  const Standing standing = stand(args->pod.uid);  // one: all nodes judged at one moment
  if (!standing.bound_for.empty()) return repeat_offer(*args, standing.bound_for);
  const NodeSet refused = parts_.offers.begin_filter(args->pod.uid);
  PodView cluster(*standing.cluster);
  fit_to_pod(cluster, args->pod, "", parts_.pods, parts_.policies);
  FilterResult result;
  {
    auto pass = plan->policies->cache.open(*plan->policy, plan->demand, *standing.cluster);
    // Something besides us refused a node to this pod. One name at a time shows which one it is,
    // whatever the scheduler's own scores prefer.
    const std::size_t short_list = refused.empty() ? settings_.short_list : 1;
    result = extender::filter(
        args->node_names, plan->demand, {cluster, order_},
        [&](const auto& node) { return pass.judge(node); }, refused, short_list);
  }
  if (!result.kept.empty() && plan->demand.gpu.asks_gpu()) {
    reserve(args->pod, *plan, *cluster.find(args->node_names[result.kept.front()]));
  }
  if (result.kept.empty() &&
      fits_without(standing.unconfirmed, args->node_names, plan->demand, cluster, *plan->policy)) {
    return try_again(args->pod.uid, kSettling);
  }
  remember_outcome(*args, result);
  return encode(*args, result);
}

Verbs::Standing Verbs::stand(const std::string& uid) {
  return parts_.ledger.apply([&](model::Ledger& ledger) {
    Standing standing;
    ledger.expire_reservations();
    ledger.release_reservation(uid);
    if (const auto* entry = ledger.find(uid)) standing.bound_for = entry->allocation->node;
    standing.unconfirmed = ledger.unconfirmed();
    standing.cluster = ledger.snapshot();
    return standing;
  });
}

/// The bind may still take effect, so no other node will do; sent again it does no harm.
std::string Verbs::repeat_offer(const FilterArgs& args, const std::string& node) const {
  const auto asked = std::find(args.node_names.begin(), args.node_names.end(), node);
  if (asked == args.node_names.end()) return try_again(args.pod.uid, kBoundElsewhere);
  parts_.pods.answered(args.pod.uid, cluster::Wait::kSettling);
  FilterResult only;
  only.kept.push_back(static_cast<std::uint32_t>(asked - args.node_names.begin()));
  return encode(args, only);
}

void Verbs::reserve(const kube::Pod& pod, const cluster::PodPlan& plan,
                    const model::NodeState& node) {
  if (settings_.hold_ttl == std::chrono::milliseconds{0}) return;
  const auto choice = plan.policy->choose(plan.demand, node);
  if (!choice) return;
  model::Allocation allocation = cluster::allocation_for(
      pod, node.name, plan.demand, model::grants_of(plan.demand.gpu, node, choice->placement));
  parts_.ledger.apply([&](model::Ledger& ledger) {
    // Refused if the node changed meanwhile: then nothing is reserved, and bind decides.
    return ledger.reserve(std::move(allocation), settings_.hold_ttl).has_value();
  });
}

std::string Verbs::try_again(std::string_view pod_uid, std::string_view why) const {
  parts_.pods.answered(pod_uid, cluster::Wait::kSettling);
  return encode_filter_error(why);
}

void Verbs::remember_outcome(const FilterArgs& args, const FilterResult& result) {
  if (result.kept.empty()) {
    if (result.nearest) parts_.pods.answered(args.pod.uid, cluster::wait_for(*result.nearest));
    return;
  }
  parts_.pods.answered(args.pod.uid, cluster::Wait::kOffered);
  parts_.offers.offered(args.pod.uid, args.node_names[result.kept.front()]);
}

std::string Verbs::prioritize(std::string text) const {
  Body body(std::move(text));
  const auto args = decode_filter_args(body);
  if (!args) {
    spdlog::warn("prioritize request: {}", args.error().message);
    return encode(std::vector<HostScore>{});
  }
  const auto plan = parts_.policies.plan(args->pod);
  if (!plan) return encode(std::vector<HostScore>{});
  std::string held_on;
  const cluster::ClusterPtr snapshot = parts_.ledger.apply([&](model::Ledger& ledger) {
    if (const auto* entry = ledger.find(args->pod.uid)) held_on = entry->allocation->node;
    return ledger.snapshot();
  });
  PodView cluster(*snapshot);
  fit_to_pod(cluster, args->pod, held_on, parts_.pods, parts_.policies);
  auto pass = plan->policies->cache.open(*plan->policy, plan->demand, *snapshot);
  return encode(extender::prioritize(
      args->node_names, cluster, [&](const auto& node) { return pass.judge(node); },
      parts_.offers.refused(args->pod.uid)));
}

std::string Verbs::preempt(std::string text) const {
  if (!parts_.not_ready().empty()) return encode_preempt_result({});
  Body body(std::move(text));
  const auto args = decode_preempt_args(body);
  if (!args) {
    spdlog::warn("preempt request: {}", args.error().message);
    return encode_preempt_result({});
  }
  const auto plan = parts_.policies.plan(args->pod);
  if (!plan) return encode_preempt_result({});
  model::Ledger::Uids unknown_outcomes;
  const cluster::ClusterPtr snapshot = parts_.ledger.apply([&](model::Ledger& ledger) {
    unknown_outcomes = ledger.unknown_outcomes();
    return ledger.snapshot();
  });
  PodView cluster(*snapshot);
  fit_to_pod(cluster, args->pod, "", parts_.pods, parts_.policies);
  const auto budgets = parts_.budgets();
  return encode_preempt_result(extender::preempt(args->nodes,
                                                 {.pod = args->pod,
                                                  .demand = plan->demand,
                                                  .policy = *plan->policy,
                                                  .spared = unknown_outcomes,
                                                  .budgets = budgets.get()},
                                                 cluster));
}

Verbs::BindReply Verbs::bind(std::string text) {
  if (const auto why = parts_.not_ready(); !why.empty()) {
    return {encode_bind_result(why), BindOutcome::kUnavailable};
  }
  Body body(std::move(text));
  const auto args = decode_bind_args(body);
  if (!args) {
    return {encode_bind_result("bind request: " + args.error().message), BindOutcome::kInvalid};
  }
  Binder::BindResult answer = parts_.binder.bind(*args);
  return {encode_bind_result(answer.error), answer.outcome};
}

}  // namespace tangram::extender
