#pragma once

#include "cli/screen.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tangram::cli {

/// Lines of cells under a head, as kubectl writes them. If lines are longer than the terminal,
/// first dispensable columns are left out as long as others would be cut below a readable width.
/// Then the columns that may shrink are cut, the widest first, with "…" for what is missing.
class Table {
 public:
  struct Column {
    std::string name;
    bool right = false;  ///< for numbers
    bool may_shrink = false;
    bool prose = false;    ///< a sentence or a list: cut at its end, a name in its middle
    bool omitted = false;  ///< never drawn
    int dispensable = 0;   ///< left out at narrow terminals, the highest first; 0 = never
    bool painted = false;  ///< its cells have our own colours, and no text of others
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as columns. A cell is one_line() of its text, unless its column is painted; such
  /// a column may not shrink.
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// @param indent  of every line
  [[nodiscard]] std::string text(const Screen& screen, std::size_t indent = 0) const;

 private:
  /// Which columns are drawn, and how wide.
  struct Shown {
    std::size_t column;
    std::size_t width;
  };
  using Layout = std::vector<Shown>;

  [[nodiscard]] Layout whole() const;
  [[nodiscard]] std::size_t readable_width(const Shown& shown) const;
  void spare(Layout& layout, std::size_t room) const;
  void shrink(Layout& layout, std::size_t room) const;
  [[nodiscard]] std::string line(const std::vector<std::string>& cells, const Layout& layout,
                                 std::size_t indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tangram::cli
