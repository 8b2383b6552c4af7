#include "extender/card_preemptor.hpp"

#include "base/metric_family.hpp"
#include "base/sleeper.hpp"
#include "cluster/pod_groups.hpp"
#include "extender/scheduling/make_way.hpp"
#include "kube/client.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace tangram::extender {

namespace {

using cluster::PodPtr;
using cluster::Preemption;
using kube::EvictionOutcome;
using model::NodeState;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr milliseconds kLook{500};
constexpr seconds kFirstBackoff{10};
constexpr seconds kMaxBackoff{300};
/// Between two searches for a pod for which no pod could be evicted.
constexpr seconds kSearchAgain{5};
constexpr seconds kMaxSearchBackoff{60};

/// Pods whose names the log and the API server's errors know anyway.
std::string name_of(const model::Allocation& pod) { return pod.pod_namespace + "/" + pod.pod_name; }

/// The nodes that kube-scheduler asked about, as the pod may use them. Nobody is evicted for room
/// that is only reserved.
std::vector<const NodeState*> asked_nodes(const Denial& denial, PodView& view) {
  std::vector<const NodeState*> nodes;
  for (model::NodeIndex i = 0; i < denial.nodes.size(); ++i) {
    const auto found = denial.nodes[i] ? view.cluster().found_at(i) : std::nullopt;
    if (!found) continue;
    const NodeState* node = view.find(found->node->name);
    if (auto emptied = without_yielding(*node, denial.pod->priority)) {
      const std::string name = node->name;
      view.replace(*std::move(emptied));
      node = view.find(name);
    }
    nodes.push_back(node);
  }
  return nodes;
}

std::string count_of_pods(std::size_t count) {
  return count == 1 ? "1 pod" : std::to_string(count) + " pods";
}

}  // namespace

std::string_view to_string(PreemptionOutcome outcome) {
  switch (outcome) {
    case PreemptionOutcome::kEvicted:
      return "evicted";
    case PreemptionOutcome::kRefused:
      return "refused";
    case PreemptionOutcome::kFailed:
      return "failed";
    case PreemptionOutcome::kOvertaken:
      return "overtaken";
  }
  return "unknown";
}

CardPreemptor::CardPreemptor(CardPreemptorSettings settings, Parts parts)
    : settings_(settings), parts_(std::move(parts)) {}

void CardPreemptor::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look();
    sleep_until_stopped(kLook, stop);
  }
}

void CardPreemptor::look() {
  if (!settings_.enabled || !parts_.following() || !parts_.may_write(settings_.api_timeout)) return;
  DenialList denials = parts_.denials.all();
  follow(denials);
  if (denials.empty() || parts_.clock.now() < next_eviction_) return;
  for (const DenialPtr& denial : due_of(std::move(denials))) {
    if (look_at(*denial, cases_.at(denial->pod->uid))) return;
  }
}

/// Forgets pods that wait no more.
void CardPreemptor::follow(const DenialList& denials) {
  std::set<std::string_view> denied;
  for (const DenialPtr& denial : denials) denied.insert(denial->pod->uid);
  std::erase_if(cases_, [&](const auto& one) {
    return !denied.contains(one.first) && parts_.pods.find(one.first) == nullptr;
  });
}

CardPreemptor::DenialList CardPreemptor::due_of(DenialList denials) {
  const auto cluster = parts_.ledger.snapshot();
  parts_.promises.review(*cluster, parts_.pods);
  int least = model::kNoPriority;
  cluster->for_each_present(
      [&](const auto& node) { least = std::min(least, node.least_priority); });
  std::erase_if(denials, [&](const DenialPtr& denial) {
    return denial->pod->priority <= least || !is_due(*denial, cases_[denial->pod->uid]);
  });
  std::ranges::sort(denials, {}, [&](const DenialPtr& denial) {
    return std::tuple(-std::int64_t{denial->pod->priority}, cases_.at(denial->pod->uid).next_try,
                      denial->at);
  });
  if (denials.size() > kMostPods) denials.resize(kMostPods);
  return denials;
}

bool CardPreemptor::is_due(const Denial& denial, const Case& its) const {
  const TimePoint time = parts_.clock.now();
  const bool will_be_asked_again = denial.for_now || !denial.in_doubt.empty();
  if (will_be_asked_again || time - denial.at < kGrace || time < its.next_try) return false;
  const PodPtr pod = parts_.pods.find(denial.pod->uid);
  if (pod == nullptr || pod->never_preempts || pod->gated || pod->deleting) return false;
  if (cluster::is_in_pod_group(*pod)) return false;  // room for one member may not be enough
  // Nor while others make room for it: kube-scheduler, or a plan of moves.
  return is_left_to_this(pod->uid);
}

bool CardPreemptor::is_left_to_this(std::string_view pod_uid) const {
  return parts_.promises.maker(pod_uid).value_or(RoomMaker::kPreemptor) == RoomMaker::kPreemptor;
}

bool CardPreemptor::look_at(const Denial& denial, Case& its) {
  Moment now = moment(its);
  if (now.budgets == nullptr) return false;
  const auto preemption = find_victims(denial, its, now);
  const TimePoint time = parts_.clock.now();
  if (!preemption) {
    its.search_backoff = std::clamp(2 * its.search_backoff, kSearchAgain, kMaxSearchBackoff);
    its.next_try = time + its.search_backoff;
    return false;
  }
  its.search_backoff = {};
  if (time - denial.at > kFresh) {
    if (!its.woken || time - *its.woken > kFresh) {
      its.woken = time;
      parts_.denials.offered(denial.pod->uid, time);  // the waker makes kube-scheduler ask
    }
    its.next_try = time + kSearchAgain;
    return false;
  }
  ++results_.at(static_cast<std::size_t>(carry_out(denial, *preemption, its)));
  return true;
}

CardPreemptor::Moment CardPreemptor::moment(Case& its) {
  const TimePoint time = parts_.clock.now();
  std::erase_if(its.refused, [&](const auto& pod) { return pod.second <= time; });
  Moment now{.cluster = {}, .spared = {}, .budgets = parts_.budgets()};
  now.cluster = parts_.ledger.apply([&](model::Ledger& ledger) {
    ledger.expire_reservations();
    now.spared = ledger.in_doubt();
    return ledger.snapshot();
  });
  for (const auto& [uid, until] : its.refused) now.spared.insert(uid);
  parts_.promises.review(*now.cluster, parts_.pods);
  return now;
}

std::optional<Preemption> CardPreemptor::find_victims(const Denial& denial, Case& its,
                                                      Moment& now) const {
  const auto plan = parts_.policies.plan(*denial.pod);
  if (!plan || !plan->demand.gpu.asks_gpu()) return std::nullopt;
  PodView view(*now.cluster);
  fit_to_pod(view, *denial.pod, "", {parts_.pods, parts_.promises}, parts_.policies);
  const auto nodes = asked_nodes(denial, view);
  const cluster::Preemptor preemptor{.demand = plan->demand,
                                     .policy = *plan->policy,
                                     .priority = denial.pod->priority,
                                     .spared = now.spared,
                                     .budgets = *now.budgets,
                                     .searches = now.searches,
                                     .tries = now.tries};
  const bool has_room = std::ranges::any_of(
      nodes, [&](const NodeState* node) { return cluster::fits(preemptor, *node); });
  if (has_room || now.searches.skipped() > 0) return std::nullopt;
  if (const NodeState* node = claimed_node(denial, its, view)) {
    const NodeState left = without_leaving(*node, its.evicted);
    if (cluster::fits(preemptor, left)) return std::nullopt;
    if (auto more = cluster::cheapest_preemption(preemptor, {&left})) return more;
  }
  if (is_worth_waiting(nodes, *plan, its)) return std::nullopt;
  return cluster::cheapest_preemption(preemptor, nodes);
}

const NodeState* CardPreemptor::claimed_node(const Denial& denial, Case& its,
                                             const PodView& view) const {
  const PodPtr pod = parts_.pods.find(denial.pod->uid);
  const bool nominated = pod != nullptr && !pod->nominated_node.empty();
  const std::string& name = nominated ? pod->nominated_node : its.node;
  const auto index = view.cluster().index_of(name);
  // kube-scheduler does not ask about a node that has been cordoned or tainted.
  const bool asked = index && *index < denial.nodes.size() && denial.nodes[*index];
  if (asked) return view.find(name);
  its.node.clear();
  its.evicted.clear();
  return nullptr;
}

bool CardPreemptor::is_worth_waiting(const std::vector<const NodeState*>& nodes,
                                     const cluster::PodPlan& plan, Case& its) const {
  const bool coming = std::ranges::any_of(nodes, [&](const NodeState* node) {
    return room_is_coming(*node, plan.demand, *plan.policy, {});
  });
  if (!coming) {
    its.room_coming.reset();
    return false;
  }
  if (!its.room_coming) its.room_coming = parts_.clock.now();
  return parts_.clock.now() - *its.room_coming < kLeaving;
}

PreemptionOutcome CardPreemptor::carry_out(const Denial& denial, const Preemption& preemption,
                                           Case& its) {
  const kube::Pod& pod = *denial.pod;
  const auto& [node, victims] = preemption;
  const auto overtaken = [&its, this, before = its.backoff] {
    its.backoff = before;
    its.next_try = parts_.clock.now() + kSearchAgain;
    return PreemptionOutcome::kOvertaken;
  };
  its.backoff = std::clamp(2 * its.backoff, kFirstBackoff, kMaxBackoff);
  its.next_try = parts_.clock.now() + its.backoff;
  for (const model::AllocationPtr& victim : victims.pods) {
    if (const auto why = would_stay(*victim, its)) {
      its.next_try = parts_.clock.now() + kSearchAgain;  // for others
      return *why;
    }
  }
  if (!still_waits(denial)) return overtaken();
  std::vector<std::string> leaving = its.node == node ? its.evicted : std::vector<std::string>();
  for (std::string& uid : victims.uids()) leaving.push_back(std::move(uid));
  // First, so that nobody else makes room for the pod from now on.
  if (!parts_.promises.evicting(pod, node, std::move(leaving), RoomMaker::kPreemptor)) {
    return overtaken();
  }
  if (its.node != node) its.evicted.clear();
  its.node = node;
  if (!nominate(pod, node)) return withdraw(pod, its);
  // All victims leave at one time, and the next ones wait so much longer.
  next_eviction_ = parts_.clock.now() + victims.pods.size() * nanoseconds(std::chrono::minutes(1)) /
                                            settings_.per_minute;
  parts_.report({pod.uid, pod.ns, pod.name}, "Preempting",
                "evicting " + count_of_pods(victims.pods.size()) + " of lower priority on node " +
                    node + ", where this pod gets room on a card then");
  const bool all = std::ranges::all_of(
      victims.pods, [&](const auto& victim) { return evict(*victim, pod, its); });
  return all ? PreemptionOutcome::kEvicted : withdraw(pod, its);
}

/// Not all of its victims leave.
PreemptionOutcome CardPreemptor::withdraw(const kube::Pod& pod, Case& its) {
  if (its.evicted.empty()) {
    parts_.promises.withdraw(pod.uid, RoomMaker::kPreemptor);
    its.node.clear();
    if (parts_.may_write(settings_.api_timeout)) (void)nominate(pod, "");
  } else {
    (void)parts_.promises.evicting(pod, its.node, its.evicted, RoomMaker::kPreemptor);
  }
  return PreemptionOutcome::kFailed;
}

bool CardPreemptor::still_waits(const Denial& denial) const {
  const DenialPtr now = parts_.denials.find(denial.pod->uid);
  return now.get() == &denial && parts_.pods.find(denial.pod->uid) != nullptr &&
         is_left_to_this(denial.pod->uid) && parts_.may_write(settings_.api_timeout);
}

bool CardPreemptor::nominate(const kube::Pod& pod, const std::string& node) {
  const auto done =
      kube::nominate_pod(parts_.api, {.ns = pod.ns, .name = pod.name, .uid = pod.uid, .node = node},
                         settings_.api_timeout);
  if (!done) {
    spdlog::warn("pod {} could not be nominated, so no pod is evicted for it: {}", pod.full_name(),
                 done.error().message);
  }
  return done.has_value();
}

/// The ledger's view of budgets may be late, and a webhook may refuse evictions.
std::optional<PreemptionOutcome> CardPreemptor::would_stay(const model::Allocation& victim,
                                                           Case& its) {
  const kube::EvictionAnswer answer = kube::evict_pod(
      parts_.api,
      {.ns = victim.pod_namespace, .name = victim.pod_name, .uid = victim.pod_uid, .dry_run = true},
      settings_.api_timeout);
  if (answer.outcome == EvictionOutcome::kEvicted || answer.outcome == EvictionOutcome::kGone) {
    return std::nullopt;
  }
  spdlog::info("pod {} would not be evicted: {}", name_of(victim), answer.message);
  its.refused[victim.pod_uid] =
      parts_.clock.now() + std::max(its.backoff, answer.retry_after.value_or(seconds(0)));
  return answer.outcome == EvictionOutcome::kRefused ? PreemptionOutcome::kRefused
                                                     : PreemptionOutcome::kFailed;
}

bool CardPreemptor::evict(const model::Allocation& victim, const kube::Pod& pod, Case& its) {
  if (!parts_.may_write(settings_.api_timeout)) return false;
  const kube::EvictionAnswer answer = kube::evict_pod(
      parts_.api, {.ns = victim.pod_namespace, .name = victim.pod_name, .uid = victim.pod_uid},
      settings_.api_timeout);
  if (answer.outcome == EvictionOutcome::kGone) return true;
  if (answer.outcome != EvictionOutcome::kEvicted) {
    spdlog::warn("pod {} was not evicted for pod {}: {}", name_of(victim), pod.full_name(),
                 answer.message);
    return false;
  }
  ++victims_;
  its.evicted.push_back(victim.pod_uid);
  spdlog::info("pod {} was evicted from node {} for pod {}", name_of(victim), victim.node,
               pod.full_name());
  // The other pod may be another tenant's: its UID says enough to who may see it.
  parts_.report(
      {victim.pod_uid, victim.pod_namespace, victim.pod_name}, "Preempted",
      "evicted for pod " + pod.uid + " of higher priority, which gets its room on a card");
  return true;
}

std::vector<prometheus::MetricFamily> CardPreemptor::Collect() const {
  MetricFamilies all;
  auto tries = MetricFamily::counter(
      "tangram_card_preemptions_total",
      "Times that pods of lower priority were to be evicted, because a pod lacked room on a single "
      "card, by result.");
  for (std::size_t i = 0; i < kPreemptionOutcomes; ++i) {
    tries.add({{"result", std::string(to_string(static_cast<PreemptionOutcome>(i)))}},
              results_.at(i).load());
  }
  tries.into(all);
  auto victims = MetricFamily::counter("tangram_card_preemption_victims_total",
                                       "Pods evicted because a pod of higher priority lacked room "
                                       "on a single card.");
  victims.add({}, victims_.load());
  victims.into(all);
  return all;
}

}  // namespace tangram::extender
