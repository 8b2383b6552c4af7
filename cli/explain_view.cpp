#include "cli/explain_view.hpp"

#include "base/json_members.hpp"

namespace tangram::cli {

namespace {

ExplainedFinding read_finding(json::Reader& in) {
  ExplainedFinding finding;
  json::read_members(in, "finding", finding.finding, "message", finding.message);
  return finding;
}

ExplainedContainer::Granted read_granted(json::Reader& in) {
  ExplainedContainer::Granted granted;
  json::read_members(in, "uuid", granted.uuid, "memMiB", granted.mem_mib, "milli", granted.milli,
                     "memLimitMiB", granted.mem_limit_mib, "milliLimit", granted.milli_limit,
                     "whole", granted.whole, "memoryLimits", granted.memory_limits);
  return granted;
}

ExplainedContainer read_container(json::Reader& in) {
  ExplainedContainer container;
  json::read_members(in, "name", container.name, "count", container.count, "share", container.share,
                     "resource", container.resource, "memMiB", container.mem_mib, "milli",
                     container.milli, "cards", json::each(container.cards, read_granted));
  return container;
}

ExplainedCard::Verdict read_verdict(json::Reader& in) {
  ExplainedCard::Verdict verdict;
  json::read_members(in, "name", verdict.container, "needMemMiB", verdict.need_mem_mib, "needMilli",
                     verdict.need_milli, "why", verdict.why);
  return verdict;
}

ExplainedCard read_card(json::Reader& in) {
  ExplainedCard card;
  json::read_members(in, "uuid", card.uuid, "model", card.model, "memMiB", card.mem_mib,
                     "freeMemMiB", card.free_mem_mib, "freeMilli", card.free_milli, "sharers",
                     card.sharers, "maxSharers", card.max_sharers, "isolation", card.mode, "offers",
                     card.offers, "memoryLimits", card.memory_limits, "reason", card.reason,
                     "containers", json::each(card.verdicts, read_verdict));
  return card;
}

ExplainedNode read_node(json::Reader& in) {
  ExplainedNode node;
  json::read_members(in, "name", node.name, "fits", node.fits, "blocked", node.blocked, "score",
                     node.score, "wouldGet", node.would_get, "why", node.why, "fragmented",
                     node.fragmented, "cards", json::each(node.cards, read_card));
  return node;
}

ExplainedVictim read_victim(json::Reader& in) {
  ExplainedVictim victim;
  json::read_members(in, "namespace", victim.ns, "name", victim.name, "priority", victim.priority);
  return victim;
}

}  // namespace

Result<ExplainView> read_explain_view(std::string json) {
  ExplainView view;
  json::Reader in(json);
  in.make_texts_lines();
  const auto containers = json::each(view.containers, read_container);
  const auto read_request = [&](json::Reader& request) {
    json::read_members(request, "isolation", view.isolation, "memoryLimits", view.memory_limits,
                       "models", view.models, "containers", containers);
  };
  const auto read_resize = [&](json::Reader& resize) {
    json::read_members(resize, "state", view.resize_state, "reason", view.resize_reason);
  };
  const auto read_preemption = [&](json::Reader& preemption) {
    json::read_members(preemption, "node", view.preemption_node, "victims",
                       json::each(view.victims, read_victim));
  };
  const auto read_room = [&](json::Reader& room) {
    json::read_members(room, "by", view.room_by, "node", view.room_node, "pods", view.room_pods,
                       "left", view.room_left);
  };
  const auto read_group = [&](json::Reader& group) {
    json::read_members(group, "summary", view.group);
  };
  json::read_members(
      in, "namespace", view.ns, "name", view.name, "state", view.state, "node", view.node,
      "isolation", view.isolation, "policy", view.policy, "grantKey", view.grant_key, "request",
      read_request, "containers", containers, "findings", json::each(view.findings, read_finding),
      "nodes", json::each(view.nodes, read_node), "summary", view.summary, "note", view.note,
      "resize", read_resize, "preemption", read_preemption, "room", read_room, "group", read_group);
  if (auto done = in.finish(); !done) return done.error();
  return view;
}

}  // namespace tangram::cli
