#include "cli/top.hpp"

#include "cli/table.hpp"
#include "cli/words.hpp"
#include "drawing/card_map.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace tangram::cli {

namespace {

using drawing::CardView;
using drawing::gib;
using drawing::NodeView;

/// What all cards have, and what of it is granted.
struct Sums {
  std::size_t nodes = 0;
  std::size_t cards = 0;
  std::size_t closed = 0;  ///< take no new pods
  std::size_t over = 0;    ///< more is granted than there is
  std::int64_t mem_mib = 0;
  std::int64_t granted_mem_mib = 0;
  std::int64_t milli = 0;
  std::int64_t granted_milli = 0;
  std::set<std::pair<std::string_view, std::string_view>> pods;

  void add(const drawing::CardView& card) {
    ++cards;
    if (!card.healthy || card.cordoned) ++closed;
    if (card.granted_mem_mib > card.mem_mib || card.granted_milli > card.milli) ++over;
    mem_mib += card.mem_mib;
    granted_mem_mib += card.granted_mem_mib;
    milli += card.milli;
    granted_milli += card.granted_milli;
    for (const auto& share : card.shares) pods.emplace(share.ns, share.pod);
  }
};

Sums sums_of(const drawing::ClusterView& cluster) {
  Sums sums;
  for (const drawing::NodeView& node : cluster.nodes) {
    if (!node.cards.empty()) ++sums.nodes;
    for (const drawing::CardView& card : node.cards) sums.add(card);
  }
  return sums;
}

std::string of_whole(const std::string& part, const std::string& whole, const std::string& ratio) {
  return part + " of " + whole + " (" + ratio + ")";
}

std::string sums_text(const Screen& screen, const drawing::ClusterView& cluster) {
  const Sums sums = sums_of(cluster);
  if (sums.cards == 0) {
    return "no node lists GPU cards; `kubectl tangram doctor` says why and what to do\n";
  }
  std::string text = counted(sums.cards, "card");
  if (sums.closed > 0) {
    text += " (" + std::to_string(sums.closed) +
            (sums.closed == 1 ? " takes no new pods)" : " take no new pods)");
  }
  text += " on " + counted(sums.nodes, "node");
  text += "; " + counted(sums.pods.size(), "pod") + " on them, " +
          std::to_string(cluster.pending.size()) + " pending";
  text = paint(screen.look, kBold, in_lines(screen, text)) + "\n";
  text += in_lines(screen, "memory " +
                               of_whole(drawing::gib(sums.granted_mem_mib),
                                        drawing::gib(sums.mem_mib) + " GiB",
                                        drawing::percent(sums.granted_mem_mib, sums.mem_mib)) +
                               ", compute " +
                               of_whole(share_text(MilliGpu(sums.granted_milli)),
                                        share_text(MilliGpu(sums.milli)) + " cards",
                                        drawing::percent(sums.granted_milli, sums.milli)) +
                               " granted") +
          "\n";
  if (sums.over > 0) {
    text +=
        paint(screen.look, kBad,
              counted(sums.over, "card") +
                  " with more granted than there is: see docs/why-pending.md, CardOverGranted") +
        "\n";
  }
  return text + "\n";
}

std::int64_t granted_milli(const drawing::NodeView& node) {
  std::int64_t sum = 0;
  for (const drawing::CardView& card : node.cards) sum += card.granted_milli;
  return sum;
}

/// The `most` nodes on which most is granted, by name.
drawing::ClusterView fullest(const drawing::ClusterView& cluster, std::size_t most) {
  drawing::ClusterView shown = cluster;
  if (shown.nodes.size() <= most) return shown;
  std::stable_sort(shown.nodes.begin(), shown.nodes.end(),
                   [](const drawing::NodeView& a, const drawing::NodeView& b) {
                     return granted_milli(a) > granted_milli(b);
                   });
  shown.nodes.resize(most);
  std::sort(shown.nodes.begin(), shown.nodes.end(),
            [](const drawing::NodeView& a, const drawing::NodeView& b) { return a.name < b.name; });
  return shown;
}

/// Ten cells of memory; a card is shown empty or full only if it is.
std::string memory_bar(const Screen& screen, const drawing::CardView& card) {
  constexpr std::int64_t kCells = 10;
  const std::int64_t whole = std::max<std::int64_t>(card.mem_mib, 1);
  const bool some = card.granted_mem_mib > 0 && card.granted_mem_mib < whole;
  const std::int64_t full =
      std::clamp<std::int64_t>((card.granted_mem_mib * kCells + whole / 2) / whole, some ? 1 : 0,
                               some ? kCells - 1 : kCells);
  const auto cells = [](std::string_view cell, std::int64_t count) {
    return drawing::repeated(cell, static_cast<std::size_t>(count));
  };
  if (!screen.look.colour) return "[" + cells("#", full) + cells(".", kCells - full) + "]";
  return paint(screen.look, {.text = 75, .ground = drawing::free_colour(screen.look)},
               cells("█", full) + cells(" ", kCells - full));
}

std::string state_of(const drawing::CardView& card) {
  if (!card.reason.empty()) return card.reason;
  if (!card.healthy) return "not healthy";
  return card.cordoned ? "cordoned" : "ok";
}

}  // namespace

std::vector<std::string> keep_nodes(drawing::ClusterView& cluster,
                                    const std::vector<std::string>& names) {
  const std::set<std::string> wanted(names.begin(), names.end());
  std::erase_if(cluster.nodes, [&](const drawing::NodeView& node) {
    return wanted.empty() ? node.cards.empty() : !wanted.contains(node.name);
  });
  std::vector<std::string> unknown;
  for (const std::string& name : wanted) {
    const bool known =
        std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                    [&](const drawing::NodeView& node) { return node.name == name; });
    if (!known) unknown.push_back(name);
  }
  return unknown;
}

std::string draw_top(const Screen& screen, const drawing::ClusterView& cluster, std::size_t most) {
  std::string text = sums_text(screen, cluster);
  if (cluster.nodes.empty()) return text;
  text += drawing::draw_card_map(screen.look, fullest(cluster, most));
  if (cluster.nodes.size() > most) {
    text += in_lines(screen, "the " + std::to_string(most) + " fullest of " +
                                 std::to_string(cluster.nodes.size()) +
                                 " nodes; all: -o wide, single ones: kubectl tangram top NODE") +
            "\n";
  }
  return text;
}

std::string draw_top_wide(const Screen& screen, const drawing::ClusterView& cluster) {
  Table table({{.name = "NODE", .may_shrink = true},
               {.name = "#", .right = true},
               {.name = "UUID", .may_shrink = true},
               {.name = "MODEL", .may_shrink = true},
               {.name = "MEMORY GiB", .right = true},
               {.name = "MEMORY", .dispensable = 2},
               {.name = "GPU", .right = true},
               {.name = "PODS", .right = true},
               {.name = "MODE", .dispensable = 1},
               {.name = "STATE", .may_shrink = true, .prose = true}});
  for (const drawing::NodeView& node : cluster.nodes) {
    for (std::size_t i = 0; i < node.cards.size(); ++i) {
      const drawing::CardView& card = node.cards[i];
      std::set<std::pair<std::string_view, std::string_view>> pods;
      for (const auto& share : card.shares) pods.emplace(share.ns, share.pod);
      table.add({node.name, std::to_string(i), card.uuid, card.model,
                 drawing::gib(card.granted_mem_mib) + "/" + drawing::gib(card.mem_mib),
                 memory_bar(screen, card), drawing::percent(card.granted_milli, card.milli),
                 std::to_string(pods.size()), card.mode.empty() ? "-" : card.mode, state_of(card)});
    }
  }
  std::string text = sums_text(screen, cluster);
  return table.empty() ? text : text + table.text(screen);
}

}  // namespace tangram::cli
