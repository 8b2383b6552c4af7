#include "cluster/views.hpp"

#include "base/json.hpp"
#include "cluster/packing_json.hpp"
#include "model/fit.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace tangram::cluster {

namespace {

using json::Writer;
using model::Allocation;
using model::Card;
using model::NodeState;

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
void write_card_fits(Writer& out, const model::GpuRequest& request, const NodeState& node) {
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

/// How one node looks to a pod.
struct NodeFit {
  const NodeState& node;
  std::optional<policies::Choice> choice;
  model::Misfit misfit = model::Misfit::kRoom;  ///< where there is no choice
  bool fragmented = false;

  [[nodiscard]] std::int64_t score() const { return choice ? choice->score : 0; }
};

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

/// "fits none of 12 nodes: 8 x no GPU card has ...; 4 x ...".
struct Summary {
  std::size_t nodes = 0;
  std::size_t fitting = 0;
  std::size_t fragmented = 0;  ///< the room is there in sum, but on no card
  std::map<model::Misfit, std::size_t> reasons;

  /// Completes the fit with why the node does not fit.
  void add(const model::GpuRequest& request, NodeFit& fit) {
    ++nodes;
    if (fit.choice) {
      ++fitting;
      return;
    }
    fit.misfit = why_not(request, fit.node);
    fit.fragmented = fit.misfit == model::Misfit::kRoom && fits_in_sum(request, fit.node);
    ++reasons[fit.misfit];
    if (fit.fragmented) ++fragmented;
  }

  void write(Writer& out) const {
    out.member("fittingNodes", static_cast<std::int64_t>(fitting)).key("reasons").begin_array();
    for (const auto& [misfit, count] : reasons) {
      out.begin_object().member("why", reason(misfit));
      out.member("nodes", static_cast<std::int64_t>(count)).end_object();
    }
    out.end_array().member("summary", sentence());
  }

  [[nodiscard]] std::string sentence() const {
    if (nodes == 0) return "there is no node with GPU cards";
    if (fitting > 0) {
      return "fits " + std::to_string(fitting) + " of " + std::to_string(nodes) +
             " nodes by their cards; if it still waits, `kubectl describe pod` names what else "
             "kube-scheduler lacks";
    }
    std::string text = "fits none of " + std::to_string(nodes) + " nodes: ";
    for (auto row = reasons.begin(); row != reasons.end(); ++row) {
      if (row != reasons.begin()) text += "; ";
      text += std::to_string(row->second) + " x " + std::string(reason(row->first));
    }
    if (fragmented == 0) return text;
    return text + ". On " + std::to_string(fragmented) +
           " of them the free parts of cards would do together, but no card has the room; "
           "kube-scheduler evicts no pod for that, whatever the priority: end or move a pod there, "
           "or ask for smaller parts";
  }
};

std::string explain_pending(const kube::Pod& pod, const PodPlan& plan,
                            const model::ClusterSnapshot& cluster,
                            const std::vector<Note>& findings,
                            std::optional<std::size_t> most_nodes) {
  std::string text;
  Writer out(text);
  out.begin_object().member("namespace", pod.ns).member("name", pod.name).member("uid", pod.uid);
  out.member("state", "pending").member("policy", plan.policy->name());
  write_request(out, plan.demand.gpu);
  write_findings(out, findings);
  Summary summary;
  ExplainedNodes nodes(most_nodes);
  for (const NodeState* as_is : cluster.sorted_nodes()) {
    const NodeState node = model::without_pods(*as_is, {pod.uid});  // without its own hold
    NodeFit fit{.node = node, .choice = plan.policy->choose(plan.demand, node)};
    summary.add(plan.demand.gpu, fit);
    if (nodes.wants(fit)) nodes.add(fit, node_json(plan.demand.gpu, fit));
  }
  nodes.write(out.key("nodes"));
  summary.write(out);
  out.member(
      "note",
      "kube-scheduler also looks at CPU, memory, taints, affinity and volumes; and it evicts "
      "pods for a higher priority only where slots or aggregates are short, not for room on "
      "one card");
  out.end_object();
  return text;
}

std::string explain_bound(const Allocation& allocation, const std::vector<Note>& findings) {
  std::string text;
  Writer out(text);
  out.begin_object()
      .member("namespace", allocation.pod_namespace)
      .member("name", allocation.pod_name);
  out.member("uid", allocation.pod_uid).member("state", "bound").member("node", allocation.node);
  out.member("isolation", to_string(allocation.isolation));
  write_findings(out, findings);
  out.key("containers").begin_array();
  for (const auto& container : allocation.containers) {
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

model::AllocationPtr find_bound(const model::ClusterSnapshot& cluster, std::string_view ns,
                                std::string_view name) {
  model::AllocationPtr found;
  cluster.for_each([&](const NodeState& node) {
    for (const model::AllocationPtr& allocation : node.allocations) {
      if (!allocation->tentative && allocation->pod_name == name && allocation->pod_namespace == ns)
        found = allocation;
    }
  });
  return found;
}

}  // namespace

std::string cluster_json(const model::ClusterSnapshot& cluster, const PodTable& pods) {
  std::string text;
  Writer out(text);
  out.begin_object().member("version", static_cast<std::int64_t>(cluster.version()));
  out.key("nodes").begin_array();
  for (const NodeState* node : cluster.sorted_nodes())
    write_packed_node(out, model::granted_only(*node));
  out.end_array().key("pending").begin_array();
  for (const PodPtr& pod : pods.pending()) {
    write_waiting_pod(out, *pod);
  }
  out.end_array().end_object();
  return text;
}

Result<std::string> explain_json(std::string_view ns, std::string_view name,
                                 const model::ClusterSnapshot& cluster, const PodTable& pods,
                                 const PolicySource& policies,
                                 std::optional<std::size_t> most_nodes) {
  if (const PodPtr pod = pods.find(ns, name)) {
    const auto plan = policies.plan(*pod);
    if (!plan) return plan.error();
    return explain_pending(*pod, *plan, cluster, pods.notes(pod->uid), most_nodes);
  }
  if (const auto allocation = find_bound(cluster, ns, name)) {
    return explain_bound(*allocation, pods.notes(allocation->pod_uid));
  }
  return fail(Errc::kNotFound, "no pod " + std::string(ns) + "/" + std::string(name) +
                                   " waits for a node or is bound to one");
}

}  // namespace tangram::cluster
