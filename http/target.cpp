#include "http/target.hpp"

#include <boost/beast/http/rfc7230.hpp>

#include <optional>
#include <utility>

namespace tangram::http {
namespace {

namespace beast_http = boost::beast::http;

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

/// The byte that "%41" stands for; nothing if these are not two hex digits.
std::optional<char> escaped_byte(std::string_view text, std::size_t percent) {
  if (percent + 2 >= text.size()) return std::nullopt;
  const auto high = hex_digit(text[percent + 1]);
  const auto low = hex_digit(text[percent + 2]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(static_cast<unsigned char>(*high * 16 + *low));
}

enum class Plus { kPlus, kSpace };

Result<std::string> decode(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::kSpace) {
      out.push_back(' ');
    } else if (text[i] != '%') {
      out.push_back(text[i]);
    } else if (const auto byte = escaped_byte(text, i)) {
      out.push_back(*byte);
      i += 2;
    } else {
      return fail(Errc::kInvalidArgument,
                  "the target has a \"%\" without two hex digits after it; write a percent sign as "
                  "%25");
    }
  }
  return out;
}

/// Cuts `text` at the first `mark`; returns what stands before it and leaves what stands behind.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return head;
}

Result<void> add_pair(std::string_view pair, Target& target) {
  const std::string_view name_text = take_until(pair, '=');
  auto name = decode(name_text, Plus::kSpace);
  if (!name) return name.error();
  auto value = decode(pair, Plus::kSpace);
  if (!value) return value.error();
  target.query.emplace(std::move(*name), std::move(*value));
  return {};
}

/// "http://host/path" -> "/path"; any other text stays as it is.
std::string_view without_authority(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (target.substr(0, kScheme.size()) != kScheme) return target;
  const std::size_t slash = target.find('/', kScheme.size());
  return slash == std::string_view::npos ? "/" : target.substr(slash);
}

/// True for ";q=0", ";q=0.0" and the like: the coding is named only to be refused.
bool refused(const beast_http::param_list& parameters) {
  for (const auto& [name, value] : parameters) {
    if (name == "q" || name == "Q") return value.find_first_not_of("0.") == value.npos;
  }
  return false;
}

}  // namespace

Result<Target> parse_target(std::string_view target) {
  target = without_authority(target);
  if (target.empty() || target.front() != '/') {
    return fail(Errc::kInvalidArgument, "the target must be a path that begins with \"/\"");
  }
  const std::string_view path_text = take_until(target, '?');
  auto path = decode(path_text, Plus::kPlus);
  if (!path) return path.error();
  Target result;
  result.path = std::move(*path);
  while (!target.empty()) {
    const std::string_view pair = take_until(target, '&');
    if (pair.empty()) continue;
    if (auto added = add_pair(pair, result); !added) return added.error();
  }
  return result;
}

bool accepts_gzip(std::string_view accept_encoding) {
  bool any = false;
  for (const auto& [coding, parameters] : beast_http::ext_list(accept_encoding)) {
    if (coding == "gzip" || coding == "x-gzip") return !refused(parameters);
    if (coding == "*") any = !refused(parameters);
  }
  return any;
}

}  // namespace tangram::http
