#include "extender/views.hpp"

#include "base/json.hpp"
#include "model/fit.hpp"

#include <algorithm>
#include <map>

namespace tangram::extender {

namespace {

using json::Writer;
using model::Card;
using model::CardUse;
using model::Holding;
using model::NodeState;

void write_card_facts(Writer& out, const Card& card, const CardUse& use) {
  out.member("uuid", card.id).member("kind", to_string(card.kind)).member("model", card.model);
  out.member("healthy", card.healthy).member("cordoned", card.cordoned);
  if (!card.unavailable_reason.empty()) out.member("reason", card.unavailable_reason);
  out.member("memMiB", card.memory.count()).member("milli", card.compute.count());
  out.member("freeMemMiB", free_memory(card, use).count());
  out.member("freeMilli", free_compute(card, use).count());
  out.member("sharers", use.sharer_count()).member("maxSharers", card.max_sharers);
}

/// "mps" while somebody shares the card; null while nobody does.
void write_mode(Writer& out, const CardUse& use) {
  out.key("isolation");
  for (const model::Isolation mode : model::kAllIsolationModes) {
    if (use.sharers[static_cast<std::size_t>(mode)] > 0) {
      out.string(to_string(mode));
      return;
    }
  }
  out.null();
}

void write_shares(Writer& out, const NodeState& node, const Card& card) {
  out.key("pods").begin_array();
  for (const model::HoldingPtr& holding : node.holdings) {
    for (const auto& container : holding->containers) {
      for (const auto& granted : container.cards) {
        if (granted.uuid != card.id) continue;
        out.begin_object();
        out.member("namespace", holding->pod_namespace).member("name", holding->pod_name);
        out.member("uid", holding->pod_uid).member("container", container.container);
        out.member("memMiB", granted.memory.count()).member("milli", granted.compute.count());
        out.end_object();
      }
    }
  }
  out.end_array();
}

void write_node(Writer& out, const NodeState& node) {
  out.begin_object().member("name", node.name).member("present", node.present);
  out.member("cpuMilli", node.inventory->cpu.count());
  out.member("freeCpuMilli", node.free_cpu().count());
  out.member("memMiB", node.inventory->memory.count());
  out.member("freeMemMiB", node.free_memory().count());
  out.member("pods", static_cast<std::int64_t>(node.holdings.size()));
  if (node.stray_grants > 0) out.member("strayGrants", node.stray_grants);
  out.key("cards").begin_array();
  for (std::size_t i = 0; i < node.cards().size(); ++i) {
    out.begin_object();
    write_card_facts(out, node.cards()[i], node.use[i]);
    out.member("grantedMemMiB", node.use[i].memory.count());
    out.member("grantedMilli", node.use[i].compute.count());
    write_mode(out, node.use[i]);
    write_shares(out, node, node.cards()[i]);
    out.end_object();
  }
  out.end_array().end_object();
}

void write_request(Writer& out, const model::GpuRequest& request) {
  out.key("request").begin_object();
  out.member("isolation", to_string(request.isolation));
  out.key("models").begin_array();
  for (const std::string& glob : request.models) out.string(glob);
  out.end_array();
  if (!request.card_ids.empty()) {
    out.key("uuids").begin_array();
    for (const std::string& glob : request.card_ids) out.string(glob);
    out.end_array();
  }
  out.key("containers").begin_array();
  for (const model::ContainerRequest& container : request.containers) {
    out.begin_object().member("name", container.container).member("count", container.count);
    switch (container.share.form) {
      case model::ShareForm::kWhole:
        out.member("share", "whole");
        break;
      case model::ShareForm::kFraction:
        out.member("share", "fraction").member("milli", container.share.fraction.count());
        break;
      case model::ShareForm::kMemory:
        out.member("share", "memory").member("memMiB", container.share.memory.count());
        if (container.share.compute) out.member("milli", container.share.compute->count());
        break;
    }
    out.end_object();
  }
  out.end_array().end_object();
}

/// Whether each card could take each container's share, by itself.
void write_card_verdicts(Writer& out, const model::GpuRequest& request, const NodeState& node) {
  out.key("cards").begin_array();
  for (std::size_t i = 0; i < node.cards().size(); ++i) {
    const Card& card = node.cards()[i];
    out.begin_object();
    write_card_facts(out, card, node.use[i]);
    write_mode(out, node.use[i]);
    out.key("containers").begin_array();
    for (const model::ContainerRequest& container : request.containers) {
      const model::Slice slice = slice_of(container.share, card);
      const auto misfit = card_misfit(request, slice, card, node.use[i]);
      out.begin_object().member("name", container.container);
      out.member("needMemMiB", slice.memory.count()).member("needMilli", slice.compute.count());
      out.member("fits", !misfit.has_value());
      if (misfit) out.member("why", reason(*misfit));
      out.end_object();
    }
    out.end_array().end_object();
  }
  out.end_array();
}

void write_findings(Writer& out, const std::vector<Note>& notes) {
  out.key("findings").begin_array();
  for (const Note& note : notes) {
    out.begin_object().member("finding", to_string(note.finding));
    out.member("message", note.sentence).end_object();
  }
  out.end_array();
}

/// Would the request fit if the free parts of the node's cards were one card each time it asks
/// for one? Then the node is not full but fragmented.
bool fits_in_sum(const model::GpuRequest& request, const NodeState& node) {
  Mebibytes free_memory;
  MilliGpu free_compute;
  Mebibytes memory;
  MilliGpu compute;
  for (std::size_t i = 0; i < node.cards().size(); ++i) {
    const Card& card = node.cards()[i];
    if (!card.available()) continue;
    free_memory += model::free_memory(card, node.use[i]);
    free_compute += model::free_compute(card, node.use[i]);
  }
  if (node.cards().empty()) return false;
  for (const model::ContainerRequest& container : request.containers) {
    const model::Slice slice = slice_of(container.share, node.cards().front());
    for (int i = 0; i < container.count; ++i) {
      memory += slice.memory;
      compute += slice.compute;
    }
  }
  return memory <= free_memory && compute <= free_compute;
}

/// "fits none of 12 nodes: 8 x no GPU card has ...; 4 x ...".
struct Summary {
  std::size_t nodes = 0;
  std::size_t fitting = 0;
  std::size_t fragmented = 0;  ///< the room is there in sum, but on no card
  std::map<model::Misfit, std::size_t> reasons;

  [[nodiscard]] std::string sentence() const {
    if (nodes == 0) return "there is no node with GPU cards";
    if (fitting > 0) {
      return "fits " + std::to_string(fitting) + " of " + std::to_string(nodes) +
             " nodes by their cards; if it still waits, `kubectl describe pod` names what else "
             "kube-scheduler lacks";
    }
    std::string text = "fits none of " + std::to_string(nodes) + " nodes: ";
    for (auto reason = reasons.begin(); reason != reasons.end(); ++reason) {
      if (reason != reasons.begin()) text += "; ";
      text += std::to_string(reason->second) + " x " + std::string(model::reason(reason->first));
    }
    if (fragmented == 0) return text;
    return text + ". On " + std::to_string(fragmented) +
           " of them the free parts of cards would do together, but no card has the room; "
           "kube-scheduler evicts nobody for that, whatever the priority: end or move a pod there, "
           "or ask for smaller parts";
  }
};

std::string explain_pending(const kube::Pod& pod, const PodPlan& plan,
                            const model::ClusterSnapshot& cluster,
                            const std::vector<Note>& findings) {
  std::string text;
  Writer out(text);
  out.begin_object().member("namespace", pod.ns).member("name", pod.name).member("uid", pod.uid);
  out.member("state", "pending").member("policy", plan.policy->name());
  write_request(out, plan.demand.gpu);
  write_findings(out, findings);
  Summary summary;
  out.key("nodes").begin_array();
  for (const NodeState* as_is : cluster.sorted_nodes()) {
    const NodeState without_own_hold = model::without_pods(*as_is, {pod.uid});
    const NodeState* node = &without_own_hold;
    const auto choice = plan.policy->choose(plan.demand, *node);
    ++summary.nodes;
    if (choice) ++summary.fitting;
    out.begin_object().member("name", node->name).member("fits", choice.has_value());
    if (choice) {
      out.member("score", choice->score).key("wouldGet").begin_array();
      for (const std::uint32_t card : choice->placement) out.string(node->cards()[card].id);
      out.end_array();
    } else {
      const model::Misfit misfit = why_not(plan.demand.gpu, *node);
      ++summary.reasons[misfit];
      const bool fragmented = misfit == model::Misfit::kRoom && fits_in_sum(plan.demand.gpu, *node);
      if (fragmented) ++summary.fragmented;
      out.member("why", reason(misfit)).member("fragmented", fragmented);
    }
    write_card_verdicts(out, plan.demand.gpu, *node);
    out.end_object();
  }
  out.end_array().member("fittingNodes", static_cast<std::int64_t>(summary.fitting));
  out.member("summary", summary.sentence());
  out.member(
      "note",
      "kube-scheduler also looks at CPU, memory, taints, affinity and volumes; and it evicts "
      "pods for a higher priority only where slots or aggregates are short, not for room on "
      "one card");
  out.end_object();
  return text;
}

std::string explain_bound(const Holding& holding, const std::vector<Note>& findings) {
  std::string text;
  Writer out(text);
  out.begin_object().member("namespace", holding.pod_namespace).member("name", holding.pod_name);
  out.member("uid", holding.pod_uid).member("state", "bound").member("node", holding.node);
  out.member("isolation", to_string(holding.isolation));
  write_findings(out, findings);
  out.key("containers").begin_array();
  for (const auto& container : holding.containers) {
    out.begin_object().member("name", container.container).key("cards").begin_array();
    for (const auto& card : container.cards) {
      out.begin_object().member("uuid", card.uuid).member("memMiB", card.memory.count());
      out.member("milli", card.compute.count()).member("memLimitMiB", card.memory_limit.count());
      out.member("milliLimit", card.compute_limit.count()).end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().end_object();
  return text;
}

model::HoldingPtr find_bound(const model::ClusterSnapshot& cluster, std::string_view ns,
                             std::string_view name) {
  model::HoldingPtr found;
  cluster.for_each([&](const NodeState& node) {
    for (const model::HoldingPtr& holding : node.holdings) {
      if (!holding->tentative && holding->pod_name == name && holding->pod_namespace == ns)
        found = holding;
    }
  });
  return found;
}

}  // namespace

std::string cluster_json(const model::ClusterSnapshot& cluster, const PendingPods& pending) {
  std::string text;
  Writer out(text);
  out.begin_object().member("version", static_cast<std::int64_t>(cluster.version()));
  out.key("nodes").begin_array();
  for (const NodeState* node : cluster.sorted_nodes()) write_node(out, model::granted_only(*node));
  out.end_array().key("pending").begin_array();
  for (const PodPtr& pod : pending.all()) {
    out.begin_object().member("namespace", pod->ns).member("name", pod->name);
    out.member("uid", pod->uid).end_object();
  }
  out.end_array().end_object();
  return text;
}

Result<std::string> explain_json(std::string_view ns, std::string_view name,
                                 const model::ClusterSnapshot& cluster, const PendingPods& pending,
                                 const PolicySource& policies, const Findings& findings) {
  if (const PodPtr pod = pending.find(ns, name)) {
    const auto plan = policies.plan(*pod);
    if (!plan) return plan.error();
    return explain_pending(*pod, *plan, cluster, findings.of(pod->uid));
  }
  if (const auto holding = find_bound(cluster, ns, name)) {
    return explain_bound(*holding, findings.of(holding->pod_uid));
  }
  return fail(Errc::kNotFound, "no pod " + std::string(ns) + "/" + std::string(name) +
                                   " waits for a node or is bound to one");
}

}  // namespace tangram::extender
