#include "kube/local/query.hpp"

#include <charconv>
#include <optional>

namespace tangram::kube {

namespace {

std::optional<std::uint64_t> parse_count(const std::string& text) {
  std::uint64_t count = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return count;
}

}  // namespace

const std::string* query_value(const Request& request, const std::string& name) {
  const auto found = request.query.find(name);
  return found == request.query.end() || found->second.empty() ? nullptr : &found->second;
}

ApiResult<std::uint64_t> query_count(const Request& request, const std::string& name,
                                     std::uint64_t otherwise) {
  const std::string* text = query_value(request, name);
  if (text == nullptr) return otherwise;
  const auto count = parse_count(*text);
  if (!count) return bad_request(name + ": Invalid value: \"" + *text + "\"");
  return *count;
}

bool query_flag(const Request& request, const std::string& name) {
  const std::string* value = query_value(request, name);
  return value != nullptr && (*value == "true" || *value == "1");
}

ApiResult<Selector> query_selector(const Request& request, ResourceKind kind) {
  const std::string* fields = query_value(request, "fieldSelector");
  const std::string* labels = query_value(request, "labelSelector");
  auto selector =
      Selector::parse(kind, fields == nullptr ? "" : *fields, labels == nullptr ? "" : *labels);
  if (!selector) return bad_request(selector.error().message);
  return std::move(*selector);
}

ApiResult<std::uint64_t> parse_version(const std::string& text, std::uint64_t current) {
  const auto version = parse_count(text);
  if (!version) return bad_request("resourceVersion: Invalid value: \"" + text + "\"");
  if (*version > current) return too_large_version(*version, current);
  return *version;
}

ApiResult<void> check_query(const Request& request) {
  for (const char* name : {"dryRun", "resourceVersionMatch"}) {
    if (query_value(request, name) != nullptr) {
      return bad_request(std::string(name) + " is not something that this in-memory server knows");
    }
  }
  return {};
}

std::string key_prefix(const Route& route) { return route.ns.empty() ? "" : route.ns + "/"; }

}  // namespace tangram::kube
