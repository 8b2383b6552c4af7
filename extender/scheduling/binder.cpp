#include "extender/scheduling/binder.hpp"

#include "cluster/allocations.hpp"
#include "extender/scheduling/pod_view.hpp"
#include "model/fit.hpp"
#include "model/grant.hpp"
#include "model/placement.hpp"

#include <spdlog/spdlog.h>

namespace tangram::extender {

namespace {

const Binder::BindResult kNotLeading{BindOutcome::kUnavailable,
                                     "this replica does not lead any more; try again"};

BindOutcome outcome_of(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument:
      return BindOutcome::kInvalid;
    case Errc::kUnavailable:
    case Errc::kTimeout:
      return BindOutcome::kUnavailable;
    case Errc::kNotFound:
    case Errc::kConflict:
      return BindOutcome::kRefused;
    case Errc::kStale:
      return BindOutcome::kNoRoom;
  }
  return BindOutcome::kRefused;
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

Binder::BindResult Binder::bind(const BindArgs& args) {
  if (!parts_.may_write(settings_.api_timeout)) return kNotLeading;
  const auto held = parts_.ledger.apply([&](model::Ledger& ledger) {
    const auto* entry = ledger.find(args.uid);
    return entry == nullptr ? model::Ledger::Entry{} : *entry;
  });
  if (held.allocation && held.phase != model::Phase::kReserved) return bind_again(args, held);
  const auto pod = find_pod(args);
  if (!pod) return refuse(args, outcome_of(pod.error().code), pod.error().message);
  if ((*pod)->node == args.node) return {BindOutcome::kAlreadyBound, ""};
  const auto plan = parts_.policies.plan(**pod);
  if (!plan) return refuse(args, BindOutcome::kInvalid, plan.error().message);
  const auto assumed = assume(args, **pod, plan->demand, *plan->policy);
  if (!assumed) return refuse(args, outcome_of(assumed.error().code), assumed.error().message);
  return send(args, *assumed, std::nullopt);
}

Binder::BindResult Binder::bind_again(const BindArgs& args, const model::Ledger::Entry& entry) {
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
  return send(args, *entry.allocation, entry.deadline);
}

Result<cluster::PodPtr> Binder::find_pod(const BindArgs& args) {
  if (auto pod = parts_.pods.find(args.uid)) return pod;
  auto read = kube::read_pod(parts_.api, args.ns, args.name, settings_.api_timeout);
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
  const auto nominated = nominated_above(parts_.pods, pod.uid, pod.priority);
  return parts_.ledger.apply([&](model::Ledger& ledger) -> Result<model::Allocation> {
    const auto cluster = ledger.snapshot();
    const model::NodeState* known = cluster->find(args.node);
    if (known == nullptr) {
      // filter accepts it: for a pod without cards, the node need not be Tangram's. The watch adds
      // the pod to the ledger.
      if (!demand.gpu.asks_gpu()) return cluster::allocation_for(pod, args.node, demand, {});
      return fail(Errc::kStale, std::string(model::reason(model::Misfit::kUnknownNode)));
    }
    model::NodeState node = model::without_pods(*known, {pod.uid});  // its reservation
    if (const auto here = nominated.find(args.node); here != nominated.end()) {
      node = keep_room(node, here->second, parts_.policies);
    }
    const auto choice = policy.choose(demand, node);
    if (!choice) {
      return fail(Errc::kStale, std::string(model::reason(model::why_not(demand.gpu, node))));
    }
    model::Allocation allocation = cluster::allocation_for(
        pod, args.node, demand, model::grants_of(demand.gpu, node, choice->placement));
    if (auto assumed = ledger.assume(allocation, settings_.assume_ttl); !assumed) {
      return assumed.error();
    }
    return allocation;
  });
}

std::string Binder::grant_text(const model::Allocation& allocation) const {
  return model::encode_signed({.pod_uid = allocation.pod_uid,
                               .node = allocation.node,
                               .issued_at = rfc3339(parts_.clock.wall()),
                               .isolation = allocation.isolation,
                               .containers = allocation.containers,
                               .signature = {}},
                              *parts_.sign);
}

Binder::BindResult Binder::send(const BindArgs& args, const model::Allocation& allocation,
                                UnknownUntil before) {
  // Once more: reading the pod may have taken its time.
  if (!parts_.may_write(settings_.api_timeout)) {
    give_up(args, before);
    return kNotLeading;
  }
  kube::Binding binding{
      .ns = args.ns, .name = args.name, .uid = args.uid, .node = args.node, .annotations = {}};
  if (!allocation.containers.empty()) {
    binding.annotations.emplace(model::kGrantAnnotation, grant_text(allocation));
  }
  const auto bound = kube::bind_pod(parts_.api, binding, settings_.api_timeout);
  if (bound) return confirmed(args);
  const Errc code = bound.error().code;
  // A conflict: the pod is bound, perhaps by an earlier bind of ours.
  if (code == Errc::kTimeout || code == Errc::kConflict) {
    return check_bind(args, allocation, bound.error());
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

Binder::BindResult Binder::confirmed(const BindArgs& args) {
  parts_.offers.forget(args.uid);
  // Not there any more: the pod ended while the answer was on its way. It was bound all the same.
  parts_.ledger.apply([&](model::Ledger& ledger) { return ledger.confirm(args.uid).has_value(); });
  return {BindOutcome::kBound, ""};
}

Binder::BindResult Binder::check_bind(const BindArgs& args, const model::Allocation& allocation,
                                      const Error& error) {
  const auto pod = kube::read_pod(parts_.api, args.ns, args.name, settings_.api_timeout);
  const bool gone = pod ? pod->uid != args.uid : pod.error().code == Errc::kNotFound;
  if (pod && !gone && pod->node == args.node) {
    const model::Allocation recorded = cluster::recorded_allocation(*pod, *parts_.check).allocation;
    if (recorded.isolation == allocation.isolation &&
        recorded.containers == allocation.containers) {
      return confirmed(args);
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
  spdlog::info("bind of pod {}/{} to node {} failed ({}): {}", args.ns, args.name, args.node,
               to_string(outcome), why);
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
  const bool resolved = parts_.ledger.apply([&](model::Ledger& ledger) {
    if (!ledger.is_unchanged(late)) return false;  // its bind was sent again, or ended, meanwhile
    if (bound_here) return ledger.confirm(allocation.pod_uid).has_value();
    return ledger.forget(allocation.pod_uid);
  });
  if (!resolved) return;
  spdlog::warn("pod {}/{} on node {} was assumed and not seen bound in time: {}",
               allocation.pod_namespace, allocation.pod_name, allocation.node,
               bound_here ? "it is bound" : "released");
}

}  // namespace tangram::extender
