#include "cluster/packing_json.hpp"

namespace tangram::cluster {

namespace {

using json::Writer;
using model::Card;
using model::CardUse;
using model::NodeState;

void write_shares(Writer& out, const NodeState& node, const Card& card) {
  out.key("pods").begin_array();
  for (const model::AllocationPtr& allocation : node.allocations) {
    for (const auto& container : allocation->containers) {
      for (const auto& granted : container.cards) {
        if (granted.uuid != card.id) continue;
        out.begin_object();
        out.member("namespace", allocation->pod_namespace).member("name", allocation->pod_name);
        out.member("uid", allocation->pod_uid).member("container", container.container);
        out.member("memMiB", granted.memory.count()).member("milli", granted.compute.count());
        if (granted.whole) out.member("whole", *granted.whole);
        out.member("memoryLimits", to_string(granted.memory_limits));
        out.end_object();
      }
    }
  }
  out.end_array();
}

void write_packed_card(Writer& out, const NodeState& node, std::uint32_t card) {
  out.begin_object();
  write_card_facts(out, node.cards()[card], node.use[card]);
  out.member("grantedMemMiB", node.use[card].memory.count());
  out.member("grantedMilli", node.use[card].compute.count());
  write_mode(out, node.use[card]);
  write_shares(out, node, node.cards()[card]);
  out.end_object();
}

}  // namespace

void write_card_facts(Writer& out, const Card& card, const CardUse& use) {
  out.member("uuid", card.id).member("kind", to_string(card.kind)).member("model", card.model);
  out.member("healthy", card.healthy).member("cordoned", card.cordoned);
  if (!card.unavailable_reason.empty()) out.member("reason", card.unavailable_reason);
  out.member("memMiB", card.memory.count()).member("milli", card.compute.count());
  out.member("freeMemMiB", free_memory(card, use).count());
  out.member("freeMilli", free_compute(card, use).count());
  out.member("sharers", use.sharer_count()).member("maxSharers", card.max_sharers);
  out.member("memoryLimits", to_string(card.memory_limits));
  if (card.compute_chunks > 0) out.member("computeChunks", card.compute_chunks);
}

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

void write_packed_node(Writer& out, const NodeState& node, const CardChoice& cards) {
  out.begin_object().member("name", node.name).member("present", node.present);
  out.member("cpuMilli", node.inventory->cpu.count());
  out.member("freeCpuMilli", node.free_cpu().count());
  out.member("memMiB", node.inventory->memory.count());
  out.member("freeMemMiB", node.free_memory().count());
  out.member("pods", static_cast<std::int64_t>(node.allocations.size()));
  if (node.stray_grants > 0) out.member("strayGrants", node.stray_grants);
  if (cards) out.member("partial", true);
  out.key("cards").begin_array();
  for (std::uint32_t card = 0; card < node.cards().size(); ++card) {
    if (!cards || (*cards)(card)) write_packed_card(out, node, card);
  }
  out.end_array().end_object();
}

void write_waiting_pod(Writer& out, const kube::Pod& pod) {
  out.begin_object().member("namespace", pod.ns).member("name", pod.name);
  out.member("uid", pod.uid).end_object();
}

std::string packing_json(std::string_view event, const std::vector<model::NodePtr>& nodes,
                         const std::vector<PodPtr>& waiting) {
  std::string text;
  Writer out(text);
  out.begin_object().member("event", event).key("nodes").begin_array();
  for (const model::NodePtr& node : nodes) write_packed_node(out, granted_only(*node));
  out.end_array().key("pending").begin_array();
  for (const PodPtr& pod : waiting) write_waiting_pod(out, *pod);
  out.end_array().end_object();
  return text;
}

}  // namespace tangram::cluster
