#include "base/json_scan.hpp"

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

}  // namespace

std::size_t end_of_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        i = closing_quote(text, i);
        if (i == kNowhere) return kNowhere;
        if (depth == 0) return i + 1;
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (depth == 0) return i == at ? kNowhere : i;
        if (--depth == 0) return i + 1;
        break;
      case ',':
      case ':':
      case ' ':
      case '\n':
      case '\r':
      case '\t':
        if (depth == 0) return i == at ? kNowhere : i;
        break;
      default:
        break;
    }
  }
  return depth == 0 && at < text.size() ? text.size() : kNowhere;
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

std::string_view raw_string(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return {};
  return value.substr(1, value.size() - 2);
}

std::string_view find(std::string_view object, std::initializer_list<std::string_view> path) {
  std::size_t at = skip_space(object, 0);
  for (const std::string_view wanted : path) {
    if (at == object.size() || object[at] != '{') return {};
    for (std::string_view key;;) {
      if (!scan::next_key(object, ++at, key)) return {};
      at = skip_space(object, at);
      if (key == wanted) break;
      const std::size_t end = end_of_value(object, at);
      if (end == kNowhere) return {};
      at = skip_space(object, end);
      if (at == object.size() || object[at] != ',') return {};
    }
  }
  const std::size_t end = end_of_value(object, at);
  return end == kNowhere ? std::string_view{} : object.substr(at, end - at);
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

Part next(std::string_view inside, std::size_t& at, char close) {
  const std::size_t begin = skip_space(inside, at);
  const std::size_t end = end_of_value(inside, begin);
  if (end == kNowhere) return {};
  const std::size_t after = skip_space(inside, end);
  if (after == inside.size()) return {};
  const bool last = inside[after] == close;
  if (!last && inside[after] != ',') return {};
  at = after + 1;
  return {.good = true, .last = last, .value = inside.substr(begin, end - begin)};
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
