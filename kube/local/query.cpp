#include "kube/local/query.hpp"

#include "base/number.hpp"

namespace tangram::kube {

const std::string* query_value(const Request& request, const std::string& name) {
  const auto found = request.query.find(name);
  return found == request.query.end() || found->second.empty() ? nullptr : &found->second;
}

ApiResult<std::uint64_t> query_count(const Request& request, const std::string& name,
                                     std::uint64_t otherwise) {
  const std::string* text = query_value(request, name);
  if (text == nullptr) return otherwise;
  const auto count = parse_number<std::uint64_t>(*text);
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
  const auto version = parse_number<std::uint64_t>(text);
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
