#include "cli/table.hpp"

#include <algorithm>

namespace tangram::cli {

namespace {

constexpr std::size_t kGap = 2;
/// Shorter than this nobody tells one name from another.
constexpr std::size_t kLeast = 8;

}  // namespace

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(columns_of(column.name));
  for (const auto& cells : rows_) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of(cells[i]));
    }
  }
  return widths;
}

void Table::shrink(std::vector<std::size_t>& widths, std::size_t room) const {
  std::size_t used = kGap * (widths.size() - 1);
  for (const std::size_t width : widths) used += width;
  while (used > room) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::size_t least = std::max(kLeast, columns_of(columns_[i].name));
      if (!columns_[i].may_shrink || widths[i] <= least) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) return;
    --widths[widest];
    --used;
  }
}

std::string Table::line(const std::vector<std::string>& cells,
                        const std::vector<std::size_t>& widths, std::size_t indent) const {
  std::string text(indent, ' ');
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell =
        columns_of(cells[i]) > widths[i] ? shortened_inside(cells[i], widths[i]) : cells[i];
    if (i > 0) text.append(kGap, ' ');
    text += columns_[i].right ? right_in(cell, widths[i]) : left_in(cell, widths[i]);
  }
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

std::string Table::text(const Screen& screen, std::size_t indent) const {
  std::vector<std::size_t> fitted = widths();
  const auto width = static_cast<std::size_t>(screen.look.width);
  if (screen.is_terminal) shrink(fitted, width - std::min(width, indent));
  std::vector<std::string> head;
  for (const Column& column : columns_) head.push_back(column.name);
  std::string text = line(head, fitted, indent);
  for (const auto& cells : rows_) text += line(cells, fitted, indent);
  return text;
}

}  // namespace tangram::cli
