#include "bench/demo/packing_table.hpp"

#include "drawing/palette.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace tangram::bench::demo {

namespace {

constexpr std::size_t kNode = 8;
constexpr std::size_t kIndex = 3;
constexpr std::size_t kModel = 18;
constexpr std::size_t kShortModel = 12;
constexpr std::size_t kMemory = 10;  // "80.0/ 80.0"
constexpr std::size_t kBar = 8;
constexpr std::size_t kCompute = 5;
constexpr std::size_t kPods = 4;
constexpr std::size_t kMode = 10;
// Below these widths the names of the pods would have no room beside the column.
constexpr int kWithBar = 76;
constexpr int kWithLongModel = 96;

/// Eighths of a cell, so that a short bar shows 12 % and 20 % differently.
std::string level_bar(const drawing::Style& style, std::int64_t part, std::int64_t whole) {
  static constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto cells = static_cast<std::int64_t>(kBar);
  const std::int64_t eighths = whole == 0 ? 0 : std::min(8 * cells, 8 * cells * part / whole);
  std::string bar = drawing::repeated("█", static_cast<std::size_t>(eighths / 8));
  bar += kParts[static_cast<std::size_t>(eighths % 8)];
  return paint(style, {.text = 75, .ground = 237}, drawing::left_in(bar, kBar));
}

/// Shares of one kind of pod on one card.
struct Family {
  std::string ns;
  std::string name;
  int count = 0;
};

std::vector<Family> families_on(const drawing::CardView& card) {
  std::vector<Family> families;
  for (const drawing::ShareView& share : card.shares) {
    const std::string name = drawing::family_of(share.pod);
    const auto known = std::find_if(families.begin(), families.end(), [&](const Family& family) {
      return family.ns == share.ns && family.name == name;
    });
    if (known != families.end()) {
      ++known->count;
    } else {
      families.push_back({share.ns, name, 1});
    }
  }
  return families;
}

/// The pods' names, each in its namespace's colour, as many as fit.
std::string pod_names(const drawing::Style& style, const drawing::Palette& palette,
                      const drawing::CardView& card, std::size_t columns) {
  if (!card.reason.empty())
    return paint(style, drawing::kBad, drawing::shortened(card.reason, columns));
  constexpr std::size_t kMore = 4;  // " +12"
  const std::vector<Family> families = families_on(card);
  std::string text;
  std::size_t used = 0;
  for (std::size_t i = 0; i < families.size(); ++i) {
    const Family& family = families[i];
    std::string name = family.name;
    if (family.count > 1) name += "×" + std::to_string(family.count);
    const std::size_t gap = i == 0 ? 0 : 1;
    const std::size_t kept = used + (i + 1 == families.size() ? 0 : kMore);
    const std::size_t room = columns - std::min(columns, kept);
    if (i == 0) name = drawing::shortened(name, room);
    if (gap + drawing::columns_of(name) > room) {
      return text + paint(style, drawing::kDim, " +" + std::to_string(families.size() - i));
    }
    text += std::string(gap, ' ') + paint(style, {.text = palette.colour(family.ns, 0)}, name);
    used += gap + drawing::columns_of(name);
  }
  return text;
}

/// How the card is shared.
std::string mode_of(const drawing::CardView& card) {
  if (card.shares.empty()) return "-";
  const drawing::ShareView& first = card.shares.front();
  const bool alone = card.shares.size() == 1 && first.mem_mib == card.mem_mib;
  return alone && first.milli == card.milli ? "whole" : card.mode;
}

/// One line, column by column. What is written last gets the rest of the width.
class Line {
 public:
  Line(const drawing::Style& style, std::string& out) : style_(style), out_(out) {}

  Line& cell(const std::string& text, std::size_t columns) {
    out_ += text + " ";
    used_ += columns + 1;
    return *this;
  }
  Line& left(std::string_view text, std::size_t columns) {
    return cell(drawing::left_in(drawing::shortened(text, columns), columns), columns);
  }
  Line& right(std::string_view text, std::size_t columns) {
    return cell(drawing::right_in(drawing::shortened(text, columns), columns), columns);
  }
  [[nodiscard]] std::size_t room() const {
    const auto width = static_cast<std::size_t>(style_.width);
    return width - std::min(width, used_);
  }

 private:
  const drawing::Style& style_;
  std::string& out_;
  std::size_t used_ = 0;
};

class TablePainter {
 public:
  TablePainter(const drawing::Style& style, const drawing::ClusterView& cluster)
      : style_(style),
        palette_(cluster.namespaces()),
        model_(style.width >= kWithLongModel ? kModel : kShortModel) {}

  [[nodiscard]] std::string head() const {
    std::string out;
    Line line(style_, out);
    line.left("node", kNode).right("#", kIndex).left("card", model_).right("memory GiB", kMemory);
    if (style_.width >= kWithBar) line.left("", kBar);
    line.right("gpu", kCompute);
    if (style_.width >= kWithBar) line.right("pods", kPods);
    line.left("mode", kMode);
    return paint(style_, drawing::kDim, out + drawing::shortened("pod names", line.room())) + "\n";
  }

  [[nodiscard]] std::string card(const drawing::NodeView& node, std::size_t index) const {
    const drawing::CardView& card = node.cards[index];
    std::set<std::string> pods;
    for (const drawing::ShareView& share : card.shares) pods.insert(share.ns + "/" + share.pod);
    const std::string name =
        drawing::left_in(drawing::shortened(index == 0 ? node.name : "", kNode), kNode);
    std::string out;
    Line line(style_, out);
    line.cell(paint(style_, drawing::kBold, name), kNode).right(std::to_string(index), kIndex);
    line.left(drawing::shortened_inside(card.model, model_), model_);
    line.right(
        drawing::gib(card.granted_mem_mib) + "/" + drawing::right_in(drawing::gib(card.mem_mib), 5),
        kMemory);
    if (style_.width >= kWithBar) {
      line.cell(level_bar(style_, card.granted_mem_mib, card.mem_mib), kBar);
    }
    line.right(drawing::percent(card.granted_milli, card.milli), kCompute);
    if (style_.width >= kWithBar) line.right(std::to_string(pods.size()), kPods);
    line.left(mode_of(card), kMode);
    return out + pod_names(style_, palette_, card, line.room()) + "\n";
  }

 private:
  const drawing::Style& style_;
  drawing::Palette palette_;
  std::size_t model_;
};

}  // namespace

std::string draw_packing_table(const drawing::Style& style, const drawing::ClusterView& cluster) {
  const TablePainter painter(style, cluster);
  std::string out = painter.head();
  for (const drawing::NodeView& node : cluster.nodes) {
    for (std::size_t i = 0; i < node.cards.size(); ++i) out += painter.card(node, i);
  }
  return out;
}

}  // namespace tangram::bench::demo
