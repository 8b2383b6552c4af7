#include "drawing/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace tangram::drawing {

namespace {

constexpr int kUsualWidth = 100;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread writes it
  return value == nullptr ? std::string_view() : value;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int columns = std::atoi(std::string(environment("COLUMNS")).c_str());
  return columns > 0 ? columns : kUsualWidth;
}

/// "15;0" or "0;default;15": the last is the background, one of 16 colours. Two of them are light.
bool light_background(std::string_view colours) {
  const std::string_view background = colours.substr(colours.find_last_of(';') + 1);
  return background == "7" || background == "15";
}

/// The spaces that fill the text up to so many columns.
std::string padding(std::string_view text, std::size_t columns) {
  return std::string(columns - std::min(columns_of(text), columns), ' ');
}

/// Bytes of `text` that make up its first `columns` characters.
std::size_t bytes_of(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    if (!continues_character(text[at]) && seen++ == columns) break;
  }
  return at;
}

}  // namespace

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) == 1; }

Style style_of_stdout() {
  const bool can = stdout_is_terminal() && environment("TERM") != "dumb";
  return {.colour = can && environment("NO_COLOR").empty(),
          .width = std::clamp(terminal_width(), kMinWidth, kMaxWidth),
          .light = light_background(environment("COLORFGBG"))};
}

int columns_of_stdout() { return std::max(terminal_width(), kMinWidth); }

std::string paint(const Style& style, const Ink& ink, std::string_view text) {
  std::string codes;
  const auto add = [&](const std::string& code) { codes += (codes.empty() ? "" : ";") + code; };
  if (ink.bold) add("1");
  if (ink.dim) add("2");
  if (ink.text != kPlain) add("38;5;" + std::to_string(ink.text));
  if (ink.ground != kPlain) add("48;5;" + std::to_string(ink.ground));
  if (!style.colour || codes.empty() || text.empty()) return std::string(text);
  return "\x1b[" + codes + "m" + std::string(text) + "\x1b[0m";
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  bool in_colour = false;
  for (const char c : text) {
    if (c == '\x1b') in_colour = true;
    if (!in_colour && !continues_character(c)) ++columns;
    if (c == 'm') in_colour = false;
  }
  return columns;
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  std::string_view head = text.substr(0, bytes_of(text, columns - 1));
  constexpr std::string_view kMore = "…";
  if (head.ends_with(kMore)) head.remove_suffix(kMore.size());
  return std::string(head) + "…";
}

std::string shortened_inside(std::string_view text, std::size_t columns) {
  const std::size_t whole = columns_of(text);
  if (whole <= columns || columns == 0) return shortened(text, columns);
  const std::size_t head = (columns - 1) / 3;
  const std::size_t tail = columns - 1 - head;
  return std::string(text.substr(0, bytes_of(text, head))) + "…" +
         std::string(text.substr(bytes_of(text, whole - tail)));
}

std::string left_in(std::string_view text, std::size_t columns) {
  return std::string(text) + padding(text, columns);
}

std::string right_in(std::string_view text, std::size_t columns) {
  return padding(text, columns) + std::string(text);
}

std::string centred_in(std::string_view text, std::size_t columns) {
  const std::size_t spare = columns - std::min(columns_of(text), columns);
  return std::string(spare / 2, ' ') + std::string(text) + std::string(spare - spare / 2, ' ');
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::string heading(const Style& style, std::string_view title) {
  const std::size_t used = columns_of(title) + 4;
  const std::size_t width = static_cast<std::size_t>(style.width);
  return "\n" + paint(style, kDim, "──") + " " + paint(style, kBold, title) + " " +
         paint(style, kDim, repeated("─", width - std::min(width, used))) + "\n";
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t wide = columns_of(word);
    if (column > indent && column + 1 + wide > columns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += wide;
  }
  std::replace(out.begin(), out.end(), kNoBreak, ' ');
  return out;
}

std::string gib(std::int64_t mib) {
  const std::int64_t tenths = (mib * 10 + 512) / 1024;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string percent(std::int64_t part, std::int64_t whole) {
  if (whole <= 0 || part <= 0) return "0%";
  const std::int64_t rounded = (100 * part + whole / 2) / whole;
  const std::int64_t most = part < whole ? 99 : rounded;
  return std::to_string(std::clamp<std::int64_t>(rounded, 1, most)) + "%";
}

std::string sparkline(const std::vector<double>& values, std::size_t columns) {
  static constexpr std::array<std::string_view, 8> kLevels{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t cells = std::min(columns, values.size());
  std::string line;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const std::size_t begin = cell * values.size() / cells;
    const std::size_t end = (cell + 1) * values.size() / cells;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += std::clamp(values[i], 0.0, 1.0);
    const double mean = sum / static_cast<double>(end - begin);
    line += kLevels[std::min(kLevels.size() - 1,
                             static_cast<std::size_t>(mean * static_cast<double>(kLevels.size())))];
  }
  return line;
}

}  // namespace tangram::drawing
