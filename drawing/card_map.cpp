#include "drawing/card_map.hpp"

#include "drawing/palette.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace tangram::drawing {

namespace {

constexpr Ink kUnhealthyInk{.text = 203, .ground = 52};
constexpr std::size_t kIndent = 2;
constexpr std::size_t kColourIndent = 1;  // eight cards of 80 GiB then fill 120 columns, not 121
constexpr std::size_t kRowName = 5;       // "mem ", "gpu " and the indent, where there is no colour

/// The bar of a card that takes no pods. Its running pods are not drawn.
std::string unavailable_bar(const Style& style, const CardView& card, std::size_t cells) {
  if (!style.colour) return std::string(cells, card.healthy ? '/' : 'x');
  const Ink cordoned{.text = 244, .ground = free_colour(style)};
  return card.healthy ? paint(style, cordoned, repeated("▒", cells))
                      : paint(style, kUnhealthyInk, repeated("╳", cells));
}

/// Memory above, compute below, in one line of half blocks.
std::string half_block_bar(const Style& style, const CardView& card, const Palette& palette,
                           std::size_t cells) {
  const auto mem = owners_of_cells(card, cells, &ShareView::mem_mib, card.mem_mib);
  const auto milli = owners_of_cells(card, cells, &ShareView::milli, card.milli);
  const auto colour_of = [&](int owner) {
    if (owner < 0) return free_colour(style);
    const auto share = static_cast<std::size_t>(owner);
    return palette.colour(card.shares[share].ns, share);
  };
  std::string bar;
  for (std::size_t i = 0; i < cells;) {
    std::size_t end = i + 1;
    while (end < cells && mem[end] == mem[i] && milli[end] == milli[i]) ++end;
    bar += paint(style, {.text = colour_of(mem[i]), .ground = colour_of(milli[i])},
                 repeated("▀", end - i));
    i = end;
  }
  return bar;
}

std::string letter_bar(const CardView& card, const Palette& palette, std::size_t cells,
                       std::int64_t ShareView::*amount, std::int64_t capacity) {
  std::string bar;
  for (const int owner : owners_of_cells(card, cells, amount, capacity)) {
    const auto share = static_cast<std::size_t>(owner);
    bar += owner < 0 ? '.' : palette.letter(card.shares[share].ns, share);
  }
  return bar;
}

std::string label_of(const CardView& card, std::size_t index, std::size_t cells) {
  std::string label = "#" + std::to_string(index) + " ";
  if (!card.healthy) {
    label += "unhealthy";
  } else if (card.cordoned) {
    label += "cordoned";
  } else {
    label += percent(card.granted_milli, card.milli);
  }
  return centred_in(shortened(label, cells), cells);
}

/// The lines of one row of cards, all of the same length.
struct Row {
  std::string bars;     ///< half blocks, or the memory's letters
  std::string compute;  ///< letters; empty with colour
  std::string labels;
  std::size_t columns = 0;
  std::size_t cards = 0;
};

class MapPainter {
 public:
  MapPainter(const Style& style, const ClusterView& cluster)
      : style_(style), palette_(cluster.namespaces()) {}

  [[nodiscard]] std::string node(const NodeView& node) const {
    std::string out = header(node);
    if (node.cards.empty()) return out;
    const std::size_t rows = rows_needed(node);
    const std::size_t per_row = (node.cards.size() + rows - 1) / rows;
    Row row;
    for (std::size_t i = 0; i < node.cards.size(); ++i) {
      if (row.cards == per_row || row.columns + wide(node.cards[i]) > room()) {
        out += finished(std::exchange(row, {}));
      }
      add(row, node.cards[i], i);
    }
    return out + finished(row);
  }

  [[nodiscard]] std::string legend(const ClusterView& cluster) const {
    std::map<std::string, std::int64_t> milli;
    for (const NodeView& node : cluster.nodes) {
      for (const CardView& card : node.cards) {
        for (const ShareView& share : card.shares) milli[share.ns] += share.milli;
      }
    }
    if (milli.empty()) return "";
    std::string text = style_.colour ? "upper half memory, lower half compute; " : "";
    text += "cards granted to";
    for (const auto& [ns, granted] : milli) {
      text.append(" ").append(mark_of(ns)).append(ns).append(1, kNoBreak);
      text.append(std::to_string(granted / 1000))
          .append(".")
          .append(std::to_string(granted / 100 % 10));
    }
    return wrapped(text, static_cast<std::size_t>(style_.width), 0) + "\n";
  }

 private:
  /// The mark of a namespace: both shades, or its letter.
  [[nodiscard]] std::string mark_of(const std::string& ns) const {
    if (!style_.colour) return {palette_.letter(ns, 0), '='};
    std::string mark = paint(style_, {.text = palette_.colour(ns, 0)}, "█");
    mark += paint(style_, {.text = palette_.colour(ns, 1)}, "█");
    return mark + kNoBreak;
  }

  [[nodiscard]] std::size_t lead() const {
    return style_.colour ? kColourIndent : kIndent + kRowName;
  }
  /// With the space behind the last card, which is invisible.
  [[nodiscard]] std::size_t room() const {
    return static_cast<std::size_t>(style_.width) + 1 - lead();
  }
  /// With the space behind it, and without colour the brackets.
  [[nodiscard]] std::size_t wide(const CardView& card) const {
    return bar_cells(card.mem_mib) + (style_.colour ? 1 : 3);
  }

  [[nodiscard]] std::size_t rows_needed(const NodeView& node) const {
    std::size_t rows = 1;
    std::size_t used = 0;
    for (const CardView& card : node.cards) {
      if (used + wide(card) > room()) {
        ++rows;
        used = 0;
      }
      used += wide(card);
    }
    return rows;
  }

  void add(Row& row, const CardView& card, std::size_t index) const {
    const std::size_t cells = bar_cells(card.mem_mib);
    const bool unavailable = !card.healthy || card.cordoned;
    if (style_.colour) {
      row.bars += (unavailable ? unavailable_bar(style_, card, cells)
                               : half_block_bar(style_, card, palette_, cells)) +
                  " ";
      row.labels += label_of(card, index, cells) + " ";
    } else {
      const auto letters = [&](std::int64_t ShareView::*amount, std::int64_t capacity) {
        return "[" +
               (unavailable ? unavailable_bar(style_, card, cells)
                            : letter_bar(card, palette_, cells, amount, capacity)) +
               "] ";
      };
      row.bars += letters(&ShareView::mem_mib, card.mem_mib);
      row.compute += letters(&ShareView::milli, card.milli);
      row.labels += " " + label_of(card, index, cells) + "  ";
    }
    row.columns += wide(card);
    ++row.cards;
  }

  /// Without the space behind the last card: at the terminal's edge it would begin another line.
  [[nodiscard]] std::string finished(Row row) const {
    for (std::string* const line : {&row.bars, &row.compute}) {
      if (line->ends_with(' ')) line->pop_back();
    }
    const std::string indent(style_.colour ? kColourIndent : kIndent, ' ');
    const std::string labels = row.labels.substr(0, row.labels.find_last_not_of(' ') + 1);
    if (style_.colour) {
      return indent + row.bars + "\n" + indent + paint(style_, kDim, labels) + "\n";
    }
    return indent + "mem  " + row.bars + "\n" + indent + "gpu  " + row.compute + "\n" +
           std::string(lead(), ' ') + labels + "\n";
  }

  [[nodiscard]] std::string header(const NodeView& node) const {
    std::int64_t granted = 0;
    std::int64_t capacity = 0;
    for (const CardView& card : node.cards) {
      granted += card.granted_milli;
      capacity += card.milli;
    }
    std::string facts;
    if (!node.cards.empty()) facts = left_in(percent(granted, capacity), 4) + " granted, ";
    facts += std::to_string(node.pods) + (node.pods == 1 ? " pod, " : " pods, ") +
             std::to_string(node.free_cpu_milli / 1000) + " of " +
             std::to_string(node.cpu_milli / 1000) + " CPUs free: " + models_of(node);
    const std::string name = left_in(node.name, 9);
    const std::size_t left = static_cast<std::size_t>(style_.width) - columns_of(name) - 1;
    return paint(style_, kBold, name) + " " + paint(style_, kDim, shortened(facts, left)) + "\n";
  }

  const Style& style_;
  Palette palette_;
};

}  // namespace

std::string models_of(const NodeView& node) {
  if (node.cards.empty()) return "no card";
  std::vector<std::pair<std::string, int>> counts;
  for (const CardView& card : node.cards) {
    auto known = std::find_if(counts.begin(), counts.end(),
                              [&](const auto& entry) { return entry.first == card.model; });
    if (known == counts.end()) known = counts.insert(known, {card.model, 0});
    ++known->second;
  }
  std::string text;
  for (const auto& [model, count] : counts) {
    text += (text.empty() ? "" : " + ") + std::to_string(count) + " × " + model;
  }
  return text;
}

std::size_t bar_cells(std::int64_t mem_mib) {
  constexpr double kCellsPerRootGib = 1.55;  // 80 GiB: 14 cells, so that 8 such cards fill 120
  constexpr std::size_t kLeast = 7;          // "#0 100%"
  const double gib = static_cast<double>(mem_mib) / 1024;
  return std::max(kLeast, static_cast<std::size_t>(std::lround(kCellsPerRootGib * std::sqrt(gib))));
}

std::vector<int> owners_of_cells(const CardView& card, std::size_t cells,
                                 std::int64_t ShareView::*amount, std::int64_t capacity) {
  std::vector<int> owners(cells, -1);
  const auto cell_count = static_cast<std::int64_t>(cells);
  std::int64_t begin = 0;
  for (std::size_t share = 0; share < card.shares.size(); ++share) {
    const std::int64_t end = begin + card.shares[share].*amount;
    for (std::int64_t cell = 0; cell < cell_count; ++cell) {
      const std::int64_t middle = (2 * cell + 1) * capacity;  // in 1 / (2 × cells) of the unit
      if (middle >= 2 * cell_count * begin && middle < 2 * cell_count * end) {
        owners[static_cast<std::size_t>(cell)] = static_cast<int>(share);
      }
    }
    begin = end;
  }
  return owners;
}

std::string draw_card_map(const Style& style, const ClusterView& cluster) {
  const MapPainter painter(style, cluster);
  std::string out;
  for (const NodeView& node : cluster.nodes) out += painter.node(node);
  return out + painter.legend(cluster);
}

}  // namespace tangram::drawing
