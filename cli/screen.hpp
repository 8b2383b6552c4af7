#pragma once

#include "drawing/terminal.hpp"

#include <cstddef>
#include <string>
#include <string_view>

/// Standard output, drawn as the demo draws.
namespace tangram::cli {

using drawing::kBad;
using drawing::kBold;
using drawing::kDim;
using drawing::kGood;

/// How to write to standard output.
struct Screen {
  drawing::Style style;      ///< of drawings
  bool is_terminal = false;  ///< otherwise a file or a pipe: nothing is cut
  std::size_t columns = 80;  ///< of the terminal; tables may be wider than drawings
};

[[nodiscard]] inline Screen screen_of_stdout() {
  return {drawing::style_of_stdout(), drawing::stdout_is_terminal(),
          static_cast<std::size_t>(drawing::columns_of_stdout())};
}

/// Text broken into lines between words at a terminal; one line elsewhere.
[[nodiscard]] inline std::string in_lines(const Screen& screen, std::string_view text,
                                          std::size_t indent = 0) {
  if (!screen.is_terminal) return std::string(text);
  return drawing::wrapped(text, static_cast<std::size_t>(screen.style.width), indent);
}

/// The text with '?' for control characters, marks of direction and all else that one_line()
/// replaces: any client that may write to a Node or a Pod chooses models, names and reasons. Line
/// ends stay, since a page has some: texts of others are made one line before. Where `colours` is
/// set, the colours that drawing::paint() writes stay.
[[nodiscard]] std::string without_controls(std::string_view text, bool colours);

}  // namespace tangram::cli
