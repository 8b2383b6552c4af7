#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Text for people at a terminal: colours that can be left out, and widths that count what is
/// seen, not bytes. Pure, but for look_of_stdout().
namespace tangram::drawing {

/// How to draw.
struct Look {
  bool colour = false;
  int width = 80;      ///< columns that a line may fill
  bool light = false;  ///< dark text on a light ground, as far as the terminal says
};

/// Narrower than this nothing is drawn well; a terminal that says so is taken to be this wide.
inline constexpr int kMinWidth = 60;
/// Wider lines are hard to follow with the eye.
inline constexpr int kMaxWidth = 150;

/// Colour if standard output is a terminal that can, and NO_COLOR is not set; its width, else
/// that of $COLUMNS, else 100. Light where $COLORFGBG says so, as rxvt, Konsole and iTerm2 set it.
[[nodiscard]] Look look_of_stdout();
/// Of the terminal, kMinWidth at least: for tables, which are read line by line.
[[nodiscard]] int columns_of_stdout();
[[nodiscard]] bool stdout_is_terminal();

/// One of the 256 colours of xterm; kPlain = the terminal's own.
using Colour = int;
inline constexpr Colour kPlain = -1;

struct Ink {
  Colour text = kPlain;
  Colour ground = kPlain;
  bool bold = false;
  bool dim = false;
};

/// What nobody has: close to the terminal's ground.
[[nodiscard]] constexpr Colour free_colour(const Look& look) { return look.light ? 252 : 237; }

inline constexpr Ink kBold{.bold = true};
inline constexpr Ink kDim{.dim = true};
inline constexpr Ink kGood{.text = 42, .bold = true};
inline constexpr Ink kBad{.text = 203, .bold = true};

/// The text in that ink; the text itself where `look` has no colour.
[[nodiscard]] std::string paint(const Look& look, const Ink& ink, std::string_view text);

/// Columns that UTF-8 text takes; colours take none. Every character here is one column wide.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// Cut to `columns`, with "…" where something is missing. For text without colours.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);
/// The same, with the middle missing: for names that differ at their ends.
[[nodiscard]] std::string shortened_inside(std::string_view text, std::size_t columns);
/// Filled up with spaces on the right, or the left.
[[nodiscard]] std::string left_in(std::string_view text, std::size_t columns);
[[nodiscard]] std::string right_in(std::string_view text, std::size_t columns);
[[nodiscard]] std::string centred_in(std::string_view text, std::size_t columns);

/// `text` `count` times.
[[nodiscard]] std::string repeated(std::string_view text, std::size_t count);

/// A line with a title in it, as wide as the look.
[[nodiscard]] std::string heading(const Look& look, std::string_view title);

/// Stands for a space at which no line may end; wrapped() makes a space of it.
inline constexpr char kNoBreak = '\x01';

/// Words in lines of at most `columns`. Each line begins at `indent`; the first one's spaces are
/// the caller's.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent);

/// "79.6" GiB.
[[nodiscard]] std::string gib(std::int64_t mib);

/// "87%", rounded to the nearest, but neither 0 nor 100 unless it is.
[[nodiscard]] std::string percent(std::int64_t part, std::int64_t whole);

/// "▁▃▆█": one character per value of 0..1, averaged down to at most `columns`.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, std::size_t columns);

}  // namespace tangram::drawing
