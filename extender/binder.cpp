#include "extender/binder.hpp"

#include "model/fit.hpp"
#include "model/grant.hpp"
#include "model/placement.hpp"

#include <spdlog/spdlog.h>

namespace tangram::extender {

namespace {

constexpr std::string_view kGrantAnnotation = "tangram.dev/gpu-grant";

model::Holding holding_for(const kube::Pod& pod, const std::string& node,
                           const model::PodDemand& demand) {
  return {.pod_uid = pod.uid,
          .pod_namespace = pod.ns,
          .pod_name = pod.name,
          .node = node,
          .footprint = pod.footprint,
          .priority = pod.priority,
          // What the grant will say, so that the watch shows exactly what was booked.
          .isolation = demand.gpu.asks_gpu() ? demand.gpu.isolation : model::Isolation::kNone,
          .containers = {}};
}

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

Binder::Answer Binder::bind(const BindArgs& args) {
  const auto held = parts_.books.apply([&](model::Ledger& ledger) {
    const auto* entry = ledger.find(args.uid);
    return entry == nullptr ? model::Ledger::Entry{} : *entry;
  });
  if (held.holding) {
    if (held.holding->node != args.node) {
      return {BindOutcome::kRefused,
              "pod holds a place on node " + held.holding->node + " already"};
    }
    if (held.phase == model::Phase::kConfirmed) return {BindOutcome::kAlreadyBound, ""};
    return {BindOutcome::kUnavailable, "an earlier bind of this pod is still under way"};
  }
  const auto pod = find_pod(args);
  if (!pod) return refuse(args, outcome_of(pod.error().code), pod.error().message);
  if ((*pod)->node == args.node) return {BindOutcome::kAlreadyBound, ""};
  const auto plan = parts_.policies.plan(**pod);
  if (!plan) return refuse(args, BindOutcome::kInvalid, plan.error().message);
  const auto booked = book(args, **pod, plan->demand, *plan->policy);
  if (!booked) return refuse(args, outcome_of(booked.error().code), booked.error().message);
  return send(args, *booked);
}

Result<PodPtr> Binder::find_pod(const BindArgs& args) {
  if (auto pod = parts_.pending.find(args.uid)) return pod;
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

Result<Binder::Booked> Binder::book(const BindArgs& args, const kube::Pod& pod,
                                    const model::PodDemand& demand,
                                    const policies::Policy& policy) {
  return parts_.books.apply([&](model::Ledger& ledger) -> Result<Booked> {
    const auto cluster = ledger.snapshot();
    const model::NodeState* node = cluster->find(args.node);
    Booked booked{.holding = holding_for(pod, args.node, demand), .grant = {}};
    if (node == nullptr) {
      // filter lets it pass: where no card is asked, the node need not be Tangram's. The watch
      // books the pod.
      if (!demand.gpu.asks_gpu()) return booked;
      return fail(Errc::kStale, std::string(model::reason(model::Misfit::kUnknownNode)));
    }
    const auto choice = policy.choose(demand, *node);
    if (!choice) {
      return fail(Errc::kStale, std::string(model::reason(model::why_not(demand.gpu, *node))));
    }
    booked.holding.containers = model::grants_of(demand.gpu, *node, choice->placement);
    if (demand.gpu.asks_gpu()) {
      booked.grant = model::encode(model::Grant{.pod_uid = args.uid,
                                                .node = args.node,
                                                .issued_at = rfc3339(parts_.clock.wall()),
                                                .isolation = booked.holding.isolation,
                                                .containers = booked.holding.containers,
                                                .signature = {}});
    }
    if (auto assumed = ledger.assume(booked.holding, settings_.assume_ttl); !assumed) {
      return assumed.error();
    }
    return booked;
  });
}

Binder::Answer Binder::send(const BindArgs& args, const Booked& booked) {
  kube::Binding binding{
      .ns = args.ns, .name = args.name, .uid = args.uid, .node = args.node, .annotations = {}};
  if (!booked.grant.empty()) binding.annotations.emplace(kGrantAnnotation, booked.grant);
  const auto bound = kube::bind_pod(parts_.api, binding, settings_.api_timeout);
  if (!bound && bound.error().code == Errc::kTimeout) {
    return settle_unknown(args, booked, bound.error().message);
  }
  if (!bound) {
    parts_.books.apply([&](model::Ledger& ledger) { ledger.forget(args.uid); });
    return refuse(args, outcome_of(bound.error().code), bound.error().message);
  }
  parts_.offers.forget(args.uid);
  // Not there any more: the pod ended while the answer was on its way. It was bound all the same.
  parts_.books.apply([&](model::Ledger& ledger) { return ledger.confirm(args.uid).has_value(); });
  return {BindOutcome::kBound, ""};
}

Binder::Answer Binder::settle_unknown(const BindArgs& args, const Booked& booked,
                                      const std::string& why) {
  const auto pod = kube::read_pod(parts_.api, args.ns, args.name, settings_.api_timeout);
  if (!pod && pod.error().code != Errc::kNotFound) {
    // Nothing is known: the booking stays, and settle_overdue() asks again.
    return refuse(args, BindOutcome::kUnknown, "the outcome of the bind is not known yet: " + why);
  }
  const bool same_pod = pod && pod->uid == args.uid;
  const auto grant =
      same_pod ? pod->annotations.find("gpu-grant") : model::Annotations::const_iterator{};
  const bool ours =
      same_pod && pod->node == args.node &&
      (booked.grant.empty() || (grant != pod->annotations.end() && grant->second == booked.grant));
  if (ours) {
    parts_.offers.forget(args.uid);
    parts_.books.apply([&](model::Ledger& ledger) { return ledger.confirm(args.uid).has_value(); });
    return {BindOutcome::kBound, ""};
  }
  parts_.books.apply([&](model::Ledger& ledger) { ledger.forget(args.uid); });
  return refuse(args, BindOutcome::kUnknown, "the bind did not take effect: " + why);
}

Binder::Answer Binder::refuse(const BindArgs& args, BindOutcome outcome, std::string why) {
  parts_.offers.bind_failed(args.uid, args.node);
  spdlog::info("bind of pod {}/{} to node {} failed ({}): {}", args.ns, args.name, args.node,
               to_string(outcome), why);
  return {outcome, std::move(why)};
}

std::size_t Binder::settle_overdue() {
  const auto late = parts_.books.apply([](model::Ledger& ledger) { return ledger.overdue(); });
  for (const model::HoldingPtr& holding : late) {
    const auto pod = kube::read_pod(parts_.api, holding->pod_namespace, holding->pod_name,
                                    settings_.api_timeout);
    if (!pod && pod.error().code != Errc::kNotFound) continue;  // asked again after another ttl
    const bool bound_here =
        pod && pod->uid == holding->pod_uid && pod->node == holding->node && !pod->finished;
    parts_.books.apply([&](model::Ledger& ledger) {
      if (bound_here) return ledger.confirm(holding->pod_uid).has_value();
      return ledger.forget(holding->pod_uid);
    });
    spdlog::warn("pod {}/{} on node {} was booked and not seen bound in time: {}",
                 holding->pod_namespace, holding->pod_name, holding->node,
                 bound_here ? "it is bound" : "released");
  }
  return late.size();
}

}  // namespace tangram::extender
