#pragma once

#include "drawing/terminal.hpp"

#include <cstddef>
#include <string>
#include <string_view>

/// The terminal that is written to. What is drawn there is drawn as the demo draws it.
namespace tangram::cli {

using drawing::columns_of;
using drawing::Ink;
using drawing::kBad;
using drawing::kBold;
using drawing::kDim;
using drawing::kGood;
using drawing::left_in;
using drawing::Look;
using drawing::paint;
using drawing::percent;
using drawing::right_in;
using drawing::shortened;
using drawing::shortened_inside;

/// How to write for whoever reads standard output.
struct Screen {
  drawing::Look look;        ///< of drawings
  bool is_terminal = false;  ///< otherwise a file or a program: nothing is cut
  std::size_t columns = 80;  ///< of the terminal; tables may be wider than drawings
};

[[nodiscard]] inline Screen screen_of_stdout() {
  return {drawing::look_of_stdout(), drawing::stdout_is_terminal(),
          static_cast<std::size_t>(drawing::columns_of_stdout())};
}

/// Sentences in lines that end between words; one line where it is a file or a program that reads.
[[nodiscard]] inline std::string in_lines(const Screen& screen, std::string_view text,
                                          std::size_t indent = 0) {
  if (!screen.is_terminal) return std::string(text);
  return drawing::wrapped(text, static_cast<std::size_t>(screen.look.width), indent);
}

/// The text without what would command a terminal: names of models and reasons are what anybody who
/// can write to a Node or a Pod has put there. Lines stay, and so do colours where there are some.
[[nodiscard]] std::string harmless(std::string_view text, bool colours);

}  // namespace tangram::cli
