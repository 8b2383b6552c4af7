#include "extender/card_preemptor.hpp"

#include "base/metric_family.hpp"
#include "base/sleeper.hpp"
#include "extender/scheduling/make_way.hpp"
#include "kube/client.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
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
/// Between two searches for a pod for which nobody could be evicted.
constexpr seconds kSearchAgain{5};
/// For kube-scheduler to ask again about a pod that it was woken for.
constexpr seconds kForAnswer{5};

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

/// The node without the pods that leave it, by what it shows or because they were evicted.
NodeState after_departures(const NodeState& node, std::vector<std::string> leaving) {
  for (const model::AllocationPtr& pod : node.allocations) {
    if (pod->terminating) leaving.push_back(pod->pod_uid);
  }
  return model::without_pods(node, leaving);
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
  }
  return "unknown";
}

CardPreemptor::CardPreemptor(CardPreemptorSettings settings, Parts parts)
    : settings_(settings),
      parts_(std::move(parts)),
      limiter_(nanoseconds(std::chrono::minutes(1)) / settings_.per_minute, 1, parts_.clock) {}

void CardPreemptor::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look();
    sleep_until_stopped(kLook, stop);
  }
}

void CardPreemptor::look() {
  if (!settings_.enabled || !parts_.following() || !parts_.may_write(settings_.api_timeout)) return;
  auto denials = parts_.denials.all();
  follow(denials);
  if (denials.empty()) return;
  Moment now{.cluster = {}, .in_doubt = {}, .budgets = parts_.budgets()};
  if (now.budgets == nullptr) return;
  now.cluster = parts_.ledger.apply([&](model::Ledger& ledger) {
    ledger.expire_reservations();
    now.in_doubt = ledger.in_doubt();
    return ledger.snapshot();
  });
  parts_.promises.review(*now.cluster, parts_.pods);
  using Ranked = std::tuple<int, TimePoint, TimePoint>;
  std::vector<std::pair<Ranked, DenialPtr>> due;
  for (DenialPtr& denial : denials) {
    const Case& its = cases_[denial->pod->uid];
    if (!is_due(*denial, its)) continue;
    due.emplace_back(Ranked{-denial->pod->priority, its.next_try, denial->at}, std::move(denial));
  }
  std::ranges::sort(due, {}, &std::pair<Ranked, DenialPtr>::first);
  if (due.size() > kMostPods) due.resize(kMostPods);
  for (const auto& [rank, denial] : due) {
    Case& its = cases_.at(denial->pod->uid);
    const TimePoint time = parts_.clock.now();
    const auto preemption = find_victims(*denial, its, now);
    if (!preemption) {
      its.next_try = time + kSearchAgain;
      continue;
    }
    if (time - denial->at > kFresh) {
      parts_.denials.offered(denial->pod->uid, time);  // the waker makes kube-scheduler ask
      its.next_try = time + kForAnswer;
      continue;
    }
    if (!limiter_.reserve(nanoseconds(0))) return;
    ++results_.at(static_cast<std::size_t>(carry_out(*denial->pod, *preemption, its)));
    return;
  }
}

/// Forgets pods that wait no more.
void CardPreemptor::follow(const std::vector<DenialPtr>& denials) {
  std::set<std::string_view> denied;
  for (const DenialPtr& denial : denials) denied.insert(denial->pod->uid);
  std::erase_if(cases_, [&](const auto& one) {
    return !denied.contains(one.first) && parts_.pods.find(one.first) == nullptr;
  });
}

bool CardPreemptor::is_due(const Denial& denial, const Case& its) const {
  const TimePoint time = parts_.clock.now();
  const bool will_be_asked_again = denial.for_now || !denial.in_doubt.empty();
  if (will_be_asked_again || time - denial.at < kGrace || time < its.next_try) return false;
  const PodPtr pod = parts_.pods.find(denial.pod->uid);
  if (pod == nullptr || pod->never_preempts || pod->gated || pod->deleting) return false;
  // Promised by /preempt: kube-scheduler evicts.
  return !its.node.empty() || !parts_.promises.made_to(denial.pod->uid);
}

std::optional<Preemption> CardPreemptor::find_victims(const Denial& denial, Case& its,
                                                      Moment& now) const {
  const PodPtr pod = parts_.pods.find(denial.pod->uid);
  const auto plan = parts_.policies.plan(*denial.pod);
  if (pod == nullptr || !plan || !plan->demand.gpu.asks_gpu()) return std::nullopt;
  PodView view(*now.cluster);
  fit_to_pod(view, *denial.pod, "", {parts_.pods, parts_.promises}, parts_.policies);
  const auto nodes = asked_nodes(denial, view);
  const cluster::Preemptor preemptor{.demand = plan->demand,
                                     .policy = *plan->policy,
                                     .priority = denial.pod->priority,
                                     .spared = now.in_doubt,
                                     .budgets = *now.budgets,
                                     .searches = now.searches,
                                     .refinements = now.refinements};
  const bool has_room = std::ranges::any_of(
      nodes, [&](const NodeState* node) { return cluster::fits(preemptor, *node); });
  if (has_room || now.searches.skipped() > 0) return std::nullopt;
  const std::string& claimed = pod->nominated_node.empty() ? its.node : pod->nominated_node;
  if (const NodeState* node = view.find(claimed)) {
    const NodeState left = after_departures(*node, its.evicted);
    if (cluster::fits(preemptor, left)) return std::nullopt;
    if (auto more = cluster::cheapest_preemption(preemptor, {&left})) return more;
  }
  if (is_worth_waiting(nodes, *plan, its)) return std::nullopt;
  return cluster::cheapest_preemption(preemptor, nodes);
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

PreemptionOutcome CardPreemptor::carry_out(const kube::Pod& pod, const Preemption& preemption,
                                           Case& its) {
  const auto& [node, victims] = preemption;
  its.backoff = its.backoff == seconds{} ? kFirstBackoff : std::min(2 * its.backoff, kMaxBackoff);
  its.next_try = parts_.clock.now() + its.backoff;
  for (const model::AllocationPtr& victim : victims.pods) {
    if (!would_go(*victim, its)) return PreemptionOutcome::kRefused;
  }
  // The others' turns are taken ahead, so that all victims leave at one time.
  for (std::size_t i = 1; i < victims.pods.size(); ++i) (void)limiter_.reserve(nanoseconds::max());
  const kube::Nominated nomination{.ns = pod.ns, .name = pod.name, .uid = pod.uid, .node = node};
  if (const auto done = kube::nominate_pod(parts_.api, nomination, settings_.api_timeout); !done) {
    spdlog::warn("nobody is evicted for pod {}: {}", pod.full_name(), done.error().message);
    return PreemptionOutcome::kFailed;
  }
  parts_.promises.made(pod, {{node, {.uids = victims.uids(), .pdb_violations = 0}}});
  if (its.node != node) its.evicted.clear();
  its.node = node;
  parts_.report({pod.uid, pod.ns, pod.name}, "Preempting",
                "evicting " + count_of_pods(victims.pods.size()) + " of lower priority on node " +
                    node + ", where this pod gets room on a card then");
  const bool all = std::ranges::all_of(
      victims.pods, [&](const auto& victim) { return evict(*victim, pod, its); });
  return all ? PreemptionOutcome::kEvicted : PreemptionOutcome::kFailed;
}

/// A dry run: the ledger's view of budgets may be late.
bool CardPreemptor::would_go(const model::Allocation& victim, Case& its) {
  const kube::EvictionAnswer answer = kube::evict_pod(
      parts_.api,
      {.ns = victim.pod_namespace, .name = victim.pod_name, .uid = victim.pod_uid, .dry_run = true},
      settings_.api_timeout);
  if (answer.outcome == EvictionOutcome::kEvicted || answer.outcome == EvictionOutcome::kGone) {
    return true;
  }
  spdlog::info("pod {} would not be evicted: {}", name_of(victim), answer.message);
  its.next_try =
      std::max(its.next_try, parts_.clock.now() + answer.retry_after.value_or(seconds(0)));
  return false;
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
