#include "extender/waker.hpp"

#include "base/json.hpp"
#include "base/metric_family.hpp"
#include "base/sleeper.hpp"
#include "extender/scheduling/pod_view.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace tangram::extender {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{50};
constexpr milliseconds kFirstBackoff{1'000};
constexpr milliseconds kMaxBackoff{30'000};
/// A pod that is not shown as pending: it ended or is bound, or the watch is behind.
constexpr std::chrono::seconds kUnseen{60};

/// The same annotation twice is no change to the API server, and no event.
std::string patch(WallTime now) {
  std::string body;
  json::Writer out(body);
  out.begin_object().key("metadata").begin_object().key("annotations").begin_object();
  out.member(Waker::kAnnotation, rfc3339_micro(now));
  out.end_object().end_object().end_object();
  return body;
}

}  // namespace

Waker::Waker(WakerSettings settings, Parts parts)
    : settings_(std::move(settings)),
      parts_(std::move(parts)),
      limiter_(kInterval, 1, parts_.clock) {}

void Waker::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look();
    sleep_until_stopped(kLook, stop);
  }
}

void Waker::look() {
  if (settings_.ns.empty() || !parts_.may_write(settings_.api_timeout)) return;
  follow();
  find_room();
  const bool for_term = is_due_for_term();
  if (parts_.clock.now() < next_try_) return;
  const auto waits_beside_room = [&](auto& one) {
    if (is_due(one.second)) check_room(one.second);
    return is_due(one.second);
  };
  const bool due = for_term || is_offered_in_vain() ||
                   std::any_of(cases_.begin(), cases_.end(), waits_beside_room);
  if (!due) return;
  if (!limiter_.reserve(std::chrono::nanoseconds{0})) return;
  if (wake() && for_term) ++term_writes_;
}

bool Waker::is_due_for_term() {
  const TimePoint now = parts_.clock.now();
  if (const std::uint64_t term = parts_.term(); term != term_) {
    term_ = term;
    term_begin_ = now;
    term_writes_ = 0;
  }
  return term_writes_ < kOfTerm.size() && now - term_begin_ >= kOfTerm.at(term_writes_);
}

bool Waker::is_offered_in_vain() {
  bool any = false;
  for (const std::string& uid : parts_.denials.offered_in_vain()) {
    if (parts_.pods.find(uid)) {
      any = true;
    } else {
      parts_.denials.forget(uid);
    }
  }
  return any;
}

void Waker::follow() {
  const auto denials = parts_.denials.all();
  std::map<std::string, Case> now;
  for (const DenialPtr& denial : denials) {
    const std::string& uid = denial->pod->uid;
    const auto known = cases_.find(uid);
    const bool was_shown = known != cases_.end() && known->second.shown;
    const bool shown = parts_.pods.find(uid) != nullptr;
    if (!shown && (was_shown || parts_.clock.now() - denial->at > kUnseen)) {
      parts_.denials.forget(uid);
      continue;
    }
    if (known != cases_.end() && known->second.denial == denial) {
      known->second.shown = shown;
      now.insert(cases_.extract(known));
    } else {
      now.emplace(uid, Case{.denial = denial, .shown = shown, .checked = denial->version});
    }
  }
  cases_ = std::move(now);
}

/// One write wakes all pods, so the first one that has room is enough.
void Waker::find_room() {
  if (cases_.empty()) return;
  const auto has_room = [](const auto& one) { return one.second.room && one.second.tries == 0; };
  if (std::any_of(cases_.begin(), cases_.end(), has_room)) return;
  model::Ledger::Uids in_doubt;
  const auto cluster = parts_.ledger.apply([&](model::Ledger& ledger) {
    ledger.expire_reservations();
    in_doubt = ledger.in_doubt();
    return ledger.snapshot();
  });
  follow_claims(*cluster);
  std::uint64_t oldest = cluster->version();
  for (const auto& [uid, waiting] : cases_) oldest = std::min(oldest, waiting.checked);
  const Nodes changed = changed_nodes(*cluster, oldest);
  model::SearchBudget budget(kSteps);
  for (auto& [uid, waiting] : cases_) {
    const std::int64_t skipped = budget.skipped();
    if (!waiting.room && (is_settled(*waiting.denial, in_doubt) ||
                          fits_one_of(waiting, changed, *cluster, budget))) {
      waiting.room = parts_.clock.now();
      return;
    }
    // What was not searched is looked at again: what was found of a node is remembered.
    if (budget.skipped() == skipped) waiting.checked = cluster->version();
  }
  if (budget.skipped() == 0) freed_.clear();
}

/// kube-scheduler tells no extender that a nomination has ended.
void Waker::follow_claims(const model::ClusterSnapshot& cluster) {
  parts_.promises.review(cluster, parts_.pods);
  Claims now;
  for (const auto& pod : parts_.pods.nominated()) now[pod->nominated_node].insert(pod->uid);
  for (const Nomination& one : parts_.promises.nominated()) now[one.node].insert(one.pod->uid);
  for (const auto& [node, pods] : claims_) {
    const auto still = now.find(node);
    const bool same =
        still != now.end() &&
        std::includes(still->second.begin(), still->second.end(), pods.begin(), pods.end());
    if (!same) freed_.insert(node);
  }
  claims_ = std::move(now);
}

/// Is what it waited for decided?
bool Waker::is_settled(const Denial& denial, const model::Ledger::Uids& in_doubt) const {
  if (denial.for_now && parts_.clock.now() - denial.at >= kForNow) return true;
  const auto known = [&](const std::string& pod) { return !in_doubt.contains(pod); };
  return !denial.in_doubt.empty() &&
         std::all_of(denial.in_doubt.begin(), denial.in_doubt.end(), known);
}

Waker::Nodes Waker::changed_nodes(const model::ClusterSnapshot& cluster,
                                  std::uint64_t since) const {
  Nodes changed;
  if (since == cluster.version() && freed_.empty()) return changed;
  for (model::NodeIndex i = 0; i < cluster.slots(); ++i) {
    const auto node = cluster.found_at(i);
    if (node && (node->node->version > since || freed_.contains(node->node->name))) {
      changed.push_back(*node);
    }
  }
  return changed;
}

bool Waker::fits_one_of(const Case& waiting, const Nodes& changed,
                        const model::ClusterSnapshot& cluster, model::SearchBudget& budget) const {
  const Denial& denial = *waiting.denial;
  // A node that was not asked about is no use to the pod, or new: kube-scheduler sees that itself.
  const auto concerns = [&](const auto& node) {
    const bool asked = node.index < denial.nodes.size() && denial.nodes[node.index];
    const bool changed_since =
        node.node->version > waiting.checked || freed_.contains(node.node->name);
    return changed_since && (asked || denial.unknown.contains(node.node->name));
  };
  if (std::none_of(changed.begin(), changed.end(), concerns)) return false;
  const auto plan = parts_.policies.plan(*denial.pod);
  if (!plan) return false;
  PodView view(cluster);
  fit_to_pod(view, *denial.pod, "", {parts_.pods, parts_.promises}, parts_.policies);
  auto pass =
      plan->policies->cache.open(*plan->policy, plan->demand, cluster, budget, denial.pod->uid);
  return std::any_of(changed.begin(), changed.end(), [&](const auto& node) {
    if (!concerns(node)) return false;
    const auto* otherwise = view.replacement(node.node->name);
    return pass.judge(otherwise != nullptr ? PodView::made_up(*otherwise) : node).fits();
  });
}

void Waker::check_room(Case& waiting) {
  const Denial& denial = *waiting.denial;
  if (denial.for_now || !denial.in_doubt.empty()) return;
  const auto cluster = parts_.ledger.snapshot();
  model::SearchBudget budget(kSteps);
  const std::uint64_t checked = std::exchange(waiting.checked, denial.version);
  if (fits_one_of(waiting, changed_nodes(*cluster, denial.version), *cluster, budget)) {
    waiting.checked = checked;
  } else if (budget.skipped() == 0) {
    waiting.checked = cluster->version();
    waiting.room.reset();
    waiting.tries = 0;
  }
}

bool Waker::is_due(const Case& waiting) const {
  const TimePoint now = parts_.clock.now();
  if (!waiting.room || now - *waiting.room < kGrace) return false;
  return waiting.tries == 0 || (waiting.tries < kMostTries && now - woken_ >= kPatience);
}

bool Waker::wake() {
  kube::Request request;
  request.method = kube::Method::kPatch;
  request.path =
      "/apis/storage.k8s.io/v1/namespaces/" + settings_.ns + "/csistoragecapacities/" + kObject;
  request.content_type = "application/merge-patch+json";
  request.body = patch(parts_.clock.wall());
  request.timeout = settings_.api_timeout;
  const auto response = parts_.api.call(request);
  const TimePoint now = parts_.clock.now();
  if (response && response->status == 200) {
    ++sent_;
    backoff_ = {};
    woken_ = now;
    for (auto& [uid, waiting] : cases_) ++waiting.tries;
    parts_.denials.forget_offered_in_vain();
    return true;
  }
  ++failed_;
  backoff_ = backoff_ == milliseconds{} ? kFirstBackoff : std::min(2 * backoff_, kMaxBackoff);
  next_try_ = now + backoff_;
  spdlog::warn(
      "waiting pods could not be woken, so some may wait 5 minutes beside free room: "
      "PATCH {}: {}",
      request.path,
      response ? "status " + std::to_string(response->status) : response.error().message);
  return false;
}

std::vector<prometheus::MetricFamily> Waker::Collect() const {
  MetricFamilies all;
  auto family = MetricFamily::counter(
      "tangram_wakes_total",
      "Times that kube-scheduler was made to try waiting pods again, because room had appeared "
      "that its own events did not show, by result.");
  family.add({{"result", "sent"}}, sent_.load());
  family.add({{"result", "failed"}}, failed_.load());
  family.into(all);
  return all;
}

}  // namespace tangram::extender
