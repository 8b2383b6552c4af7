#include "base/json_scan.hpp"

#include "base/json_bits.hpp"
#include "base/json_brackets.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace tangram::json {

namespace {

constexpr std::size_t kNowhere = std::string_view::npos;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// The quote that closes the string whose opening quote is at `at`.
std::size_t closing_quote(std::string_view text, std::size_t at) {
  const char* const begin = text.data() + at + 1;
  const char* const end = text.data() + text.size();
  for (const char* from = begin; from < end;) {
    const auto* quote =
        static_cast<const char*>(std::memchr(from, '"', static_cast<std::size_t>(end - from)));
    if (quote == nullptr) return kNowhere;
    const char* slash = quote;
    while (slash > begin && slash[-1] == '\\') --slash;
    if ((quote - slash) % 2 == 0) return static_cast<std::size_t>(quote - text.data());
    from = quote + 1;
  }
  return kNowhere;
}

/// Also where something begins that cannot follow it: a reader of the whole text sees it there,
/// too.
bool ends_scalar(char c) {
  constexpr std::string_view kOthers = ",:\"{}[]";
  return is_space(c) || kOthers.find(c) != std::string_view::npos;
}

/// Does the byte not stand for itself in a string? As signed numbers, control characters and what
/// is no ASCII are those below the blank.
template <class Byte>
auto is_special(Byte byte) {
  return (byte < ' ') | (byte == '"') | (byte == '\\');
}

/// The places of bytes that do not stand for themselves, one after the other. All in a block are
/// found at a time: a search from each one on would wait for the place of that one.
class Specials {
 public:
  Specials(std::string_view text, std::size_t from) : text_(text) { take_block(from); }

  /// @returns the text's size after the last one
  std::size_t next() {
    while (bits_ == 0) {
      if (text_.size() - block_ <= kBlock) return text_.size();
      take_block(block_ + kBlock);
    }
    const auto at = block_ + static_cast<std::size_t>(std::countr_zero(bits_));
    bits_ &= bits_ - 1;
    return at;
  }

 private:
  static constexpr std::size_t kBlock = 64;

  void take_block(std::size_t at) {
    block_ = at;
    if (text_.size() - at >= kBlock) {
      bits_ = bits_in(text_.data() + at);
      return;
    }
    std::array<char, kBlock> last;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled next
    last.fill(' ');
    std::memcpy(last.data(), text_.data() + at, text_.size() - at);
    bits_ = bits_in(last.data());
  }
  static std::uint64_t bits_in(const char* block) {
    std::uint64_t bits = 0;
    for (std::size_t at = 0; at < kBlock; at += sizeof(Bytes)) {
      Bytes bytes;
      std::memcpy(&bytes, block + at, sizeof bytes);
      bits |= bits_of(is_special(bytes)) << at;
    }
    return bits;
  }

  std::string_view text_;
  std::size_t block_ = 0;   ///< where it begins
  std::uint64_t bits_ = 0;  ///< of its special bytes that are still to come
};

bool stands_at(std::string_view text, std::size_t at, char c) {
  return at < text.size() && text[at] == c;
}

/// Reads strings that follow one another without a space, from `at` on.
/// @returns the end of the last one; npos if one does not stand for itself, or none begins there
std::size_t read_close_strings(std::string_view text, std::size_t at,
                               std::vector<std::string_view>& strings) {
  if (!stands_at(text, at, '"')) return kNowhere;
  Specials specials(text, at);
  for (;;) {
    const std::size_t begin = specials.next() + 1;
    const std::size_t end = specials.next();
    if (!stands_at(text, end, '"')) return kNowhere;
    strings.emplace_back(text.data() + begin, end - begin);
    if (!stands_at(text, end + 1, ',') || !stands_at(text, end + 2, '"')) return end + 1;
  }
}

/// Moves `at` from where an object begins to the value of its first member of that name.
bool to_member(std::string_view text, std::string_view wanted, std::size_t& at) {
  if (at == text.size() || text[at] != '{') return false;
  for (std::string_view key;;) {
    if (!scan::next_key(text, ++at, key)) return false;
    at = skip_space(text, at);
    if (key == wanted) return true;
    const std::size_t end = end_of_value(text, at);
    if (end == kNowhere) return false;
    at = skip_space(text, end);
    if (at == text.size() || text[at] != ',') return false;
  }
}

}  // namespace

std::size_t end_of_value(std::string_view text, std::size_t at) {
  if (at >= text.size()) return kNowhere;
  if (text[at] == '{' || text[at] == '[') return end_of_container(text, at);
  if (text[at] == '"') {
    const std::size_t quote = closing_quote(text, at);
    return quote == kNowhere ? kNowhere : quote + 1;
  }
  std::size_t end = at;
  while (end < text.size() && !ends_scalar(text[end])) ++end;
  return end == at ? kNowhere : end;
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

std::size_t end_of_plain(std::string_view text, std::size_t at) {
  for (Bytes bytes; text.size() - at >= sizeof bytes; at += sizeof bytes) {
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    const std::uint64_t bits = bits_of(is_special(bytes));
    if (bits != 0) return at + static_cast<std::size_t>(std::countr_zero(bits));
  }
  while (at < text.size() && !is_special(static_cast<std::int8_t>(text[at]))) ++at;
  return at;
}

std::string_view raw_string(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return {};
  return value.substr(1, value.size() - 2);
}

std::size_t find_begin(std::string_view object, std::initializer_list<std::string_view> path) {
  std::size_t at = skip_space(object, 0);
  for (const std::string_view key : path) {
    if (!to_member(object, key, at)) return kNowhere;
  }
  return at;
}

std::string_view find(std::string_view object, std::initializer_list<std::string_view> path) {
  const std::size_t at = find_begin(object, path);
  const std::size_t end = end_of_value(object, at);
  return end == kNowhere ? std::string_view{} : object.substr(at, end - at);
}

std::size_t read_plain_strings(std::string_view text, std::size_t at,
                               std::vector<std::string_view>& strings) {
  if (!stands_at(text, at, '[')) return kNowhere;
  at = skip_space(text, at + 1);
  if (stands_at(text, at, ']')) return at + 1;
  for (;;) {
    at = read_close_strings(text, at, strings);
    if (at == kNowhere) return kNowhere;
    at = skip_space(text, at);
    if (stands_at(text, at, ']')) return at + 1;
    if (!stands_at(text, at, ',')) return kNowhere;
    at = skip_space(text, at + 1);
  }
}

namespace scan {

Body open(std::string_view text, char open, char close) {
  const std::size_t begin = skip_space(text, 0);
  std::size_t end = text.size();
  while (end > begin && is_space(text[end - 1])) --end;
  text = text.substr(begin, end - begin);
  if (text == "null") return {.null = true, .good = true, .inside = {}};
  if (text.size() < 2 || text.front() != open || text.back() != close) return {};
  return {.null = false, .good = true, .inside = text.substr(1)};
}

bool empty(std::string_view inside) { return skip_space(inside, 0) + 1 == inside.size(); }

char separator(std::string_view inside, std::size_t& at, char close) {
  at = skip_space(inside, at);
  if (at == inside.size()) return 0;
  const char next = inside[at++];
  return next == ',' || next == close ? next : '\0';
}

bool next_key(std::string_view inside, std::size_t& at, std::string_view& key) {
  const std::size_t begin = skip_space(inside, at);
  if (begin == inside.size() || inside[begin] != '"') return false;
  const std::size_t end = closing_quote(inside, begin);
  if (end == kNowhere) return false;
  key = inside.substr(begin + 1, end - begin - 1);
  const std::size_t colon = skip_space(inside, end + 1);
  if (colon == inside.size() || inside[colon] != ':') return false;
  at = colon + 1;
  return true;
}

}  // namespace scan

}  // namespace tangram::json
