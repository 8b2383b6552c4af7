#include "cli/table.hpp"

#include "base/one_line.hpp"

#include <algorithm>

namespace tangram::cli {

namespace {

constexpr std::size_t kGap = 2;
/// Shorter names cannot be distinguished.
constexpr std::size_t kLeast = 8;
/// Enough of a name or sentence to read it with ease: "train-bert-large".
constexpr std::size_t kReadable = 16;

}  // namespace

Table::Layout Table::whole() const {
  Layout layout;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].omitted) continue;
    std::size_t width = drawing::columns_of(columns_[i].name);
    for (const auto& cells : rows_) width = std::max(width, drawing::columns_of(cells[i]));
    layout.push_back({i, width});
  }
  return layout;
}

std::size_t Table::readable_width(const Shown& shown) const {
  return columns_[shown.column].may_shrink ? std::min(shown.width, kReadable) : shown.width;
}

void Table::spare(Layout& layout, std::size_t room) const {
  for (;;) {
    std::size_t needed = kGap * (layout.size() - 1);
    for (const Shown& shown : layout) needed += readable_width(shown);
    const auto first =
        std::max_element(layout.begin(), layout.end(), [&](const auto& a, const auto& b) {
          return columns_[a.column].dispensable < columns_[b.column].dispensable;
        });
    if (needed <= room || columns_[first->column].dispensable == 0) return;
    layout.erase(first);
  }
}

void Table::shrink(Layout& layout, std::size_t room) const {
  std::size_t used = kGap * (layout.size() - 1);
  for (const Shown& shown : layout) used += shown.width;
  while (used > room) {
    Shown* widest = nullptr;
    for (Shown& shown : layout) {
      const Column& column = columns_[shown.column];
      const std::size_t least = std::max(kLeast, drawing::columns_of(column.name));
      if (!column.may_shrink || shown.width <= least) continue;
      if (widest == nullptr || shown.width > widest->width) widest = &shown;
    }
    if (widest == nullptr) return;
    --widest->width;
    --used;
  }
}

std::string Table::line(const std::vector<std::string>& cells, const Layout& layout,
                        std::size_t indent) const {
  std::string text(indent, ' ');
  for (const auto& [index, width] : layout) {
    const Column& column = columns_[index];
    std::string cell = cells[index];
    if (drawing::columns_of(cell) > width) {
      cell =
          column.prose ? drawing::shortened(cell, width) : drawing::shortened_inside(cell, width);
    }
    if (index != layout.front().column) text.append(kGap, ' ');
    text += column.right ? drawing::right_in(cell, width) : drawing::left_in(cell, width);
  }
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

void Table::add(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!columns_[i].painted) cells[i] = one_line(cells[i]);
  }
  rows_.push_back(std::move(cells));
}

std::string Table::text(const Screen& screen, std::size_t indent) const {
  Layout layout = whole();
  if (screen.is_terminal) {
    const std::size_t room = screen.columns - std::min(screen.columns, indent);
    spare(layout, room);
    shrink(layout, room);
  }
  std::vector<std::string> head;
  for (const Column& column : columns_) head.push_back(column.name);
  std::string text = line(head, layout, indent);
  for (const auto& cells : rows_) text += line(cells, layout, indent);
  return text;
}

}  // namespace tangram::cli
