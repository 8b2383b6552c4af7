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

bool ends_scalar(char c) { return is_space(c) || c == ',' || c == ':' || c == '}' || c == ']'; }

/// Of an object or array.
std::size_t end_of_container(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      i = closing_quote(text, i);
      if (i == kNowhere) return kNowhere;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return kNowhere;
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

std::string_view raw_string(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return {};
  return value.substr(1, value.size() - 2);
}

std::string_view find(std::string_view object, std::initializer_list<std::string_view> path) {
  std::size_t at = skip_space(object, 0);
  for (const std::string_view key : path) {
    if (!to_member(object, key, at)) return {};
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
