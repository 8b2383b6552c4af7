#include "base/json_scan.hpp"

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

static_assert(std::endian::native == std::endian::little, "the first byte of a word is its lowest");

/// Sixteen at a time: an extension of GCC and Clang, for any processor.
using Bytes = std::int8_t __attribute__((vector_size(16)));
using Words = std::array<std::uint64_t, 2>;

/// Does the byte not stand for itself in a string? As signed numbers, control characters and what
/// is no ASCII are those below the blank.
template <class Byte>
auto is_special(Byte byte) {
  return (byte < ' ') | (byte == '"') | (byte == '\\');
}

/// As the public one. Inlined: a call takes as long as most strings.
[[gnu::always_inline]] inline const char* end_of_plain(const char* at, const char* end) {
  for (Bytes bytes; static_cast<std::size_t>(end - at) >= sizeof bytes; at += sizeof bytes) {
    std::memcpy(&bytes, at, sizeof bytes);
    const auto marks = std::bit_cast<Words>(is_special(bytes));
    const auto first = [](std::uint64_t word) { return std::countr_zero(word) / 8; };
    if (marks[0] != 0) return at + first(marks[0]);
    if (marks[1] != 0) return at + sizeof marks[0] + first(marks[1]);
  }
  while (at < end && !is_special(static_cast<std::int8_t>(*at))) ++at;
  return at;
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

bool stands_at(std::string_view text, std::size_t at, char c) {
  return at < text.size() && text[at] == c;
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
  const char* const begin = text.data();
  return static_cast<std::size_t>(end_of_plain(begin + at, begin + text.size()) - begin);
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
  const char* const first = text.data();
  const char* const last = first + text.size();
  while (stands_at(text, at, '"')) {
    const char* const begin = first + at + 1;
    const char* const end = end_of_plain(begin, last);
    if (end == last || *end != '"') return kNowhere;
    strings.emplace_back(begin, static_cast<std::size_t>(end - begin));
    at = static_cast<std::size_t>(end + 1 - first);
    if (stands_at(text, at, ',') && stands_at(text, at + 1, '"')) {  // as a rule
      ++at;
      continue;
    }
    at = skip_space(text, at);
    if (stands_at(text, at, ']')) return at + 1;
    if (!stands_at(text, at, ',')) return kNowhere;
    at = skip_space(text, at + 1);
  }
  return kNowhere;
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
