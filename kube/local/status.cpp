#include "kube/local/status.hpp"

#include "base/json.hpp"

#include <fmt/format.h>

#include <utility>

namespace tangram::kube {

namespace {

std::string quoted(std::string_view resource, std::string_view name) {
  return std::string(resource).append(" \"").append(name).append("\"");
}

}  // namespace

Refusal bad_request(std::string message) { return {400, "BadRequest", std::move(message), "", ""}; }

Refusal not_found(ResourceKind kind, std::string_view name) {
  return {404, "NotFound", quoted(info(kind).qualified, name) + " not found",
          std::string(info(kind).plural), std::string(name)};
}

Refusal no_such_path() {
  return {404, "NotFound", "the server could not find the requested resource", "", ""};
}

Refusal already_exists(ResourceKind kind, std::string_view name) {
  return {409, "AlreadyExists", quoted(info(kind).qualified, name) + " already exists",
          std::string(info(kind).plural), std::string(name)};
}

Refusal conflict(std::string_view resource, std::string_view name, std::string_view why) {
  return {409, "Conflict",
          ("Operation cannot be fulfilled on " + quoted(resource, name) + ": ").append(why),
          std::string(resource), std::string(name)};
}

Refusal modified_meanwhile(ResourceKind kind, std::string_view name) {
  return conflict(info(kind).qualified, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

Refusal invalid(std::string_view kind, std::string_view name, std::string_view why) {
  return {422, "Invalid", (quoted(kind, name) + " is invalid: ").append(why), std::string(kind),
          std::string(name)};
}

Refusal method_not_allowed() {
  return {405, "MethodNotAllowed",
          "the server does not allow this method on the requested resource", "", ""};
}

Refusal unsupported_media_type(std::string_view what) {
  return {415, "UnsupportedMediaType",
          std::string("the body of the request was in an unknown format: ").append(what), "", ""};
}

Refusal expired(std::string_view why) { return {410, "Expired", std::string(why), "", ""}; }

Refusal too_large_version(std::uint64_t requested, std::uint64_t current) {
  return {504, "Timeout",
          "Too large resource version: " + std::to_string(requested) +
              ", current: " + std::to_string(current),
          "", ""};
}

Refusal too_large_body(std::size_t limit) {
  return {413, "RequestEntityTooLarge",
          "Request entity too large: limit is " + std::to_string(limit), "", ""};
}

std::string status_text(const Refusal& refusal) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("kind", "Status").member("apiVersion", "v1");
  out.key("metadata").begin_object().end_object();
  out.member("status", "Failure").member("message", refusal.message);
  out.member("reason", refusal.reason);
  if (!refusal.resource.empty()) {
    out.key("details").begin_object();
    out.member("name", refusal.name).member("kind", refusal.resource).end_object();
  }
  out.member("code", refusal.code).end_object();
  return text;
}

Response response(const Refusal& refusal) {
  Response answer{.status = refusal.code, .body = status_text(refusal)};
  if (refusal.code == 504) answer.retry_after = std::chrono::seconds(1);
  return answer;
}

Response success(int code) {
  return {
      .status = code,
      .body = fmt::format(
          R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Success","code":{}}})",
          code)};
}

}  // namespace tangram::kube
