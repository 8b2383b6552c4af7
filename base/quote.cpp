#include "base/quote.hpp"

namespace tangram {

namespace {

constexpr std::string_view kEllipsis = "...";

std::string escaped(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') return {'\\', c};
  if (byte >= 0x20 && byte < 0x7f) return {c};
  constexpr std::string_view kDigits = "0123456789abcdef";
  return {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 0xFU]};
}

}  // namespace

std::string quote(std::string_view text) {
  std::string shown;
  std::size_t cut = 0;  // where an ellipsis still fits behind what is shown
  for (const char c : text) {
    shown += escaped(c);
    if (shown.size() + kEllipsis.size() <= kMaxQuoted) cut = shown.size();
    if (shown.size() > kMaxQuoted) {
      shown.resize(cut);
      shown += kEllipsis;
      break;
    }
  }
  return '"' + shown + '"';
}

std::string quote_if_needed(std::string_view text) {
  std::string quoted = quote(text);
  const bool plain = quoted.size() == text.size() + 2 && quoted.compare(1, text.size(), text) == 0;
  return plain ? std::string(text) : quoted;
}

}  // namespace tangram
