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
  auto family = MetricFamily::counter(
      "tangram_evictions_total", "Evictions requested of pods that can never start, by result.");
  for (std::size_t i = 0; i < kEvictionOutcomes; ++i) {
    family.add({{"result", std::string(to_string(static_cast<EvictionOutcome>(i)))}},
               results_.at(i).load());
  }
  family.into(all);
  return all;
}

void Evictor::look(const std::vector<cluster::StuckPod>& stuck) {
  follow(stuck);
  if (!parts_.may_write(settings_.api_timeout)) return;
  const cluster::StuckPod* const next = next_of(stuck);
  if (next != nullptr && limiter_.reserve(nanoseconds(0))) {
    evict(*next, cases_.at(next->pod.pod.uid));
  }
}

const cluster::StuckPod* Evictor::next_of(const std::vector<cluster::StuckPod>& stuck) {
  const TimePoint now = parts_.clock.now();
  using Rank = std::pair<std::optional<TimePoint>, TimePoint>;  // no turn comes before any turn
  std::optional<Rank> first;
  const cluster::StuckPod* next = nullptr;
  for (const cluster::StuckPod& pod : stuck) {
    Case& its = cases_.at(pod.pod.pod.uid);
    if (now - its.since < settings_.after) continue;
    if (!may_evict(pod.pod)) {
      report(pod, its);
      continue;
    }
    const auto turn = last_turn_.find(pod.pod.pod.ns);
    const Rank rank{turn == last_turn_.end() ? std::nullopt : std::optional(turn->second),
                    its.since};
    if (its.next_try > now || (first && rank >= *first)) continue;
    first = rank;
    next = &pod;
  }
  return next;
}

/// A pod that is not stuck any more begins anew when it is again.
void Evictor::follow(const std::vector<cluster::StuckPod>& stuck) {
  const TimePoint now = parts_.clock.now();
  std::set<std::string_view> uids;
  for (const cluster::StuckPod& pod : stuck) {
    uids.insert(pod.pod.pod.uid);
    cases_.try_emplace(pod.pod.pod.uid,
                       Case{.since = now, .next_try = now, .backoff = kFirstBackoff});
  }
  std::erase_if(cases_, [&](const auto& known) { return !uids.contains(known.first); });
  std::erase_if(last_turn_, [&](const auto& turn) { return now - turn.second > kRemembered; });
}

bool Evictor::may_evict(const cluster::UnstartedPod& pod) const {
  return settings_.enabled && is_replaced(pod.controller);
}

void Evictor::report(const cluster::StuckPod& stuck, Case& its) {
  if (std::exchange(its.reported, true)) return;
  const kube::Controller& controller = stuck.pod.controller;
  std::string what_next;
  if (may_evict(stuck.pod)) {
    what_next = "it is evicted, so that " + in_words(controller) +
                " makes another one, which is placed anew";
  } else if (controller.kind == "Node") {
    what_next =
        "it is a static pod, which no scheduler places: take what it asks of GPUs out of its "
        "manifest";
  } else if (controller.kind.empty()) {
    what_next = "no controller replaces it: delete the pod and create it again";
  } else {
    what_next = "delete the pod, so that " + in_words(controller) + " makes another one";
  }
  parts_.report(stuck.pod.pod, "the pod cannot start: " + stuck.why + "; " + what_next);
}

void Evictor::evict(const cluster::StuckPod& stuck, Case& its) {
  report(stuck, its);
  const cluster::PodName& pod = stuck.pod.pod;
  last_turn_.insert_or_assign(pod.ns, parts_.clock.now());
  const kube::EvictionAnswer answer = kube::evict_pod(
      parts_.api, {.ns = pod.ns, .name = pod.name, .uid = pod.uid}, settings_.api_timeout);
  ++results_.at(static_cast<std::size_t>(answer.outcome));
  if (answer.outcome == EvictionOutcome::kEvicted) {
    spdlog::info("pod {}/{} was evicted", pod.ns, pod.name);
  } else {
    spdlog::warn("pod {}/{} was not evicted: {}", pod.ns, pod.name, answer.message);
  }
  // Even an evicted pod is stuck until the watch shows that it goes.
  its.next_try =
      parts_.clock.now() + std::max(its.backoff, answer.retry_after.value_or(seconds(0)));
  its.backoff = std::min(its.backoff * 2, kMaxBackoff);
}

}  // namespace tangram::extender
