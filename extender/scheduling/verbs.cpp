#include "extender/scheduling/verbs.hpp"

#include "cluster/allocations.hpp"
#include "extender/scheduling/make_way.hpp"
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
constexpr std::string_view kInvalid =
    "annotations of the pod are not valid; its event RequestInvalid says what to write";

constexpr std::string_view kGroupLacksRoom =
    "there is no room for enough members of its pod group at the same time";
constexpr std::string_view kUnfinished =
    "the containers of this pod can be placed in too many ways to try all nodes at once; trying "
    "again goes on with those that are left";
constexpr std::string_view kBehind =
    "the watch of the cluster is interrupted, so room may be free that is not known yet; try again";
/// Of one preempt, in steps: up to 50 ms. kube-scheduler waits for it only where pods are to be
/// evicted.
constexpr std::int64_t kPreemptSteps = 1'000'000;

/// Between filter and bind, where no reservation says how long that may take.
constexpr std::chrono::milliseconds kLeastTimeToBind{3'000};

/// No eviction on any node helps.
std::string refuse_all(const FilterArgs& args, std::string_view why) {
  FilterResult none;
  for (const std::string_view name : args.node_names) {
    auto& list = name == args.pod.nominated_node ? none.failed : none.unresolvable;
    list.push_back({name, why});
  }
  return encode(args, none);
}

/// The pod may fit a node later, whatever the reason.
std::string fail_all(const FilterArgs& args, std::string_view why) {
  FilterResult none;
  for (const std::string_view name : args.node_names) none.failed.push_back({name, why});
  return encode(args, none);
}

}  // namespace

std::string Verbs::filter(std::string text) {
  Body body(std::move(text));
  const auto args = decode_filter_args(body);
  const std::string_view not_ready = parts_.not_ready();
  if (!not_ready.empty()) {
    return args ? deny_for_now(*args, not_ready) : encode_filter_error(not_ready);
  }
  if (!args) return encode_filter_error("filter request: " + args.error().message);
  const auto plan = parts_.policies.plan(args->pod);
  if (cluster::is_in_pod_group(args->pod)) return filter_member(*args, plan);
  // Only a change of the pod helps, and kube-scheduler tries it again after that. After an Error it
  // would try it every second.
  if (!plan) return refuse_all(*args, kInvalid);
  const Standing standing = stand(args->pod.uid);  // one: all nodes judged at one moment
  if (!standing.bound_for.empty()) return repeat_offer(*args, standing.bound_for);
  const NodeSet refused = parts_.offers.begin_filter(args->pod.uid);
  if (const auto place = refused.empty() ? offer_reserved(*args, *plan) : std::nullopt) {
    remember_outcome(*args, *place, *standing.cluster, false);
    return encode(*args, *place);
  }
  PodView cluster(*standing.cluster);
  fit_to_pod(cluster, args->pod, "", {parts_.pods, parts_.promises}, parts_.policies);
  model::SearchBudget budget(settings_.search_steps);
  // Something besides us refused a node to this pod. With all names kube-scheduler finds another
  // one at once, if that was another extender. One name shows which node it is in any other case,
  // whatever the scheduler's own scores prefer. So each in turn.
  const bool all = refused.size() % 2 == 1;
  const std::size_t short_list = refused.empty() ? settings_.short_list : all ? 0 : 1;
  FilterResult result = judge_nodes(*args, *plan, cluster, refused, short_list, budget);
  if (!result.kept.empty()) {
    reserve(args->pod, *plan, cluster.find(args->node_names[result.kept.front()]));
  } else if (auto room = take_room(*args, *plan, standing, cluster, refused, budget)) {
    result = *std::move(room);
  } else if (const auto why = why_again(*args, *plan, standing, cluster, result, budget);
             !why.empty()) {
    return try_again(*args, why);
  }
  remember_outcome(*args, result, *standing.cluster, refused.empty());
  return encode(*args, result);
}

std::optional<FilterResult> Verbs::take_room(const FilterArgs& args, const cluster::PodPlan& plan,
                                             const Standing& standing, const PodView& cluster,
                                             const NodeSet& refused, model::SearchBudget& budget) {
  if (auto place = offer_reserved(args, plan)) return place;
  const auto way = make_way_on_best(standing.unconfirmed, {args.node_names, refused}, plan.demand,
                                    cluster, *plan.policy, args.pod.priority, budget);
  if (!way) return std::nullopt;
  FilterResult result;
  result.more_fit = way->more;
  result.kept.push_back(way->index);
  reserve(args.pod, plan, &way->node, way->displaced);
  return result;
}

std::optional<FilterResult> Verbs::offer_reserved(const FilterArgs& args,
                                                  const cluster::PodPlan& plan) const {
  const auto place = parts_.move_places.place_for(args.pod, plan.demand);
  if (!place) return std::nullopt;
  const auto asked = std::ranges::find(args.node_names, place->node);
  const bool taken =
      asked != args.node_names.end() &&
      parts_.move_places.take(*place, std::max(hold_for(args.pod), kLeastTimeToBind));
  if (!taken) return std::nullopt;
  FilterResult only;
  only.kept.push_back(static_cast<std::uint32_t>(asked - args.node_names.begin()));
  return only;
}

/// A member gets one node, however many names are kept otherwise: its room is reserved on no other.
/// An offer without a bind says nothing of the node, since the group may have failed.
std::string Verbs::filter_member(const FilterArgs& args, const Result<cluster::PodPlan>& plan) {
  const GroupAttempts::Turn turn = parts_.groups.begin(args);
  if (!plan) {
    parts_.groups.refused(args);
    return refuse_all(args, kInvalid);
  }
  Standing standing = stand(args.pod.uid);
  if (!standing.bound_for.empty()) return repeat_offer(args, standing.bound_for);
  if (turn.failed) {
    return refuse_member(args, cluster::Wait::kGroup, refuse_all(args, kGroupLacksRoom));
  }
  parts_.groups.leave_out_own(args.pod, standing.unconfirmed);
  const NodeSet refused = parts_.offers.refused(args.pod.uid);
  PodView cluster(*standing.cluster);
  fit_to_pod(cluster, args.pod, "", {parts_.pods, parts_.promises}, parts_.policies);
  model::SearchBudget budget(settings_.search_steps);
  const FilterResult result = judge_nodes(args, *plan, cluster, refused, 1, budget);
  std::optional<DisplacementOn> room;
  if (!result.kept.empty()) {
    const std::uint32_t best = result.kept.front();
    const model::NodeState* const node = cluster.find(args.node_names[best]);
    if (node == nullptr) return encode(args, result);  // the pod asks for no card
    room = DisplacementOn{{*node, {}, {}}, best};
  } else if (!turn.in_doubt) {
    room = make_way_on_best(standing.unconfirmed, {args.node_names, refused}, plan->demand, cluster,
                            *plan->policy, GroupReservations::kTakesFromGroupsInDoubt, budget);
  }
  if (room && reserve_for_member(args.pod, *plan, *room, turn.in_doubt)) {
    parts_.pods.answered(args.pod.uid, cluster::Wait::kOffered);
    FilterResult only;
    only.kept.push_back(room->index);
    return encode(args, only);
  }
  const std::string_view why =
      room ? kSettling : why_again(args, *plan, standing, cluster, result, budget);
  if (!why.empty()) return refuse_member(args, cluster::Wait::kSettling, fail_all(args, why));
  const cluster::Wait wait =
      result.nearest ? cluster::wait_for(*result.nearest) : cluster::Wait::kRoom;
  return refuse_member(args, wait, encode(args, result));
}

/// What a pod without room waits for, if that passes by itself. @returns empty if nothing does
std::string_view Verbs::why_again(const FilterArgs& args, const cluster::PodPlan& plan,
                                  const Standing& standing, const PodView& cluster,
                                  const FilterResult& result, model::SearchBudget& budget) const {
  auto unconfirmed = standing.unconfirmed;
  parts_.move_places.leave_out(unconfirmed);
  if (fits_without(unconfirmed, args.node_names, plan.demand, cluster, *plan.policy, budget)) {
    return kSettling;
  }
  if (result.untried > 0) return kUnfinished;
  return parts_.following() ? "" : kBehind;
}

std::string Verbs::refuse_member(const FilterArgs& args, cluster::Wait wait, std::string answer) {
  parts_.pods.answered(args.pod.uid, wait);
  parts_.groups.refused(args);
  return answer;
}

bool Verbs::reserve_for_member(const kube::Pod& pod, const cluster::PodPlan& plan,
                               const DisplacementOn& room, bool in_doubt) {
  if (!plan.demand.gpu.asks_gpu()) return true;
  const auto choice = plan.policy->choose(plan.demand, room.node);
  return choice && parts_.groups.reserve(
                       cluster::allocation_for(pod, room.node, plan.demand, choice->placement), pod,
                       in_doubt, room.displaced);
}

FilterResult Verbs::judge_nodes(const FilterArgs& args, const cluster::PodPlan& plan,
                                const PodView& cluster, const NodeSet& refused,
                                std::size_t short_list, model::SearchBudget& budget) {
  auto pass =
      plan.policies->cache.open(*plan.policy, plan.demand, cluster.cluster(), budget, args.pod.uid);
  const FilterQuestion question{.names = args.node_names,
                                .demand = plan.demand,
                                .refused = refused,
                                .short_list = short_list,
                                .priority = args.pod.priority,
                                .nominated_node = args.pod.nominated_node};
  const Judge own = [&](auto nodes, auto verdicts) { return pass.judge(nodes, verdicts); };
  if (!pass.may_be_shared()) return extender::filter(question, cluster, own);
  const auto for_thread = [&pass]() -> Judge {
    return [&pass, walk = std::make_shared<policies::ChoiceCache::Pass::Walk>()](
               auto nodes, auto verdicts) { return pass.judge(nodes, verdicts, *walk); };
  };
  return extender::filter(question, cluster, {own, for_thread, filter_threads_});
}

Verbs::Standing Verbs::stand(const std::string& uid) {
  Standing standing = parts_.ledger.apply([&](model::Ledger& ledger) {
    Standing now;
    ledger.expire_reservations();
    ledger.release_reservation(uid);
    if (const auto* entry = ledger.find(uid)) now.bound_for = entry->allocation->node;
    now.unconfirmed = ledger.unconfirmed();
    now.cluster = ledger.snapshot();
    return now;
  });
  parts_.promises.review(*standing.cluster, parts_.pods);
  return standing;
}

/// The bind may still take effect, so no other node will do; sent again it does no harm.
std::string Verbs::repeat_offer(const FilterArgs& args, const std::string& node) const {
  const auto asked = std::find(args.node_names.begin(), args.node_names.end(), node);
  if (asked == args.node_names.end()) return try_again(args, kBoundElsewhere);
  parts_.pods.answered(args.pod.uid, cluster::Wait::kSettling);
  FilterResult only;
  only.kept.push_back(static_cast<std::uint32_t>(asked - args.node_names.begin()));
  return encode(args, only);
}

void Verbs::reserve(const kube::Pod& pod, const cluster::PodPlan& plan,
                    const model::NodeState* node, const model::Ledger::Uids& displaced) {
  const auto ttl = hold_for(pod);
  if (!plan.demand.gpu.asks_gpu() || ttl == std::chrono::milliseconds{0}) return;
  const auto choice = plan.policy->choose(plan.demand, *node);
  if (!choice) return;
  model::Allocation allocation =
      cluster::allocation_for(pod, *node, plan.demand, choice->placement);
  parts_.ledger.apply([&](model::Ledger& ledger) {
    // Refused if the node changed meanwhile: then nothing is reserved, and bind decides.
    return ledger.reserve(std::move(allocation), ttl, displaced).has_value();
  });
}

std::chrono::milliseconds Verbs::hold_for(const kube::Pod& pod) const {
  const bool holds = settings_.hold_ttl > std::chrono::milliseconds{0};
  return holds && pod.binds_late ? std::max(settings_.hold_ttl, settings_.long_hold_ttl)
                                 : settings_.hold_ttl;
}

std::string Verbs::try_again(const FilterArgs& args, std::string_view why) const {
  parts_.pods.answered(args.pod.uid, cluster::Wait::kSettling);
  return deny_for_now(args, why);
}

std::string Verbs::deny_for_now(const FilterArgs& args, std::string_view why) const {
  const bool nominated = !args.pod.nominated_node.empty() || parts_.promises.made_to(args.pod.uid);
  if (!nominated) {
    parts_.denials.forget(args.pod.uid);
    return encode_filter_error(why);
  }
  parts_.denials.denied(args.pod, args.node_names, *parts_.ledger.snapshot(), true);
  return fail_all(args, why);
}

void Verbs::remember_outcome(const FilterArgs& args, const FilterResult& result,
                             const model::ClusterSnapshot& cluster, bool first_offer) {
  if (result.kept.empty()) {
    parts_.denials.denied(args.pod, args.node_names, cluster, false);
    if (result.nearest) parts_.pods.answered(args.pod.uid, cluster::wait_for(*result.nearest));
    return;
  }
  // Only once until what was refused is forgotten: else pods that another extender never takes
  // would be woken for ever.
  if (result.more_fit && first_offer) {
    parts_.denials.offered(args.pod.uid,
                           parts_.clock.now() + std::max(hold_for(args.pod), kLeastTimeToBind));
  } else {
    parts_.denials.forget(args.pod.uid);
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
    ledger.expire_reservations();
    if (const auto* entry = ledger.find(args->pod.uid)) held_on = entry->allocation->node;
    return ledger.snapshot();
  });
  PodView cluster(*snapshot);
  fit_to_pod(cluster, args->pod, held_on, {parts_.pods, parts_.promises}, parts_.policies);
  model::SearchBudget budget(settings_.search_steps);
  auto pass =
      plan->policies->cache.open(*plan->policy, plan->demand, *snapshot, budget, args->pod.uid);
  return encode(extender::prioritize(
      args->node_names, cluster,
      [&](auto nodes, auto verdicts) { return pass.judge(nodes, verdicts); },
      parts_.offers.refused(args->pod.uid)));
}

std::string Verbs::preempt(std::string text) {
  if (!parts_.not_ready().empty()) return encode_preempt_result({});
  Body body(std::move(text));
  const auto args = decode_preempt_args(body);
  if (!args) {
    spdlog::warn("preempt request: {}", args.error().message);
    return encode_preempt_result({});
  }
  const auto plan = parts_.policies.plan(args->pod);
  // Room for one member helps only if there is room for the others: no pod is evicted before that
  // is proved, and kube-scheduler asks about one member alone.
  if (!plan || cluster::is_in_pod_group(args->pod)) return encode_preempt_result({});
  model::Ledger::Uids in_doubt;
  const cluster::ClusterPtr snapshot = parts_.ledger.apply([&](model::Ledger& ledger) {
    ledger.expire_reservations();
    in_doubt = ledger.in_doubt();
    return ledger.snapshot();
  });
  parts_.promises.review(*snapshot, parts_.pods);
  PodView cluster(*snapshot);
  fit_to_pod(cluster, args->pod, "", {parts_.pods, parts_.promises}, parts_.policies);
  if (gets_room_soon(args->pod, *plan, cluster)) return encode_preempt_result({});
  // Nobody is evicted for room that is only reserved.
  for (const auto& [name, proposed] : args->nodes) {
    const auto* node = cluster.find(name);
    if (node == nullptr) continue;
    if (auto emptied = without_yielding(*node, args->pod.priority)) {
      cluster.replace(*std::move(emptied));
    }
  }
  const auto budgets = parts_.budgets();
  model::SearchBudget searches(kPreemptSteps);
  model::SearchBudget tries(cluster::kVictimTries);
  auto nodes = extender::preempt(args->nodes,
                                 {.pod = args->pod,
                                  .demand = plan->demand,
                                  .policy = *plan->policy,
                                  .spared = in_doubt,
                                  .budgets = budgets.get(),
                                  .searches = searches,
                                  .tries = tries},
                                 cluster);
  if (nodes.empty()) wait_for_doubtful(*args, in_doubt, cluster);
  if (plan->demand.gpu.asks_gpu()) parts_.promises.made(args->pod, nodes);
  return encode_preempt_result(nodes);
}

/// They may be named once the outcome of their bind is known.
void Verbs::wait_for_doubtful(const PreemptArgs& args, const model::Ledger::Uids& in_doubt,
                              const PodView& cluster) {
  model::Ledger::Uids waited_for;
  for (const auto& [name, proposed] : args.nodes) {
    const auto* node = cluster.find(name);
    if (node == nullptr) continue;
    for (const auto& pod : node->allocations) {
      const bool less = pod->priority < args.pod.priority;
      if (less && in_doubt.contains(pod->pod_uid)) waited_for.insert(pod->pod_uid);
    }
  }
  if (!waited_for.empty()) parts_.denials.in_doubt(args.pod.uid, std::move(waited_for));
}

bool Verbs::gets_room_soon(const kube::Pod& pod, const cluster::PodPlan& plan,
                           const PodView& cluster) const {
  if (parts_.pods.last_answer(pod.uid) == cluster::Wait::kSettling) return true;
  const auto promised = parts_.promises.nominated();
  return std::any_of(promised.begin(), promised.end(), [&](const Nomination& claim) {
    if (claim.pod->uid != pod.uid) return false;
    const auto* node = cluster.find(claim.node);
    if (node == nullptr) return false;
    if (!claim.evicted) return room_is_coming(*node, plan.demand, *plan.policy, claim.victims);
    return plan.policy->choose(plan.demand, without_leaving(*node, claim.victims)).has_value();
  });
}

Verbs::BindReply Verbs::bind(std::string text, TimePoint deadline) {
  if (const auto why = parts_.not_ready(); !why.empty()) {
    return {encode_bind_result(why), BindOutcome::kUnavailable};
  }
  Body body(std::move(text));
  const auto args = decode_bind_args(body);
  if (!args) {
    return {encode_bind_result("bind request: " + args.error().message), BindOutcome::kInvalid};
  }
  parts_.denials.forget(args->uid);
  parts_.groups.bind_comes(args->uid);
  Binder::BindResult answer = parts_.binder.bind(*args, deadline);
  if (answer.error.empty()) parts_.promises.forget(args->uid);
  return {encode_bind_result(answer.error), answer.outcome};
}

}  // namespace tangram::extender
