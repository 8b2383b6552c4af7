#pragma once

#include "drawing/terminal.hpp"

#include <cstddef>
#include <string>
#include <string_view>

/// The terminal that is written to. What is drawn there is drawn as the demo draws it.
namespace tangram::cli {

using bench::demo::columns_of;
using bench::demo::Ink;
using bench::demo::kBad;
using bench::demo::kBold;
using bench::demo::kDim;
using bench::demo::kGood;
using bench::demo::left_in;
using bench::demo::Look;
using bench::demo::paint;
using bench::demo::percent;
using bench::demo::right_in;
using bench::demo::shortened;
using bench::demo::shortened_inside;

/// How to write for whoever reads standard output.
struct Screen {
  Look look;                 ///< of drawings
  bool is_terminal = false;  ///< otherwise a file or a program: nothing is cut
  std::size_t columns = 80;  ///< of the terminal; tables may be wider than drawings
};

[[nodiscard]] inline Screen screen_of_stdout() {
  return {bench::demo::look_of_stdout(), bench::demo::stdout_is_terminal(),
          static_cast<std::size_t>(bench::demo::columns_of_stdout())};
}

/// Sentences in lines that end between words; one line where it is a file or a program that reads.
[[nodiscard]] inline std::string in_lines(const Screen& screen, std::string_view text,
                                          std::size_t indent = 0) {
  if (!screen.is_terminal) return std::string(text);
  return bench::demo::wrapped(text, static_cast<std::size_t>(screen.look.width), indent);
}

/// The text without what would command a terminal: names of models and reasons are what anybody who
/// can write to a Node or a Pod has put there. Lines stay, and so do colours where there are some.
[[nodiscard]] std::string harmless(std::string_view text, bool colours);

}  // namespace tangram::cli
