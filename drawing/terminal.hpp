#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Text for a terminal: optional colours, and widths in visible columns instead of bytes. Pure,
/// except for the functions of standard output.
namespace tangram::drawing {

/// How to draw: with colours or without, and how wide.
struct Style {
  bool colour = false;
  int width = 80;      ///< columns that a line may fill
  bool light = false;  ///< dark text on a light background, as far as the terminal says
};

/// Less is too narrow for tables; a narrower terminal counts as this wide.
inline constexpr int kMinWidth = 60;
/// Wider lines are hard to follow.
inline constexpr int kMaxWidth = 150;

/// Colour if standard output is a terminal with colours and NO_COLOR is not set; the terminal's
/// width, else $COLUMNS, else 100. Light if $COLORFGBG says so, as rxvt, Konsole and iTerm2 set it.
[[nodiscard]] Style style_of_stdout();
/// The terminal's, at least kMinWidth: for tables, which may be wider than kMaxWidth.
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

/// Free capacity: close to the terminal's background.
[[nodiscard]] constexpr Colour free_colour(const Style& style) { return style.light ? 252 : 237; }

inline constexpr Ink kBold{.bold = true};
inline constexpr Ink kDim{.dim = true};
inline constexpr Ink kGood{.text = 42, .bold = true};
inline constexpr Ink kBad{.text = 203, .bold = true};

/// The text in that ink; unchanged if `style` has no colour.
[[nodiscard]] std::string paint(const Style& style, const Ink& ink, std::string_view text);

/// Columns of UTF-8 text; colours take none. Every character counts as one column.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// Cut to `columns`, with "…" where something is missing. For text without colours.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);
/// The same, with the middle missing: for names that differ at their ends.
[[nodiscard]] std::string shortened_inside(std::string_view text, std::size_t columns);
/// Filled with spaces on the right, or on the left.
[[nodiscard]] std::string left_in(std::string_view text, std::size_t columns);
[[nodiscard]] std::string right_in(std::string_view text, std::size_t columns);
[[nodiscard]] std::string centred_in(std::string_view text, std::size_t columns);

/// `text` `count` times.
[[nodiscard]] std::string repeated(std::string_view text, std::size_t count);

/// A line with a title in it, of the style's width.
[[nodiscard]] std::string heading(const Style& style, std::string_view title);

/// A space at which no line may end; wrapped() replaces it with a space.
inline constexpr char kNoBreak = '\x01';

/// Words in lines of at most `columns`. Each line begins at `indent`; the caller
/// writes the spaces of the first one.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent);

/// "79.6" GiB.
[[nodiscard]] std::string gib(std::int64_t mib);

/// "87%", rounded to the nearest, but neither 0 nor 100 unless it is.
[[nodiscard]] std::string percent(std::int64_t part, std::int64_t whole);

/// "▁▃▆█": one character per value of 0..1, averaged down to at most `columns`.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, std::size_t columns);

}  // namespace tangram::drawing
