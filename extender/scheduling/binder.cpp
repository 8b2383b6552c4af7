#include "extender/scheduling/binder.hpp"

#include "cluster/allocations.hpp"
#include "extender/scheduling/make_way.hpp"
#include "extender/scheduling/pod_view.hpp"
#include "model/fit.hpp"
#include "model/grant.hpp"
#include "model/placement.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace tangram::extender {

namespace {

using std::chrono::milliseconds;

const Binder::BindResult kNotLeading{BindOutcome::kUnavailable,
                                     "this replica does not lead any more; try again"};
const Binder::BindResult kNoTimeLeft{
    BindOutcome::kUnavailable,
    "the bind has waited too long; the API server may be slow; try again"};

// How the time that is left goes to a bind's requests. A write gets most of it, and enough stays to
// read what came of it.
constexpr int kPartForPod = 50;
constexpr int kPartForWrite = 75;
constexpr int kPartForOutcome = 100;
// Less is no use: an API server under load takes tens of milliseconds.
constexpr milliseconds kLeastTime{100};

BindOutcome outcome_of(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument:
      return BindOutcome::kInvalid;
    case Errc::kUnavailable:
    case Errc::kTimeout:
    case Errc::kTooLarge:
      return BindOutcome::kUnavailable;
    case Errc::kNotFound:
    case Errc::kConflict:
      return BindOutcome::kRefused;
    case Errc::kStale:
      return BindOutcome::kNoRoom;
  }
  return BindOutcome::kRefused;
}

/// Of the grant on a bound pod, for Ledger::confirm().
struct BoundGrant {
  bool is_signed = false;
  std::string issued_at;
};
/// @returns nothing unless the pod has a grant of exactly this
std::optional<BoundGrant> grant_of(const kube::Pod& pod, const model::Allocation& allocation,
                                   const model::SignatureCheck& check) {
  auto recorded = cluster::recorded_allocation(pod, check);
  if (recorded.allocation.isolation != allocation.isolation ||
      recorded.allocation.containers != allocation.containers) {
    return std::nullopt;
  }
  return BoundGrant{.is_signed = model::is_known_key(recorded.grant_key),
                    .issued_at = std::move(recorded.issued_at)};
}

}  // namespace

std::string_view to_string(BindOutcome outcome) {
  switch (outcome) {
    case BindOutcome::kBound:
      return "bound";
    case BindOutcome::kAlreadyBound:
      return "already_bound";
    case BindOutcome::kNoRoom:
      return "no_room";
    case BindOutcome::kRefused:
      return "refused";
    case BindOutcome::kUnknown:
      return "unknown";
    case BindOutcome::kInvalid:
      return "invalid";
    case BindOutcome::kUnavailable:
      return "unavailable";
  }
  return "unknown";
}

Binder::BindResult Binder::bind(const BindArgs& args, TimePoint deadline) {
  const TimePoint begin = parts_.clock.now();
  Decision decision{.args = args};
  BindResult result = try_bind(args, deadline, decision);
  // Of a repeated request, and of one to a replica that does not lead, nothing was decided.
  if (result.outcome == BindOutcome::kAlreadyBound || result.error == kNotLeading.error) {
    return result;
  }
  decision.outcome = to_string(result.outcome);
  decision.why = result.error;
  decision.took = parts_.clock.now() - begin;
  log_.write(decision);
  return result;
}

milliseconds Binder::part(int percent, TimePoint deadline) const {
  const auto left = std::chrono::floor<milliseconds>(deadline - parts_.clock.now());
  return std::max(left * percent / 100, milliseconds(0));
}

Binder::BindResult Binder::try_bind(const BindArgs& args, TimePoint deadline, Decision& decision) {
  if (!parts_.may_write(part(kPartForWrite, deadline))) return kNotLeading;
  const auto held = parts_.ledger.apply([&](model::Ledger& ledger) {
    const auto* entry = ledger.find(args.uid);
    return entry == nullptr ? model::Ledger::Entry{} : *entry;
  });
  if (held.allocation && held.phase != model::Phase::kReserved) {
    decision.allocation = held.allocation;
    return bind_again(args, deadline, held);
  }
  const auto pod = find_pod(args, deadline);
  if (!pod) return refuse(args, outcome_of(pod.error().code), pod.error().message);
  if ((*pod)->node == args.node) return {BindOutcome::kAlreadyBound, ""};
  const auto plan = parts_.policies.plan(**pod);
  if (!plan) return refuse(args, BindOutcome::kInvalid, plan.error().message);
  const auto assumed = assume(args, **pod, plan->demand, *plan->policy);
  if (!assumed) return refuse(args, outcome_of(assumed.error().code), assumed.error().message);
  decision.policy = plan->policy->name();
  decision.allocation = std::make_shared<const model::Allocation>(*assumed);
  return send(args, deadline, *assumed, std::nullopt);
}

Binder::BindResult Binder::bind_again(const BindArgs& args, TimePoint deadline,
                                      const model::Ledger::Entry& entry) {
  if (entry.allocation->node != args.node) {
    return {BindOutcome::kRefused,
            "pod holds a place on node " + entry.allocation->node + " already"};
  }
  if (entry.phase == model::Phase::kConfirmed) return {BindOutcome::kAlreadyBound, ""};
  const auto taken = parts_.ledger.apply([&](model::Ledger& ledger) {
    return ledger.assume(*entry.allocation, settings_.assume_ttl);
  });
  // Taken by one caller only: a bind that is under way cannot be assumed again.
  if (!taken) return {BindOutcome::kUnavailable, "an earlier bind of this pod is still under way"};
  return send(args, deadline, *entry.allocation, entry.deadline);
}

Result<cluster::PodPtr> Binder::find_pod(const BindArgs& args, TimePoint deadline) {
  if (auto pod = parts_.pods.find(args.uid)) return pod;
  auto read = kube::read_pod(parts_.api, args.ns, args.name, part(kPartForPod, deadline));
  if (!read) return read.error();
  if (read->uid != args.uid) {
    return fail(Errc::kNotFound, "pod " + args.ns + "/" + args.name + " was deleted and made anew");
  }
  if (!read->node.empty() && read->node != args.node) {
    return fail(Errc::kConflict, "pod is bound to node " + read->node + " already");
  }
  return std::make_shared<const kube::Pod>(std::move(*read));
}

Result<model::Allocation> Binder::assume(const BindArgs& args, const kube::Pod& pod,
                                         const model::PodDemand& demand,
                                         const policies::Policy& policy) {
  const auto nominated = nominated_above({parts_.pods, parts_.promises}, pod.uid, pod.priority);
  return parts_.ledger.apply([&](model::Ledger& ledger) -> Result<model::Allocation> {
    ledger.expire_reservations();
    const auto cluster = ledger.snapshot();
    const model::NodeState* known = cluster->find(args.node);
    if (known == nullptr) {
      // filter accepts it: for a pod without cards, the node need not be Tangram's. The watch adds
      // the pod to the ledger.
      if (!demand.gpu.asks_gpu()) return cluster::allocation_without_cards(pod, args.node);
      return fail(Errc::kStale, std::string(model::reason(model::Misfit::kUnknownNode)));
    }
    model::NodeState node = model::without_pods(*known, {pod.uid});  // its reservation
    if (const auto here = nominated.find(args.node); here != nominated.end()) {
      node = keep_room(node, here->second, parts_.policies);
    }
    model::Ledger::Uids displaced;
    auto choice = policy.choose(demand, node);
    if (!choice) {
      model::SearchBudget budget;
      auto way = make_way(node, demand, policy, pod.priority, budget);
      if (!way) {
        return fail(Errc::kStale, std::string(model::reason(model::why_not(demand.gpu, node))));
      }
      node = std::move(way->node);
      choice = std::move(way->choice);
      displaced = std::move(way->displaced);
    }
    model::Allocation allocation = cluster::allocation_for(pod, node, demand, choice->placement);
    if (auto assumed = ledger.assume(allocation, settings_.assume_ttl, displaced); !assumed) {
      return assumed.error();
    }
    return allocation;
  });
}

std::string Binder::grant_text(const model::Allocation& allocation, std::string issued_at) const {
  return model::encode_signed({.pod_uid = allocation.pod_uid,
                               .node = allocation.node,
                               .issued_at = std::move(issued_at),
                               .max_burst = allocation.max_burst,
                               .isolation = allocation.isolation,
                               .containers = allocation.containers,
                               .signature = {}},
                              *parts_.sign);
}

Binder::BindResult Binder::send(const BindArgs& args, TimePoint deadline,
                                const model::Allocation& allocation, UnknownUntil before) {
  const milliseconds timeout = part(kPartForWrite, deadline);
  // Once more: reading the pod may have taken its time.
  const bool may_write = parts_.may_write(timeout);
  if (!may_write || timeout < kLeastTime) {
    give_up(args, before);
    return may_write ? kNoTimeLeft : kNotLeading;
  }
  kube::Binding binding{
      .ns = args.ns, .name = args.name, .uid = args.uid, .node = args.node, .annotations = {}};
  std::string issued_at;
  bool is_signed = false;
  if (!allocation.containers.empty()) {
    issued_at = rfc3339(parts_.clock.wall());
    std::string text = grant_text(allocation, issued_at);
    const model::SignatureCheck& check = *parts_.check;
    is_signed = check && model::is_known_key(check(text).key);
    binding.annotations.emplace(model::kGrantAnnotation, std::move(text));
  }
  const auto bound = kube::bind_pod(parts_.api, binding, timeout);
  if (bound) return confirmed(args, is_signed, std::move(issued_at));
  const Errc code = bound.error().code;
  // A conflict: the pod is bound, perhaps by an earlier bind of ours.
  if (code == Errc::kTimeout || code == Errc::kConflict) {
    return check_bind(args, deadline, allocation, bound.error());
  }
  give_up(args, code == Errc::kNotFound ? std::nullopt : before);
  return refuse(args, outcome_of(code), bound.error().message);
}

/// This write had no effect, so it prolongs no doubt; one that was sent before may still have some.
void Binder::give_up(const BindArgs& args, UnknownUntil before) {
  parts_.ledger.apply([&](model::Ledger& ledger) {
    if (before) {
      ledger.outcome_unknown(args.uid, *before);
    } else {
      ledger.forget(args.uid);
    }
  });
}

Binder::BindResult Binder::confirmed(const BindArgs& args, bool is_signed, std::string issued_at) {
  parts_.offers.forget(args.uid);
  // Not there any more: the pod ended while the answer was on its way. It was bound all the same.
  parts_.ledger.apply([&](model::Ledger& ledger) {
    return ledger.confirm(args.uid, is_signed, std::move(issued_at)).has_value();
  });
  return {BindOutcome::kBound, ""};
}

Result<kube::Pod> Binder::read_outcome(const BindArgs& args, TimePoint deadline) {
  const milliseconds timeout = part(kPartForOutcome, deadline);
  if (timeout < kLeastTime) return fail(Errc::kUnavailable, "no time is left to read the pod");
  return kube::read_pod(parts_.api, args.ns, args.name, timeout);
}

Binder::BindResult Binder::check_bind(const BindArgs& args, TimePoint deadline,
                                      const model::Allocation& allocation, const Error& error) {
  const auto pod = read_outcome(args, deadline);
  const bool gone = pod ? pod->uid != args.uid : pod.error().code == Errc::kNotFound;
  if (pod && !gone && pod->node == args.node) {
    if (auto grant = grant_of(*pod, allocation, *parts_.check)) {
      return confirmed(args, grant->is_signed, std::move(grant->issued_at));
    }
  }
  const bool decided = gone || (pod && (!pod->node.empty() || error.code == Errc::kConflict));
  if (decided) {
    parts_.ledger.apply([&](model::Ledger& ledger) { ledger.forget(args.uid); });
    return refuse(args, BindOutcome::kRefused, error.message);
  }
  // Not bound, or unknown: the write may still come through. The allocation stays, and the
  // next try sends the same again; resolve_overdue() ends it if there is none.
  parts_.ledger.apply([&](model::Ledger& ledger) {
    ledger.outcome_unknown(args.uid, parts_.clock.now() + settings_.assume_ttl);
  });
  return refuse(args, BindOutcome::kUnknown,
                "the outcome of the bind is not known yet: " + error.message);
}

Binder::BindResult Binder::refuse(const BindArgs& args, BindOutcome outcome, std::string why) {
  parts_.offers.bind_failed(args.uid, args.node);
  return {outcome, std::move(why)};
}

std::size_t Binder::resolve_overdue(const std::stop_token& stop) {
  // At a few seconds each, the others' turn comes soon.
  constexpr std::size_t kAtATime = 8;
  const auto late =
      parts_.ledger.apply([](model::Ledger& ledger) { return ledger.overdue(kAtATime); });
  for (const model::Ledger::Overdue& overdue : late) {
    if (stop.stop_requested()) break;
    resolve(overdue);
  }
  return late.size();
}

void Binder::resolve(const model::Ledger::Overdue& late) {
  const model::Allocation& allocation = *late.allocation;
  const auto pod = kube::read_pod(parts_.api, allocation.pod_namespace, allocation.pod_name,
                                  settings_.api_timeout);
  if (!pod && pod.error().code != Errc::kNotFound) return;  // asked again after another ttl
  const bool bound_here =
      pod && pod->uid == allocation.pod_uid && pod->node == allocation.node && !pod->finished;
  auto grant = bound_here ? grant_of(*pod, allocation, *parts_.check) : std::nullopt;
  const bool resolved = parts_.ledger.apply([&](model::Ledger& ledger) {
    if (!ledger.is_unchanged(late)) return false;  // its bind was sent again, or ended, meanwhile
    if (!bound_here) return ledger.forget(allocation.pod_uid);
    if (!grant) return ledger.confirm(allocation.pod_uid).has_value();  // the watch shows it
    return ledger.confirm(allocation.pod_uid, grant->is_signed, grant->issued_at).has_value();
  });
  if (!resolved) return;
  spdlog::warn("pod {}/{} on node {} was assumed and not seen bound in time: {}",
               allocation.pod_namespace, allocation.pod_name, allocation.node,
               bound_here ? "it is bound" : "released");
}

}  // namespace tangram::extender
