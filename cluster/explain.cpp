#include "cluster/explain.hpp"

#include "base/json.hpp"
#include "base/quote.hpp"
#include "cluster/explain_group.hpp"
#include "cluster/explain_summary.hpp"
#include "cluster/in_tree.hpp"
#include "cluster/isolation_text.hpp"
#include "cluster/packing_json.hpp"
#include "cluster/victims.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace tangram::cluster {

namespace {

/// Searches of one explanation, in steps: up to 100 ms.
constexpr std::int64_t kExplainSteps = 2'000'000;

using json::Writer;
using model::Allocation;
using model::Card;
using model::NodeState;

void write_request(Writer& out, const model::GpuRequest& request) {
  out.key("request").begin_object();
  out.member("isolation", isolation_text(request));
  if (request.memory_limits != model::MemoryLimits::kNone) {
    out.member("memoryLimits", to_string(request.memory_limits));
  }
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
      case model::ShareForm::kReplica:
        out.member("share", "replica").member("resource", to_string(container.share.resource));
        break;
    }
    out.end_object();
  }
  out.end_array().end_object();
}

/// The isolation modes that the card can run in.
void write_offers(Writer& out, const Card& card) {
  out.key("offers").begin_array();
  for (const model::Isolation mode : model::kAllIsolationModes) {
    if (card.isolation.has(mode)) out.string(to_string(mode));
  }
  out.end_array();
}

/// Whether each card could take each container's share, by itself.
void write_card_fits(Writer& out, const model::GpuRequest& request, const NodeState& node) {
  out.key("cards").begin_array();
  for (std::size_t i = 0; i < node.cards().size(); ++i) {
    const Card& card = node.cards()[i];
    out.begin_object();
    write_card_facts(out, card, node.use[i]);
    write_mode(out, node.use[i]);
    write_offers(out, card);
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

/// The nodes of an explanation, each as JSON: all in the order they come, or those that
/// fit best.
class ExplainedNodes {
 public:
  explicit ExplainedNodes(std::optional<std::size_t> most) : most_(most) {}

  [[nodiscard]] bool wants(const NodeFit& fit) const {
    if (!most_) return true;
    if (!fit.choice || *most_ == 0) return false;
    return nodes_.size() < *most_ || fit.score() > nodes_.back().score;
  }
  void add(const NodeFit& fit, std::string json) {
    Node node{fit.score(), std::move(json)};
    if (!most_) return nodes_.push_back(std::move(node));
    const auto place = std::ranges::upper_bound(nodes_, node.score, std::greater(), &Node::score);
    nodes_.insert(place, std::move(node));
    if (nodes_.size() > *most_) nodes_.pop_back();
  }
  void write(Writer& out) const {
    out.begin_array();
    for (const Node& node : nodes_) out.raw(node.json);
    out.end_array();
  }

 private:
  struct Node {
    std::int64_t score = 0;
    std::string json;
  };
  const std::optional<std::size_t> most_;
  std::vector<Node> nodes_;
};

std::string node_json(const model::GpuRequest& request, const NodeFit& fit) {
  std::string text;
  Writer out(text);
  const NodeState& node = fit.node;
  out.begin_object().member("name", node.name).member("fits", fit.choice.has_value());
  if (fit.choice) {
    if (!fit.blocked.empty()) out.member("blocked", fit.blocked);
    out.member("score", fit.choice->score).key("wouldGet").begin_array();
    for (const std::uint32_t card : fit.choice->placement) out.string(node.cards()[card].id);
    out.end_array();
  } else {
    out.member("why", reason(fit.misfit)).member("fragmented", fit.fragmented);
  }
  write_card_fits(out, request, node);
  out.end_object();
  return text;
}

/// Why no scheduler places the pod, whatever the nodes have.
/// @returns empty if none is known
std::string kept_from_scheduling(const kube::Pod& pod, bool tried,
                                 const std::vector<Note>& findings) {
  const bool slot_missing =
      std::ranges::find(findings, Finding::kSlotMissing, &Note::finding) != findings.end();
  if (slot_missing && !has_slots(pod)) {
    return "the pod has no slot, so kube-scheduler does not ask Tangram about it: see the finding "
           "SlotMissing";
  }
  if (pod.gated) {
    return "the pod has scheduling gates, so no scheduler tries it until spec.schedulingGates is "
           "empty";
  }
  if (tried) return "";
  // API servers write the default; tools that stand in for one may omit it.
  const std::string named = pod.scheduler.empty() ? "default-scheduler" : pod.scheduler;
  return "no scheduler has tried the pod yet; if that stays so, none serves its schedulerName " +
         quote(named);
}

void write_head(Writer& out, const kube::Pod& pod, bool tried) {
  out.begin_object().member("namespace", pod.ns).member("name", pod.name).member("uid", pod.uid);
  out.member("state", "pending").member("scheduler", pod.scheduler).member("tried", tried);
}

/// Who would be evicted for a pod that fits no node.
void write_preemption(Writer& out, const kube::Pod& pod, const PodPlan& plan,
                      const model::ClusterSnapshot& cluster, const BudgetList& budgets) {
  std::vector<const NodeState*> short_of_cards;
  std::optional<NodeState> without_pod;  // it has a hold on one node at most
  for (const NodeState* node : cluster.sorted_nodes()) {
    if (node->find_allocation(pod.uid) != nullptr) {
      node = &without_pod.emplace(model::without_pods(*node, {pod.uid}));
    }
    if (node->present && fits_in_tree(plan.demand, *node)) short_of_cards.push_back(node);
  }
  const auto preemption = expected_preemption(plan.demand, *plan.policy, pod.priority, budgets,
                                              std::move(short_of_cards));
  if (!preemption) return;
  out.key("preemption").begin_object().member("node", preemption->node);
  out.key("victims").begin_array();
  for (const model::AllocationPtr& victim : preemption->victims.pods) {
    out.begin_object().member("namespace", victim->pod_namespace).member("name", victim->pod_name);
    out.member("priority", victim->priority).end_object();
  }
  out.end_array().end_object();
}

/// The room that others make for the pod.
void write_room(Writer& out, const RoomBeingMade& room, const model::ClusterSnapshot& cluster) {
  const NodeState* node = cluster.find(room.node);
  const auto left = std::ranges::count_if(room.leaving, [&](const std::string& uid) {
    return node == nullptr || node->find_allocation(uid) == nullptr;
  });
  out.key("room").begin_object().member("by", room.by).member("node", room.node);
  out.member("pods", std::ssize(room.leaving)).member("left", left).end_object();
}

/// Why the node starts none of its new containers.
/// @returns empty if nothing is known
std::string cannot_start_there(const NodeState* node, const std::string& name) {
  if (node == nullptr || !node->present) {
    return "node " + name + " is not in the cluster; delete the pod, so that it is placed again";
  }
  if (node->inventory->slots > 0) return "";
  return std::string(kNoSlots) + ". " + std::string(kSeeAgents);
}

void write_grant(Writer& out, const Allocation& allocation) {
  out.key("containers").begin_array();
  for (const auto& container : allocation.containers) {
    out.begin_object().member("name", container.container).key("cards").begin_array();
    for (const auto& card : container.cards) {
      out.begin_object().member("uuid", card.uuid).member("memMiB", card.memory.count());
      out.member("milli", card.compute.count()).member("memLimitMiB", card.memory_limit.count());
      out.member("milliLimit", card.compute_limit.count());
      if (card.whole) out.member("whole", *card.whole);
      out.member("memoryLimits", to_string(card.memory_limits));
      out.end_object();
    }
    out.end_array().end_object();
  }
  out.end_array();
}

/// Of a pod whose request has changed since it was placed.
void write_resize(Writer& out, const Allocation& allocation, const model::ClusterSnapshot& cluster,
                  const PodTable& pods) {
  if (allocation.revision > 0) out.member("revision", allocation.revision);
  const NodeState* const node = cluster.find(allocation.node);
  if (node == nullptr) return;
  const auto pod = pods.find_resizable(allocation.pod_uid);
  auto resize = resize_of(allocation, pod.get(), *node);
  if (!resize) return;
  if (const auto refused = pods.refused_resize(allocation.pod_uid); !refused.empty()) {
    resize = Resize{ResizeState::kInfeasible, refused};
  }
  out.key("resize").begin_object().member("state", to_string(resize->state));
  out.member("reason", resize->reason).end_object();
}

}  // namespace

std::string explain_pending(const kube::Pod& pod, const PodPlan& plan,
                            const model::ClusterSnapshot& cluster, const PodTable& pods,
                            const PolicySource& policies, std::optional<std::size_t> most_nodes,
                            const KnownToExplain& known) {
  const std::vector<Note> findings = pods.notes(pod.uid);
  const bool tried = pod.tried || pods.was_asked(pod.uid);
  std::string text;
  Writer out(text);
  write_head(out, pod, tried);
  out.member("policy", plan.policy->name());
  write_request(out, plan.demand.gpu);
  write_findings(out, findings);
  ExplainSummary summary(kept_from_scheduling(pod, tried, findings), plan.demand.gpu);
  ExplainedNodes nodes(most_nodes);
  model::SearchBudget budget(kExplainSteps);
  bool fits_some = false;
  for (const NodeState* as_is : cluster.sorted_nodes()) {
    const NodeState node = model::without_pods(*as_is, {pod.uid});  // without its own hold
    const NodeFit fit = fit_on(node, plan.demand, *plan.policy, budget);
    summary.add(fit);
    fits_some = fits_some || fit.choice.has_value();
    if (nodes.wants(fit)) nodes.add(fit, node_json(plan.demand.gpu, fit));
  }
  nodes.write(out.key("nodes"));
  summary.write(out);
  write_group(out, pod,
              {.cluster = cluster, .pods = pods, .policies = policies, .groups = known.groups});
  const auto room = known.room ? known.room(pod.uid) : std::nullopt;
  if (room) write_room(out, *room, cluster);
  const bool may_preempt = !room && !pod.never_preempts && !is_in_pod_group(pod);
  if (known.budgets != nullptr && !fits_some && may_preempt) {
    write_preemption(out, pod, plan, cluster, *known.budgets);
  }
  out.member("note", "kube-scheduler also looks at CPU, memory, taints, affinity and volumes");
  out.end_object();
  return text;
}

std::string explain_bound(const Allocation& allocation, const model::ClusterSnapshot& cluster,
                          const PodTable& pods) {
  std::string text;
  Writer out(text);
  out.begin_object()
      .member("namespace", allocation.pod_namespace)
      .member("name", allocation.pod_name);
  out.member("uid", allocation.pod_uid).member("state", "bound").member("node", allocation.node);
  out.member("isolation", to_string(allocation.isolation));
  if (const auto key = pods.grant_key(allocation.pod_uid); !key.empty()) {
    out.member("grantKey", key);
  }
  write_findings(out, pods.notes(allocation.pod_uid));
  write_grant(out, allocation);
  const std::string why = pods.is_unstarted(allocation.pod_uid)
                              ? cannot_start_there(cluster.find(allocation.node), allocation.node)
                              : "";
  if (!why.empty()) out.member("summary", "the pod has not started: " + why);
  write_resize(out, allocation, cluster, pods);
  out.end_object();
  return text;
}

}  // namespace tangram::cluster
