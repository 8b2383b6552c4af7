#pragma once

#include "cli/screen.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tangram::cli {

/// Lines of cells under a head, as kubectl writes them. Where lines are longer than the terminal,
/// the columns that may are cut, the widest first, each with "…" for what is missing.
class Table {
 public:
  struct Column {
    std::string name;
    bool right = false;  ///< for numbers
    bool may_shrink = false;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as columns; a cell that may shrink has no colours.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// @param indent  of every line
  [[nodiscard]] std::string text(const Screen& screen, std::size_t indent = 0) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;
  void shrink(std::vector<std::size_t>& widths, std::size_t room) const;
  [[nodiscard]] std::string line(const std::vector<std::string>& cells,
                                 const std::vector<std::size_t>& widths, std::size_t indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tangram::cli
