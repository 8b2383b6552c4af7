#include "kube/client.hpp"

#include "base/json_members.hpp"
#include "base/utf8.hpp"
#include "kube/list_watch_codec.hpp"
#include "kube/url.hpp"

#include <array>
#include <utility>

namespace tangram::kube {

namespace {

std::string binding_body(const Binding& binding) {
  std::string body;
  json::Writer out(body);
  out.begin_object().member("apiVersion", "v1").member("kind", "Binding");
  out.key("metadata").begin_object();
  out.member("name", binding.name).member("namespace", binding.ns).member("uid", binding.uid);
  out.key("annotations").begin_object();
  for (const auto& [name, value] : binding.annotations) out.member(name, value);
  out.end_object().end_object();
  out.key("target").begin_object().member("apiVersion", "v1").member("kind", "Node");
  out.member("name", binding.node).end_object().end_object();
  return body;
}

std::string annotation_body(const PodAnnotation& change) {
  std::string body;
  json::Writer out(body);
  out.begin_object().key("metadata").begin_object();
  out.member("uid", change.uid).member("resourceVersion", change.resource_version);
  out.key("annotations").begin_object().member(change.annotation, change.value).end_object();
  out.end_object().end_object();
  return body;
}

std::string eviction_body(const Eviction& eviction) {
  std::string body;
  json::Writer out(body);
  out.begin_object().member("apiVersion", "policy/v1").member("kind", "Eviction");
  out.key("metadata").begin_object();
  out.member("name", eviction.name).member("namespace", eviction.ns).end_object();
  out.key("deleteOptions").begin_object().key("preconditions").begin_object();
  out.member("uid", eviction.uid).end_object();
  if (eviction.dry_run) out.key("dryRun").begin_array().string("All").end_array();
  out.end_object().end_object();
  return body;
}

std::string nomination_body(const Nominated& pod) {
  std::string body;
  json::Writer out(body);
  out.begin_object().key("metadata").begin_object().member("uid", pod.uid).end_object();
  out.key("status").begin_object().member("nominatedNodeName", pod.node).end_object();
  out.end_object();
  return body;
}

EvictionOutcome outcome_of_eviction(int status) {
  if (status == 200 || status == 201) return EvictionOutcome::kEvicted;
  if (status == 404 || status == 409) return EvictionOutcome::kGone;
  return status == 429 ? EvictionOutcome::kRefused : EvictionOutcome::kFailed;
}

Error answered(Errc code, std::string_view what, const Response& response) {
  return fail(code, std::string(what) + ": " + std::to_string(response.status) + ": " +
                        status_message(response));
}

/// Was a write that should give 201 applied? By its status.
Errc meaning_of(int status) {
  if (status == 404) return Errc::kNotFound;
  if (status == 409) return Errc::kConflict;
  if (status == 429) return Errc::kUnavailable;  // refused before it was looked at
  // A proxy's redirect or a 5xx does not show what the server behind it did.
  return status >= 400 && status < 500 ? Errc::kInvalidArgument : Errc::kTimeout;
}

constexpr std::size_t kShortBody = 200;  // a line of a log

std::string shortened(const std::string& body) {
  if (body.size() <= kShortBody) return body;
  return std::string(utf8_prefix(body, kShortBody)) + "...";
}

}  // namespace

std::string_view to_string(Method method) {
  constexpr std::array<std::string_view, 5> kNames{"GET", "POST", "PUT", "PATCH", "DELETE"};
  return kNames.at(static_cast<std::size_t>(method));
}

std::string pod_path(std::string_view ns, std::string_view name) {
  return "/api/v1/namespaces/" + percent_encode(ns) + "/pods/" + percent_encode(name);
}

std::string status_message(const Response& response) {
  std::string text = response.body;
  json::Reader in(text);
  std::string kind;
  std::string message;
  json::read_members(in, "kind", kind, "message", message);
  if (in.finish() && kind == "Status" && !message.empty()) return message;
  return shortened(response.body);
}

Result<void> bind_pod(KubeApi& api, const Binding& binding, std::chrono::milliseconds timeout) {
  const auto response = api.call({.method = Method::kPost,
                                  .path = pod_path(binding.ns, binding.name) + "/binding",
                                  .body = binding_body(binding),
                                  .timeout = timeout});
  if (!response) return response.error();
  if (response->status == 201 || response->status == 200) return {};
  return answered(meaning_of(response->status),
                  "bind pod " + binding.ns + "/" + binding.name + " to node " + binding.node,
                  *response);
}

Result<void> annotate_pod(KubeApi& api, const PodAnnotation& change,
                          std::chrono::milliseconds timeout) {
  const auto response = api.call({.method = Method::kPatch,
                                  .path = pod_path(change.ns, change.name),
                                  .body = annotation_body(change),
                                  .content_type = "application/merge-patch+json",
                                  .timeout = timeout});
  if (!response) return response.error();
  if (response->status == 200) return {};
  return answered(meaning_of(response->status),
                  "write " + change.annotation + " of pod " + change.ns + "/" + change.name,
                  *response);
}

Result<void> nominate_pod(KubeApi& api, const Nominated& pod, std::chrono::milliseconds timeout) {
  const auto response = api.call({.method = Method::kPatch,
                                  .path = pod_path(pod.ns, pod.name) + "/status",
                                  .body = nomination_body(pod),
                                  .content_type = "application/merge-patch+json",
                                  .timeout = timeout});
  if (!response) return response.error();
  if (response->status == 200) return {};
  return answered(meaning_of(response->status),
                  "nominate pod " + pod.ns + "/" + pod.name + " to node " + pod.node, *response);
}

EvictionAnswer evict_pod(KubeApi& api, const Eviction& eviction,
                         std::chrono::milliseconds timeout) {
  const auto response = api.call({.method = Method::kPost,
                                  .path = pod_path(eviction.ns, eviction.name) + "/eviction",
                                  .body = eviction_body(eviction),
                                  .timeout = timeout});
  if (!response) return {.message = response.error().message};
  EvictionAnswer answer{.outcome = outcome_of_eviction(response->status),
                        .message = "",
                        .retry_after = response->retry_after};
  if (answer.outcome != EvictionOutcome::kEvicted) {
    answer.message = std::to_string(response->status) + ": " + status_message(*response);
  }
  return answer;
}

Result<Pod> read_pod(KubeApi& api, std::string_view ns, std::string_view name,
                     std::chrono::milliseconds timeout) {
  auto response = api.call({.path = pod_path(ns, name), .timeout = timeout});
  const std::string what = ("read pod " + std::string(ns) + "/").append(name);
  if (!response) return fail(Errc::kUnavailable, what + ": " + response.error().message);
  if (response->status == 404) return answered(Errc::kNotFound, what, *response);
  if (response->status != 200) return answered(Errc::kUnavailable, what, *response);
  auto pod = decode_pod(std::move(response->body));
  if (!pod) return fail(Errc::kUnavailable, what + ": " + pod.error().message);
  return pod;
}

Result<std::string> list_version(KubeApi& api, const std::string& path,
                                 std::map<std::string, std::string> query,
                                 std::chrono::milliseconds timeout) {
  query["limit"] = "1";
  const auto response = api.call({.path = path, .query = std::move(query), .timeout = timeout});
  const std::string what = "version of " + path;
  if (!response) return fail(Errc::kUnavailable, what + ": " + response.error().message);
  if (response->status != 200) return answered(Errc::kUnavailable, what, *response);
  auto page = read_list(response->body, [](std::string_view) {});
  if (!page) return fail(Errc::kUnavailable, what + ": " + page.error().message);
  return std::move(page->version);
}

}  // namespace tangram::kube
