#include "extender/evictor.hpp"

#include "base/metric_family.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace tangram::extender {

namespace {

using kube::EvictionOutcome;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kFirstBackoff{10};  // what servers say themselves when a budget refuses
constexpr seconds kMaxBackoff{300};
/// How long a namespace's turn counts. A namespace without stuck pods for a moment stays behind the
/// others, and no more turns are remembered than there were evictions in that time.
constexpr seconds kRemembered{600};

/// Does a controller replace the pod, and can the new one come to another node?
bool is_replaced(const kube::Controller& controller) {
  return !controller.kind.empty() && controller.kind != "DaemonSet" && controller.kind != "Node";
}

std::string in_words(const kube::Controller& controller) {
  return controller.kind + " " + controller.name;
}

}  // namespace

std::string_view to_string(EvictionOutcome outcome) {
  switch (outcome) {
    case EvictionOutcome::kEvicted:
      return "evicted";
    case EvictionOutcome::kGone:
      return "gone";
    case EvictionOutcome::kRefused:
      return "refused";
    case EvictionOutcome::kFailed:
      return "failed";
  }
  return "unknown";
}

Evictor::Evictor(EvictorSettings settings, Parts parts)
    : settings_(settings),
      parts_(std::move(parts)),
      limiter_(nanoseconds(std::chrono::minutes(1)) / settings_.per_minute, 1, parts_.clock) {}

std::vector<prometheus::MetricFamily> Evictor::Collect() const {
  MetricFamilies all;
  auto family = MetricFamily::counter(settings_.metric.name, settings_.metric.help);
  for (std::size_t i = 0; i < kEvictionOutcomes; ++i) {
    family.add({{"result", std::string(to_string(static_cast<EvictionOutcome>(i)))}},
               results_.at(i).load());
  }
  family.into(all);
  return all;
}

void Evictor::look(const std::vector<EvictionCase>& cases) {
  follow(cases);
  if (!parts_.may_write(settings_.api_timeout)) return;
  const EvictionCase* const next = next_of(cases);
  if (next == nullptr) return;
  Case& its = cases_.at(next->pod.uid);
  const std::string obstacle = parts_.obstacle ? parts_.obstacle(*next) : "";
  if (!obstacle.empty()) {
    last_turn_.insert_or_assign(next->pod.ns, parts_.clock.now());
    report(*next, its, obstacle);
    put_off(its);
  } else if (parts_.may_write(settings_.api_timeout) && limiter_.reserve(nanoseconds(0))) {
    evict(*next, its);
  }
}

const EvictionCase* Evictor::next_of(const std::vector<EvictionCase>& cases) {
  const TimePoint now = parts_.clock.now();
  using Rank = std::pair<std::optional<TimePoint>, TimePoint>;  // no turn comes before any turn
  std::optional<Rank> first;
  const EvictionCase* next = nullptr;
  for (const EvictionCase& one : cases) {
    Case& its = cases_.at(one.pod.uid);
    if (!one.controller || (!one.at_once && now - its.since < settings_.after)) continue;
    if (!may_evict(one)) {
      report(one, its, advice(one));
      continue;
    }
    const auto turn = last_turn_.find(one.pod.ns);
    const Rank rank{turn == last_turn_.end() ? std::nullopt : std::optional(turn->second),
                    its.since};
    if (its.next_try > now || (first && rank >= *first)) continue;
    first = rank;
    next = &one;
  }
  return next;
}

/// A pod that is not named any more begins anew when it is again.
void Evictor::follow(const std::vector<EvictionCase>& cases) {
  const TimePoint now = parts_.clock.now();
  std::set<std::string_view> uids;
  for (const EvictionCase& one : cases) {
    uids.insert(one.pod.uid);
    cases_.try_emplace(
        one.pod.uid, Case{.since = now, .next_try = now, .backoff = kFirstBackoff, .reported = {}});
  }
  std::erase_if(cases_, [&](const auto& known) { return !uids.contains(known.first); });
  std::erase_if(last_turn_, [&](const auto& turn) { return now - turn.second > kRemembered; });
}

bool Evictor::may_evict(const EvictionCase& one) const {
  return settings_.enabled && is_replaced(*one.controller);
}

std::string Evictor::advice(const EvictionCase& one) const {
  const kube::Controller& controller = *one.controller;
  if (controller.kind == "Node") {
    return "it is a static pod, which no scheduler places: take what it asks of GPUs out of its "
           "manifest";
  }
  if (controller.kind.empty()) {
    return "no controller replaces it: delete the pod and create it again";
  }
  return "delete the pod, so that " + in_words(controller) + " makes another one";
}

void Evictor::report(const EvictionCase& one, Case& its, const std::string& what_next) {
  if (its.reported.insert(what_next).second) parts_.report(one.pod, one.why + "; " + what_next);
}

/// Even an evicted pod is named until the watch shows that it goes.
void Evictor::put_off(Case& its, seconds at_least) const {
  its.next_try = parts_.clock.now() + std::max(its.backoff, at_least);
  its.backoff = std::min(its.backoff * 2, kMaxBackoff);
}

void Evictor::evict(const EvictionCase& one, Case& its) {
  report(one, its,
         "it is evicted, so that " + in_words(*one.controller) +
             " makes another one, which is placed anew");
  const cluster::PodName& pod = one.pod;
  last_turn_.insert_or_assign(pod.ns, parts_.clock.now());
  const kube::EvictionAnswer answer = kube::evict_pod(
      parts_.api, {.ns = pod.ns, .name = pod.name, .uid = pod.uid}, settings_.api_timeout);
  ++results_.at(static_cast<std::size_t>(answer.outcome));
  if (answer.outcome == EvictionOutcome::kEvicted) {
    spdlog::info("pod {}/{} was evicted", pod.ns, pod.name);
    if (parts_.evicted) parts_.evicted(one);
  } else {
    spdlog::warn("pod {}/{} was not evicted: {}", pod.ns, pod.name, answer.message);
  }
  if (answer.outcome == EvictionOutcome::kRefused) {
    report(one, its, "it stays for now, because a disruption budget does not let it go");
  }
  put_off(its, answer.retry_after.value_or(seconds(0)));
}

}  // namespace tangram::extender
