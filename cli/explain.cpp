#include "cli/explain.hpp"

#include "cli/table.hpp"
#include "cli/words.hpp"
#include "model/fit.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

namespace tangram::cli {

namespace {

constexpr std::size_t kIndent = 2;

std::string request_of(const ExplainedContainer& container) {
  std::string each;
  if (container.share == "whole") return counted(static_cast<std::size_t>(container.count), "card");
  if (container.share == "fraction") {
    each = share_text(MilliGpu(container.milli));
  } else {
    each = memory_text(Mebibytes(container.mem_mib));
    if (container.milli >= 0) each += ", " + share_text(MilliGpu(container.milli));
  }
  return container.count == 1 ? each : std::to_string(container.count) + " × (" + each + ")";
}

std::string request_of(const ExplainView& view) {
  std::string text;
  for (const ExplainedContainer& container : view.containers) {
    if (!text.empty()) text += " + ";
    text += container.name + " " + request_of(container);
  }
  if (text.empty()) return "no GPU card";
  if (!view.models.empty()) text += ", of " + joined(view.models);
  return text + "; isolation " + view.isolation + ", policy " + view.policy;
}

std::string findings_text(const Screen& screen, const ExplainView& view) {
  std::string text;
  for (const ExplainedFinding& finding : view.findings) {
    text += paint(screen.look, kBad, finding.finding) + ": " + finding.message + "\n";
  }
  return text;
}

std::string draw_bound(const Screen& screen, const ExplainView& view) {
  std::string text =
      paint(screen.look, kBold, view.ns + "/" + view.name) + " is bound to node " + view.node;
  Table table({{.name = "CONTAINER", .may_shrink = true},
               {.name = "CARD", .may_shrink = true},
               {.name = "MEMORY", .right = true},
               {.name = "GPU", .right = true},
               {.name = "MEMORY LIMIT", .right = true},
               {.name = "GPU LIMIT", .right = true}});
  for (const ExplainedContainer& container : view.containers) {
    for (const ExplainedContainer::Held& held : container.cards) {
      table.add({container.name, held.uuid, memory_text(Mebibytes(held.mem_mib)),
                 share_text(MilliGpu(held.milli)), memory_text(Mebibytes(held.mem_limit_mib)),
                 share_text(MilliGpu(held.milli_limit))});
    }
  }
  if (table.empty()) return text + " and holds no GPU card\n" + findings_text(screen, view);
  return text + ", isolation " + view.isolation + "\n" + findings_text(screen, view) + "\n" +
         table.text(screen);
}

/// How far a reason is from a fit: those found last come nearest. What is unknown is farthest.
int distance_of(const ExplainedNode& node) {
  if (node.fits) return -1;
  for (std::size_t i = 0; i < model::kMisfits; ++i) {
    if (model::reason(static_cast<model::Misfit>(i)) == node.why) {
      return static_cast<int>(model::kMisfits - i);
    }
  }
  return std::numeric_limits<int>::max();
}

std::vector<ExplainedNode> nearest(std::vector<ExplainedNode> nodes, std::size_t most) {
  std::stable_sort(nodes.begin(), nodes.end(), [](const ExplainedNode& a, const ExplainedNode& b) {
    const int near = distance_of(a);
    const int far = distance_of(b);
    if (near != far) return near < far;
    return a.fits && a.score > b.score;
  });
  if (nodes.size() > most) nodes.resize(most);
  return nodes;
}

std::string headline(const Screen& screen, const ExplainedNode& node) {
  const std::string name = paint(screen.look, kBold, node.name);
  if (node.fits) {
    return name + ": " + paint(screen.look, kGood, "fits") + ", would get " + joined(node.would_get) +
           "\n";
  }
  std::string text = name + ": " + node.why;
  if (node.fragmented) text += " (the free parts of its cards would do together)";
  return text + "\n";
}

std::string cards_text(const Screen& screen, const ExplainedNode& node) {
  Table table({{.name = "CARD", .may_shrink = true},
               {.name = "MODEL", .may_shrink = true},
               {.name = "FREE", .right = true},
               {.name = "NEEDED", .right = true},
               {.name = "SHARERS", .right = true},
               {.name = "MODE"},
               {.name = "WHY NOT", .may_shrink = true}});
  for (const ExplainedCard& card : node.cards) {
    for (const ExplainedCard::Verdict& verdict : card.verdicts) {
      std::string why = verdict.why.empty() ? "fits" : verdict.why;
      if (!verdict.why.empty() && !card.reason.empty()) why = card.reason;
      if (card.verdicts.size() > 1) why = verdict.container + ": " + why;
      table.add({card.uuid, card.model,
                 grant_text(Mebibytes(card.free_mem_mib), MilliGpu(card.free_milli)),
                 grant_text(Mebibytes(verdict.need_mem_mib), MilliGpu(verdict.need_milli)),
                 std::to_string(card.sharers) + "/" + std::to_string(card.max_sharers),
                 card.mode.empty() ? "-" : card.mode, why});
    }
  }
  return table.empty() ? "" : table.text(screen, kIndent);
}

std::string draw_pending(const Screen& screen, const ExplainView& view, std::size_t most) {
  std::string text = paint(screen.look, kBold, view.ns + "/" + view.name) + " waits: " +
                     view.summary + "\n";
  text += "asks for " + request_of(view) + "\n" + findings_text(screen, view);
  for (const ExplainedNode& node : nearest(view.nodes, most)) {
    text += "\n" + headline(screen, node) + cards_text(screen, node);
  }
  if (view.nodes.size() > most) {
    text += "\nthe nearest " + std::to_string(most) + " of " + std::to_string(view.nodes.size()) +
            " nodes; all: -o wide\n";
  }
  if (!view.note.empty()) text += "\n" + paint(screen.look, kDim, "note: " + view.note) + "\n";
  return text;
}

}  // namespace

std::string draw_explain(const Screen& screen, const ExplainView& view, std::size_t most) {
  return view.bound() ? draw_bound(screen, view) : draw_pending(screen, view, most);
}

}  // namespace tangram::cli
