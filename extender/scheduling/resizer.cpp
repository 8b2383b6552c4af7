#include "extender/scheduling/resizer.hpp"

#include "base/metric_family.hpp"
#include "base/sleeper.hpp"
#include "cluster/allocations.hpp"
#include "extender/scheduling/grant_on_pod.hpp"
#include "extender/scheduling/pod_view.hpp"
#include "model/annotations.hpp"
#include "model/grant.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tangram::extender {

namespace {

using cluster::ResizeState;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kInterval{100};
/// After a failure: doubling from the first to the second.
constexpr milliseconds kFirstBackoff{200};
constexpr milliseconds kMaxBackoff{30'000};
/// Before it is tried again what a node's agent had no room for, and the ledger has: at first.
constexpr seconds kAfterTakingBack{10};
/// An API server works on a request for 60 s at most.
constexpr seconds kLateWrite{70};
/// Of a write without an answer, in six seconds; then it is not sent again, so that it is decided
/// after kLateWrite, and its room comes back. The ones that follow are sent once.
constexpr int kMostSends = 5;
/// Before a revision is looked for that the API server took and the watch, which takes a second,
/// has not shown. An agent that has seen it publishes within 35 s what its containers are held to,
/// or tries twice in this time. That counts even if the revision is gone.
constexpr seconds kUnshown{70};

constexpr std::string_view kNoMoreRevisions =
    "somebody has given its grant the last revision that there is; delete the pod, and create it "
    "with the new request";
constexpr std::string_view kRejected =
    "the API server does not let the extender write the pod's next grant: an admission webhook or "
    "policy rejects it, or the extender lacks a right; its log says which, and it tries again";
constexpr std::string_view kNoAnswer =
    "the API server does not say whether it wrote the pod's next grant: it fails, or an admission "
    "webhook does; the extender's log has its answer, and it tries again";
constexpr std::string_view kNotSigned =
    "the pod's grant is signed, and this extender has no known key to sign the next one; see "
    "docs/signing.md";

}  // namespace

Resizer::Resizer(ResizerSettings settings, Parts parts)
    : settings_(settings), parts_(std::move(parts)) {}

void Resizer::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look();
    sleep_until_stopped(kInterval, stop);
  }
}

void Resizer::look() {
  follow();
  std::vector<Case*> in_order;
  for (auto& [uid, its] : cases_) in_order.push_back(&its);
  std::ranges::stable_sort(in_order, {}, &Case::since);
  for (Case* its : in_order) {
    advance(*its);
    report(*its);
  }
  std::array<std::uint64_t, cluster::kAllResizeStates.size()> states{};
  for (const auto& [uid, its] : cases_) {
    if (its.resize) ++states.at(static_cast<std::size_t>(its.resize->state));
  }
  for (std::size_t i = 0; i < states.size(); ++i) states_.at(i) = states.at(i);
}

/// A request that changes is a new one.
void Resizer::follow() {
  const TimePoint now = parts_.clock.now();
  std::set<std::string_view> uids;
  const auto pods = parts_.pods.resizable();
  for (const cluster::ResizablePodPtr& pod : pods) {
    uids.insert(pod->pod.uid);
    const auto [found, is_new] = cases_.try_emplace(pod->pod.uid);
    Case& its = found->second;
    const auto before = std::exchange(its.pod, pod);
    if (before == pod) continue;
    if (is_new || before->request != pod->request) {
      its.since = its.next_try = now;
      its.backoff = kFirstBackoff;
      its.after_taking_back = kAfterTakingBack;
      refuse(its, "");
    }
    its.version = 0;
  }
  for (auto& [uid, its] : cases_) {
    if (!uids.contains(uid)) refuse(its, "");
  }
  std::erase_if(cases_, [&](const auto& known) {
    return !uids.contains(known.first) && !known.second.doubt;
  });
}

void Resizer::advance(Case& its) {
  const TimePoint now = parts_.clock.now();
  if (its.doubt) return now < its.next_try ? void() : settle(its);
  if (its.unshown && now >= *its.unshown) look_for_revision(its);
  const auto cluster = parts_.ledger.snapshot();
  const auto found = cluster->lookup(its.pod->node);
  if (!found) return;
  const bool is_due = its.wanted != Wanted::kNothing && now >= its.next_try;
  if (found->node->version == its.version && !is_due) return;
  its.version = found->node->version;
  const model::NodeState& node = *found->node;
  const model::Allocation* const allocation = node.find_allocation(its.pod->pod.uid);
  its.wanted = Wanted::kNothing;
  its.resize.reset();
  if (allocation == nullptr || allocation->terminating) return;
  decide(its, *allocation, node);
  if (is_done(its, *allocation, node)) return parts_.pods.forget_resizable(its.pod);
  if (its.wanted != Wanted::kNothing && now >= its.next_try) write(its, *allocation, node);
  show_refusal(its);
}

void Resizer::show_refusal(Case& its) {
  if (!its.refused.empty()) its.resize = cluster::Resize{ResizeState::kInfeasible, its.refused};
}

void Resizer::decide(Case& its, const model::Allocation& allocation, const model::NodeState& node) {
  its.resize = state_of(its, allocation, node);
  its.wanted = wanted_of(its, allocation, node);
  if (its.wanted == Wanted::kNothing) refuse(its, "");
}

bool Resizer::is_damaged(const Case& its) {
  return its.pod->is_damaged && its.undamaged != its.pod;
}

bool Resizer::is_done(const Case& its, const model::Allocation& allocation,
                      const model::NodeState& node) {
  const auto& request = its.pod->request;
  return !its.resize && !is_damaged(its) && request &&
         cluster::has_all_it_requests(allocation, *request, node);
}

/// Says that what is wanted cannot be written now. @param why  "" = it can, as far as is known
void Resizer::refuse(Case& its, std::string_view why) {
  if (std::exchange(its.refused, why) != why) {
    parts_.pods.set_refused_resize(its.pod->pod.uid, why);
  }
}

Resizer::Wanted Resizer::wanted_of(const Case& its, const model::Allocation& allocation,
                                   const model::NodeState& node) {
  if (cluster::must_be_taken_back(allocation, node)) return Wanted::kFormer;
  if (!its.resize) return is_damaged(its) ? Wanted::kRepeated : Wanted::kNothing;
  if (its.resize->state == ResizeState::kProposed) return Wanted::kNext;
  const bool replaced = cluster::may_be_replaced(allocation, its.pod->revision, node);
  return replaced ? Wanted::kRepeated : Wanted::kNothing;
}

/// Room of pods that preempted others and wait for it is not given away.
std::optional<cluster::Resize> Resizer::state_of(Case& its, const model::Allocation& allocation,
                                                 const model::NodeState& node) {
  auto resize = cluster::resize_of(allocation, its.pod.get(), node);
  if (!resize || resize->state != ResizeState::kProposed) return resize;
  const auto nominated =
      nominated_above({parts_.pods, parts_.promises}, allocation.pod_uid, allocation.priority);
  const auto here = nominated.find(allocation.node);
  if (here == nominated.end()) return resize;
  its.version = 0;  // the nomination may end without a change of the node
  return cluster::resize_of(allocation, its.pod.get(),
                            keep_room(node, here->second, parts_.policies));
}

/// What becomes so while another replica leads, or none, is reported by the next one that does.
void Resizer::report(Case& its) const {
  if (its.resize == its.reported) return;
  const bool deferred = its.resize && its.resize->state == ResizeState::kDeferred;
  if (!deferred && !(its.resize && its.resize->state == ResizeState::kInfeasible)) {
    its.reported.reset();
    return;
  }
  if (!may_write()) return;
  its.reported = its.resize;
  parts_.report(its.pod->pod, deferred ? "ResizeDeferred" : "ResizeInfeasible",
                "the resize of the pod is " + std::string(deferred ? "deferred" : "infeasible") +
                    ": " + std::string(its.resize->reason));
}

bool Resizer::may_write() const { return parts_.may_write(settings_.api_timeout); }

void Resizer::put_off(Case& its) {
  its.next_try = parts_.clock.now() + its.backoff;
  its.backoff = std::min(its.backoff * 2, kMaxBackoff);
}

std::optional<model::Ledger::Entry> Resizer::find_entry(const std::string& uid) const {
  return parts_.ledger.apply([&](const model::Ledger& ledger) {
    const auto* found = ledger.find(uid);
    return found == nullptr ? std::nullopt : std::optional(*found);
  });
}

/// @param pod  as it is now
bool Resizer::is_still_wanted(Case& its, const kube::Pod& pod, const model::Ledger::Entry& entry,
                              const model::Allocation& allocation) const {
  const auto plan = parts_.policies.plan(pod);
  const auto recorded = cluster::recorded_allocation(pod, *parts_.check);
  // Whatever else stands there was not written by an extender, and is replaced.
  const bool ours = is_ours(recorded, entry);
  const bool behind = ours && recorded.allocation.revision > allocation.revision;
  const bool stands = ours && cluster::same_revision(recorded.allocation, allocation);
  // While another replica leads, its revisions look like damage until the ledger has them.
  if (stands) its.undamaged = its.pod;
  const auto requested = plan ? std::optional(plan->demand.gpu) : std::nullopt;
  return requested == its.pod->request && !behind && !(stands && its.wanted == Wanted::kRepeated);
}

void Resizer::write(Case& its, const model::Allocation& allocation, const model::NodeState& node) {
  const std::scoped_lock lock(writing_);
  if (!may_write()) return;
  const cluster::PodName& name = its.pod->pod;
  const auto entry = find_entry(name.uid);
  // The watch has not shown the grant yet, or the revision that was written last.
  if (entry && entry->former && !its.unshown) its.unshown = parts_.clock.now() + kUnshown;
  if (!entry || entry->issued_at.empty() || entry->former) return;
  const auto pod = kube::read_pod(parts_.api, name.ns, name.name, settings_.api_timeout);
  if (!pod || pod->uid != name.uid || pod->deleting || pod->finished) return put_off(its);
  if (!is_still_wanted(its, *pod, *entry, allocation)) return put_off(its);
  model::Allocation next = revision_for(its, allocation, node);
  next.revision = std::max(next.revision, 1 + its.written);
  const bool written = send(its, *pod, *entry, next);
  if (written && its.wanted == Wanted::kFormer) {
    its.next_try = parts_.clock.now() + its.after_taking_back;
    its.after_taking_back = std::min(its.after_taking_back * 2, kMaxBackoff);
  }
}

model::Allocation Resizer::revision_for(const Case& its, const model::Allocation& allocation,
                                        const model::NodeState& node) {
  if (its.wanted == Wanted::kFormer) return cluster::taken_back(allocation, node);
  if (its.wanted == Wanted::kRepeated) return cluster::repeated(allocation, node);
  return cluster::next_revision(allocation, *its.pod->request, node);
}

/// @returns whether it was written
bool Resizer::send(Case& its, const kube::Pod& pod, const model::Ledger::Entry& entry,
                   const model::Allocation& next) {
  if (next.revision > model::Grant::kMaxRevision) {
    refuse(its, kNoMoreRevisions);
    put_off(its);
    return false;
  }
  const std::string text = model::encode_signed({.pod_uid = next.pod_uid,
                                                 .node = next.node,
                                                 .issued_at = entry.issued_at,
                                                 .revision = next.revision,
                                                 .former_refused = next.former_refused,
                                                 .max_burst = next.max_burst,
                                                 .isolation = next.isolation,
                                                 .containers = next.containers,
                                                 .signature = {}},
                                                *parts_.sign);
  const model::SignatureCheck& check = *parts_.check;
  if (entry.is_signed && !model::is_known_key(check(text).key)) {
    refuse(its, kNotSigned);
    put_off(its);
    return false;
  }
  // Once more: reading the pod may have taken its time.
  const bool taken = may_write() && parts_.ledger.apply([&](model::Ledger& ledger) {
    return ledger.resize(next).has_value();
  });
  if (!taken) {
    put_off(its);
    return false;
  }
  its.doubt = Doubt{.change = {.ns = pod.ns,
                               .name = pod.name,
                               .uid = pod.uid,
                               .resource_version = pod.resource_version,
                               .annotation = std::string(model::kGrantAnnotation),
                               .value = text},
                    .revision = next.revision};
  ++doubts_;
  const auto written = try_to_write(its);
  if (written || written.error().code != Errc::kTimeout) end_doubt(its, written.has_value());
  return written.has_value();
}

/// Sends the write that is in doubt, perhaps again.
/// @returns why it was not applied; kTimeout = it may have been
Result<void> Resizer::try_to_write(Case& its) {
  const TimePoint before = std::exchange(its.doubt->sent, parts_.clock.now());
  auto written = kube::annotate_pod(parts_.api, its.doubt->change, settings_.api_timeout);
  if (written) {
    count(ResizeOutcome::kWritten);
    its.backoff = kFirstBackoff;
    refuse(its, "");
    return written;
  }
  const Errc code = written.error().code;
  if (code != Errc::kTimeout) its.doubt->sent = before;  // nothing of this one comes
  const bool is_new = code == Errc::kInvalidArgument && its.refused != kRejected;
  spdlog::log(is_new ? spdlog::level::warn : spdlog::level::info, "{}", written.error().message);
  count(code == Errc::kTimeout ? ResizeOutcome::kUnknown : ResizeOutcome::kRefused);
  if (code == Errc::kInvalidArgument) refuse(its, kRejected);
  its.doubt->sends = its.refused == kNoAnswer ? kMostSends : its.doubt->sends + 1;
  if (code == Errc::kTimeout && its.doubt->sends >= kMostSends) refuse(its, kNoAnswer);
  put_off(its);
  return written;
}

/// Finds out what came of a write without an answer. Nothing of it comes any more once the pod has
/// another version than the write's precondition.
void Resizer::settle(Case& its) {
  const std::scoped_lock lock(writing_);
  const kube::PodAnnotation& change = its.doubt->change;
  const TimePoint before = parts_.clock.now();
  const auto pod = kube::read_pod(parts_.api, change.ns, change.name, settings_.api_timeout);
  const bool gone = pod ? pod->uid != change.uid : pod.error().code == Errc::kNotFound;
  if (gone) return end_doubt(its, false);
  if (!pod) return put_off(its);
  // Applied, or overtaken, or applied and overwritten at once, when an agent may have seen it.
  if (pod->resource_version != change.resource_version) return end_doubt(its, true);
  if (before - its.doubt->sent > kLateWrite) {
    end_doubt(its, false);
    return put_off(its);  // the room is others' for a while
  }
  if (its.doubt->sends < kMostSends && may_write()) {
    if (try_to_write(its)) return end_doubt(its, true);
    return show_refusal(its);
  }
  put_off(its);
  its.next_try = std::min(its.next_try, its.doubt->sent + kLateWrite + kInterval);
}

/// @param applied  perhaps: if the watch does not show it, look_for_revision() decides
void Resizer::end_doubt(Case& its, bool applied) {
  if (applied) {
    its.written = its.doubt->revision;
    its.unshown = parts_.clock.now() + kUnshown;
  } else {
    cancel(its.pod->pod.uid);
  }
  its.doubt.reset();
  --doubts_;
}

void Resizer::cancel(const std::string& uid) {
  parts_.ledger.apply([&](model::Ledger& ledger) { ledger.cancel_resize(uid); });
}

/// The watch has not shown a revision that the API server took: somebody may have written over it
/// at once. Then its room would stay taken, and no other revision would be written.
void Resizer::look_for_revision(Case& its) {
  const cluster::PodName& name = its.pod->pod;
  its.unshown.reset();
  const auto entry = find_entry(name.uid);
  if (!entry || !entry->former) return;
  const auto pod = kube::read_pod(parts_.api, name.ns, name.name, settings_.api_timeout);
  const bool unknown = !pod && pod.error().code != Errc::kNotFound;
  if (unknown || (pod && pod->uid == name.uid && has_revision(*pod, *entry))) {
    its.unshown = parts_.clock.now() + kUnshown;
    return;
  }
  const bool is_applied = has_applied(*entry->allocation);
  spdlog::warn("pod {}/{} does not have revision {} of its grant, which its agent has {}", name.ns,
               name.name, entry->allocation->revision, is_applied ? "applied" : "not applied");
  its.version = 0;
  if (!is_applied) return cancel(name.uid);
  // Its containers are held to it, so it counts, as if the watch had shown it; and is repaired.
  parts_.ledger.apply([&](model::Ledger& ledger) {
    ledger.observe(entry->allocation, entry->is_signed, entry->issued_at);
  });
}

bool Resizer::has_applied(const model::Allocation& allocation) const {
  const auto cluster = parts_.ledger.snapshot();
  const model::NodeState* const node = cluster->find(allocation.node);
  const auto* answer =
      node == nullptr ? nullptr : model::answer_of(*node->inventory, allocation.pod_uid);
  return answer != nullptr && answer->applied >= allocation.revision;
}

bool Resizer::has_revision(const kube::Pod& pod, const model::Ledger::Entry& entry) const {
  const auto recorded = cluster::recorded_allocation(pod, *parts_.check);
  return is_ours(recorded, entry) && recorded.allocation.revision >= entry.allocation->revision;
}

bool Resizer::finish() {
  const std::scoped_lock lock(writing_);
  return doubts_ == 0;
}

void Resizer::count(ResizeOutcome outcome) { ++results_.at(static_cast<std::size_t>(outcome)); }

std::vector<prometheus::MetricFamily> Resizer::Collect() const {
  MetricFamilies all;
  auto results = MetricFamily::counter(
      "tangram_resizes_total", "Revisions of running pods' grants that were written, by result.");
  for (std::size_t i = 0; i < results_.size(); ++i) {
    results.add({{"result", std::string(kResizeOutcomeNames.at(i))}}, results_.at(i).load());
  }
  results.into(all);
  auto states = MetricFamily::gauge("tangram_resizing_pods",
                                    "Running pods whose resize has not ended, by state.");
  for (const ResizeState state : cluster::kAllResizeStates) {
    states.add({{"state", std::string(to_string(state))}},
               states_.at(static_cast<std::size_t>(state)).load());
  }
  states.into(all);
  return all;
}

}  // namespace tangram::extender
