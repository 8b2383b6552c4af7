#include "cli/explain.hpp"

#include "cli/format.hpp"
#include "cli/table.hpp"
#include "cluster/isolation_text.hpp"
#include "model/fit.hpp"
#include "model/grant_reading.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace tangram::cli {

namespace {

constexpr std::size_t kIndent = 2;

std::string request_of(const ExplainedContainer& container) {
  const auto count = static_cast<std::size_t>(container.count);
  if (container.share == "whole") return counted(count, "card");
  if (container.share == "replica") return counted(count, "replica") + " of " + container.resource;
  if (container.share == "fraction") return times(count, share_text(MilliGpu(container.milli)));
  std::string each = memory_text(Mebibytes(container.mem_mib));
  if (container.milli >= 0) each += ", " + share_text(MilliGpu(container.milli));
  return times(count, each);
}

std::string request_of(const ExplainView& view) {
  std::string text;
  for (const ExplainedContainer& container : view.containers) {
    if (!text.empty()) text += " + ";
    text += container.name + " " + request_of(container);
  }
  if (text.empty()) return "no GPU card";
  if (!view.models.empty()) text += ", of " + joined(view.models);
  text += "; isolation " + view.isolation;
  if (!view.memory_limits.empty()) text += ", memory limits by " + view.memory_limits + " at least";
  return text + ", policy " + view.policy;
}

std::string findings_text(const Screen& screen, const ExplainView& view) {
  std::string text;
  for (const ExplainedFinding& finding : view.findings) {
    text += paint(screen.style, kBad, finding.finding) + ": " + finding.message + "\n";
  }
  return text;
}

/// ", grant signed by ..."; what an older extender leaves out is "".
std::string signature_text(const ExplainView& view) {
  if (view.grant_key.empty()) return "";
  if (view.grant_key == model::kUnsigned) return ", grant not signed";
  if (view.grant_key == model::kUnknownKey) return ", grant not signed by a key that is known here";
  return ", grant signed by key " + view.grant_key;
}

/// ", memory limits: ..."; "" of an older extender.
std::string limits_of(const ExplainView& view) {
  std::set<std::string> texts;
  for (const ExplainedContainer& container : view.containers) {
    for (const ExplainedContainer::Granted& card : container.cards) {
      if (card.memory_limits.empty()) return "";
      texts.insert(limits_text(card.whole, card.memory_limits));
    }
  }
  return ", memory limits: " + joined({texts.begin(), texts.end()});
}

std::string draw_bound(const Screen& screen, const ExplainView& view) {
  std::string text =
      paint(screen.style, kBold, view.ns + "/" + view.name) + " is bound to node " + view.node;
  Table table({{.name = "CONTAINER", .may_shrink = true},
               {.name = "CARD", .may_shrink = true},
               {.name = "MEMORY", .right = true},
               {.name = "GPU", .right = true},
               {.name = "MEMORY LIMIT", .right = true},
               {.name = "GPU LIMIT", .right = true}});
  for (const ExplainedContainer& container : view.containers) {
    for (const ExplainedContainer::Granted& granted : container.cards) {
      table.add({container.name, granted.uuid, memory_text(Mebibytes(granted.mem_mib)),
                 share_text(MilliGpu(granted.milli)), memory_text(Mebibytes(granted.mem_limit_mib)),
                 share_text(MilliGpu(granted.milli_limit))});
    }
  }
  std::string rest = findings_text(screen, view);
  if (!view.resize_state.empty()) {
    rest += in_lines(screen, paint(screen.style, kBold, "resize " + view.resize_state) +
                                 (view.resize_reason.empty() ? "" : ": " + view.resize_reason)) +
            "\n";
  }
  if (!view.summary.empty()) rest += in_lines(screen, view.summary) + "\n";
  if (table.empty()) return text + " and has no GPU card\n" + rest;
  return text + ", isolation " + view.isolation + limits_of(view) + signature_text(view) + "\n" +
         rest + "\n" + table.text(screen);
}

/// @returns nothing for an unknown sentence, of a newer extender
std::optional<model::Misfit> misfit_of(std::string_view why) {
  for (std::size_t i = 0; i < model::kMisfits; ++i) {
    const auto misfit = static_cast<model::Misfit>(i);
    if (model::reason(misfit) == why) return misfit;
  }
  return std::nullopt;
}

/// How far a node is from a fit: the reasons that are checked last come nearest.
std::size_t distance_of(const ExplainedNode& node) {
  if (node.fits) return node.blocked.empty() ? 0 : 1;
  const auto misfit = misfit_of(node.why);
  return misfit ? 1 + model::kMisfits - static_cast<std::size_t>(*misfit) : model::kMisfits + 2;
}

/// Whether the reason depends on single cards, so that their numbers help.
bool depends_on_cards(const ExplainedNode& node) {
  const auto misfit = misfit_of(node.why);
  return !misfit || *misfit >= model::Misfit::kIsolationBusy ||
         *misfit == model::Misfit::kUnavailable;
}

/// What the card lacks.
std::string lacking(const ExplainedCard& card, const ExplainedCard::Verdict& needs) {
  const std::int64_t memory = needs.need_mem_mib - card.free_mem_mib;
  const std::int64_t milli = needs.need_milli - card.free_milli;
  std::vector<std::string> lacks;
  if (memory > 0) lacks.push_back(memory_text(Mebibytes(memory)));
  if (milli > 0) lacks.push_back(share_text(MilliGpu(milli)) + (memory > 0 ? "" : " of compute"));
  return lacks.empty() ? "is not idle" : "lacks " + joined(lacks);
}

/// Which modes the card offers, and which the pod asks for.
std::string unsupported(const ExplainedCard& card, const std::string& isolation) {
  if (isolation == cluster::kIsolationOfTheNode)
    return "does not offer the isolation of the node's sharing configuration";
  if (card.offers.empty()) {
    return "does not offer " + isolation + ", the isolation that the pod asks for";
  }
  return "offers " + joined(card.offers) + "; the pod asks for " + isolation;
}

/// In which mode the card is in use, and which the pod asks for.
std::string busy(const ExplainedCard& card, const std::string& isolation) {
  const std::string now = card.mode.empty() ? "another isolation" : card.mode;
  return "is in use with " + now +
         (isolation == cluster::kIsolationOfTheNode ? "; replicas need that of the node"
                                                    : "; the pod asks for " + isolation);
}

/// Which memory limits the card has, and which the pod requires.
std::string too_weak(const ExplainedCard& card, const ExplainView& view) {
  const std::string only_in_mps = card.memory_limits == "mps" ? " in the mode mps" : "";
  return "enforces memory limits by " + limits_text(false, card.memory_limits) + only_in_mps +
         "; under " + view.isolation + " the pod requires " + view.memory_limits;
}

/// The same as model::reason(), about one card.
/// @param view  of the pod
std::string card_reason(const ExplainedCard& card, const ExplainedCard::Verdict& verdict,
                        const ExplainView& view) {
  if (verdict.why.empty()) return "fits";
  const auto misfit = misfit_of(verdict.why);
  if (misfit == model::Misfit::kModel) return "is another model";
  if (misfit == model::Misfit::kCardId) return "is not named";
  if (misfit == model::Misfit::kReplicas) return "is shared under another resource";
  if (misfit == model::Misfit::kUnavailable && !card.reason.empty()) return card.reason;
  if (misfit == model::Misfit::kIsolationUnsupported) {
    return unsupported(card, view.isolation);
  }
  if (misfit == model::Misfit::kMemoryLimits) return too_weak(card, view);
  if (misfit == model::Misfit::kTooSmall) return "gives compute in larger chunks";
  if (misfit == model::Misfit::kTooLarge) return "is too small, even idle";
  if (misfit == model::Misfit::kIsolationBusy) return busy(card, view.isolation);
  if (misfit == model::Misfit::kSharers) return "has its maximum of sharers";
  return misfit == model::Misfit::kRoom ? lacking(card, verdict) : verdict.why;
}

std::vector<ExplainedNode> nearest(std::vector<ExplainedNode> nodes, std::size_t most) {
  std::stable_sort(nodes.begin(), nodes.end(), [](const ExplainedNode& a, const ExplainedNode& b) {
    const std::size_t near = distance_of(a);
    const std::size_t far = distance_of(b);
    if (near != far) return near < far;
    return a.fits && a.score > b.score;
  });
  if (nodes.size() > most) nodes.resize(most);
  return nodes;
}

std::string headline(const Screen& screen, const ExplainedNode& node) {
  const std::string name = paint(screen.style, kBold, node.name);
  if (node.fits && !node.blocked.empty()) {
    return in_lines(screen, name + ": fits by its cards, but " + node.blocked) + "\n";
  }
  if (node.fits) {
    return name + ": " + paint(screen.style, kGood, "fits") + ", would get " +
           joined(node.would_get) + "\n";
  }
  std::string text = name + ": " + node.why;
  if (node.fragmented) text += " (the free parts of its cards would suffice together)";
  return in_lines(screen, text) + "\n";
}

std::string cards_text(const Screen& screen, const ExplainedNode& node, const ExplainView& view) {
  Table table({{.name = "CARD", .may_shrink = true},
               {.name = "MODEL", .may_shrink = true},
               {.name = "FREE", .right = true},
               {.name = "NEEDED", .right = true},
               {.name = "SHARERS", .right = true, .dispensable = 2},
               {.name = "MODE", .dispensable = 1},
               {.name = "THIS CARD", .may_shrink = true, .prose = true}});
  for (const ExplainedCard& card : node.cards) {
    for (const ExplainedCard::Verdict& verdict : card.verdicts) {
      std::string why = card_reason(card, verdict, view);
      if (card.verdicts.size() > 1) why.insert(0, verdict.container + ": ");
      table.add({card.uuid, card.model,
                 grant_text(Mebibytes(card.free_mem_mib), MilliGpu(card.free_milli)),
                 grant_text(Mebibytes(verdict.need_mem_mib), MilliGpu(verdict.need_milli)),
                 std::to_string(card.sharers) + "/" + std::to_string(card.max_sharers),
                 card.mode.empty() ? "-" : card.mode, why});
    }
  }
  return table.empty() ? "" : table.text(screen, kIndent);
}

/// Who would be evicted for the pod.
std::string preemption_text(const ExplainView& view) {
  std::vector<std::string> names;
  for (const ExplainedVictim& victim : view.victims) {
    names.push_back(victim.ns + "/" + victim.name + " (priority " +
                    std::to_string(victim.priority) + ")");
  }
  return "preemption on node " + view.preemption_node + " would evict " + joined(names);
}

/// The room that others make for the pod.
std::string room_text(const ExplainView& view) {
  return view.room_by + " on node " + view.room_node + ": " + std::to_string(view.room_left) +
         " of " + std::to_string(view.room_pods) +
         (view.room_pods == 1 ? " pod has left" : " pods have left") +
         ", and this pod gets the room";
}

std::string draw_pending(const Screen& screen, const ExplainView& view, bool all) {
  std::string text = in_lines(screen, paint(screen.style, kBold, view.ns + "/" + view.name) +
                                          " is pending: " + view.summary) +
                     "\n";
  if (!view.policy.empty()) text += "requests " + request_of(view) + "\n";
  text += findings_text(screen, view);
  if (!view.group.empty()) text += in_lines(screen, view.group) + "\n";
  if (!view.room_by.empty()) text += in_lines(screen, room_text(view)) + "\n";
  if (!view.victims.empty()) text += in_lines(screen, preemption_text(view)) + "\n";
  const std::size_t most = all ? view.nodes.size() : kMostExplained;
  bool separate = true;  // a blank line around a node with its cards
  for (const ExplainedNode& node : nearest(view.nodes, most)) {
    const bool shown = all || (!node.fits && depends_on_cards(node));
    const std::string cards = shown ? cards_text(screen, node, view) : "";
    if (separate || !cards.empty()) text += "\n";
    separate = !cards.empty();
    text += headline(screen, node) + cards;
  }
  if (view.nodes.size() > most) {
    text += "\nthe nearest " + std::to_string(most) + " of " + std::to_string(view.nodes.size()) +
            " nodes; all nodes and cards: -o wide\n";
  }
  if (!view.note.empty())
    text += "\n" + paint(screen.style, kDim, in_lines(screen, "note: " + view.note)) + "\n";
  return text;
}

}  // namespace

std::string draw_explain(const Screen& screen, const ExplainView& view, bool all) {
  return view.bound() ? draw_bound(screen, view) : draw_pending(screen, view, all);
}

}  // namespace tangram::cli
