#include "base/quote.hpp"

namespace tangram {

namespace {

constexpr std::string_view kEllipsis = "...";

std::string escaped(char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') return {'\\', c};
  if (byte >= 0x20 && byte < 0x7f) return {c};
  return {'\\', 'x', kHex[byte >> 4U], kHex[byte & 0xfU]};
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
  return quoted == '"' + std::string(text) + '"' ? std::string(text) : quoted;
}

}  // namespace tangram
