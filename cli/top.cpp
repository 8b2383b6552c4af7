#include "cli/top.hpp"

#include "cli/format.hpp"
#include "cli/table.hpp"
#include "drawing/card_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace tangram::cli {

namespace {

using drawing::CardView;
using drawing::gib;
using drawing::NodeView;
using drawing::percent;

/// Capacity and grants of all cards.
struct Sums {
  std::size_t nodes = 0;
  std::size_t cards = 0;
  std::size_t unavailable = 0;  ///< take no new pods
  std::size_t over = 0;         ///< granted beyond capacity
  std::int64_t mem_mib = 0;
  std::int64_t granted_mem_mib = 0;
  std::int64_t milli = 0;
  std::int64_t granted_milli = 0;
  std::set<std::pair<std::string_view, std::string_view>> pods;

  void add(const CardView& card) {
    ++cards;
    if (!card.healthy || card.cordoned) ++unavailable;
    if (card.granted_mem_mib > card.mem_mib || card.granted_milli > card.milli) ++over;
    mem_mib += card.mem_mib;
    granted_mem_mib += card.granted_mem_mib;
    milli += card.milli;
    granted_milli += card.granted_milli;
    for (const auto& share : card.shares) pods.emplace(share.ns, share.pod);
  }
};

Sums sums_of(const ClusterView& cluster) {
  Sums sums;
  for (const NodeView& node : cluster.nodes) {
    if (!node.cards.empty()) ++sums.nodes;
    for (const CardView& card : node.cards) sums.add(card);
  }
  return sums;
}

std::string sums_text(const Screen& screen, const ClusterView& cluster) {
  const Sums sums = sums_of(cluster);
  if (sums.cards == 0) {
    return "no node lists GPU cards; `kubectl tangram doctor` says why\n";
  }
  std::string text = counted(sums.cards, "card");
  if (sums.unavailable > 0) {
    text += fmt::format(" ({} {} no new pods)", sums.unavailable,
                        sums.unavailable == 1 ? "takes" : "take");
  }
  text += fmt::format(" on {}; {} on them, {} pending", counted(sums.nodes, "node"),
                      counted(sums.pods.size(), "pod"), cluster.pending.size());
  text = paint(screen.style, kBold, in_lines(screen, text)) + "\n";
  text +=
      in_lines(screen, fmt::format("memory {} of {} GiB ({}), compute {} of {} cards ({}) granted",
                                   gib(sums.granted_mem_mib), gib(sums.mem_mib),
                                   percent(sums.granted_mem_mib, sums.mem_mib),
                                   share_text(MilliGpu(sums.granted_milli)),
                                   share_text(MilliGpu(sums.milli)),
                                   percent(sums.granted_milli, sums.milli))) +
      "\n";
  if (sums.over > 0) {
    text += paint(screen.style, kBad,
                  counted(sums.over, "card") +
                      " granted beyond capacity: see CardOverGranted in docs/why-pending.md") +
            "\n";
  }
  return text + "\n";
}

std::int64_t granted_milli(const NodeView& node) {
  std::int64_t sum = 0;
  for (const CardView& card : node.cards) sum += card.granted_milli;
  return sum;
}

/// The `most` nodes on which most is granted, by name.
ClusterView fullest(const ClusterView& cluster, std::size_t most) {
  ClusterView shown = cluster;
  if (shown.nodes.size() <= most) return shown;
  std::stable_sort(
      shown.nodes.begin(), shown.nodes.end(),
      [](const NodeView& a, const NodeView& b) { return granted_milli(a) > granted_milli(b); });
  shown.nodes.resize(most);
  std::sort(shown.nodes.begin(), shown.nodes.end(),
            [](const NodeView& a, const NodeView& b) { return a.name < b.name; });
  return shown;
}

/// Ten cells of memory; only an empty card is drawn empty, and only a full one full.
std::string memory_bar(const Screen& screen, const CardView& card) {
  constexpr std::int64_t kCells = 10;
  const std::int64_t whole = std::max<std::int64_t>(card.mem_mib, 1);
  const bool some = card.granted_mem_mib > 0 && card.granted_mem_mib < whole;
  const std::int64_t full =
      std::clamp<std::int64_t>((card.granted_mem_mib * kCells + whole / 2) / whole, some ? 1 : 0,
                               some ? kCells - 1 : kCells);
  const auto cells = [](std::string_view cell, std::int64_t count) {
    return drawing::repeated(cell, static_cast<std::size_t>(count));
  };
  if (!screen.style.colour) return "[" + cells("#", full) + cells(".", kCells - full) + "]";
  return paint(screen.style, {.text = 75, .ground = drawing::free_colour(screen.style)},
               cells("█", full) + cells(" ", kCells - full));
}

std::string state_of(const CardView& card) {
  if (!card.reason.empty()) return card.reason;
  if (!card.healthy) return "not healthy";
  return card.cordoned ? "cordoned" : "ok";
}

}  // namespace

std::vector<std::string> keep_nodes(ClusterView& cluster, const std::vector<std::string>& names) {
  const std::set<std::string> wanted(names.begin(), names.end());
  std::erase_if(cluster.nodes, [&](const NodeView& node) {
    return wanted.empty() ? node.cards.empty() : !wanted.contains(node.name);
  });
  std::vector<std::string> unknown;
  for (const std::string& name : wanted) {
    const bool known = std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                                   [&](const NodeView& node) { return node.name == name; });
    if (!known) unknown.push_back(name);
  }
  return unknown;
}

std::string draw_top(const Screen& screen, const ClusterView& cluster, std::size_t most) {
  std::string text = sums_text(screen, cluster);
  if (cluster.nodes.empty()) return text;
  text += draw_card_map(screen.style, fullest(cluster, most));
  if (cluster.nodes.size() > most) {
    text += in_lines(screen, "the " + std::to_string(most) + " fullest of " +
                                 std::to_string(cluster.nodes.size()) +
                                 " nodes; all: -o wide; one: kubectl tangram top NODE") +
            "\n";
  }
  return text;
}

std::string draw_top_wide(const Screen& screen, const ClusterView& cluster) {
  Table table({{.name = "NODE", .may_shrink = true},
               {.name = "#", .right = true},
               {.name = "UUID", .may_shrink = true},
               {.name = "MODEL", .may_shrink = true},
               {.name = "MEMORY GiB", .right = true},
               {.name = "MEMORY", .dispensable = 2, .painted = true},
               {.name = "GPU", .right = true},
               {.name = "PODS", .right = true},
               {.name = "MODE", .dispensable = 1},
               {.name = "STATE", .may_shrink = true, .prose = true}});
  for (const NodeView& node : cluster.nodes) {
    for (std::size_t i = 0; i < node.cards.size(); ++i) {
      const CardView& card = node.cards[i];
      std::set<std::pair<std::string_view, std::string_view>> pods;
      for (const auto& share : card.shares) pods.emplace(share.ns, share.pod);
      table.add({node.name, std::to_string(i), card.uuid, card.model,
                 gib(card.granted_mem_mib) + "/" + gib(card.mem_mib), memory_bar(screen, card),
                 percent(card.granted_milli, card.milli), std::to_string(pods.size()),
                 card.mode.empty() ? "-" : card.mode, state_of(card)});
    }
  }
  std::string text = sums_text(screen, cluster);
  return table.empty() ? text : text + table.text(screen);
}

}  // namespace tangram::cli
