#include "extender/admission/review.hpp"

#include "base/base64.hpp"
#include "base/json_members.hpp"
#include "base/json_scan.hpp"
#include "base/quote.hpp"
#include "extender/admission/limits.hpp"
#include "kube/pod_manifest.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace tangram::extender {

namespace {

using Operation = AdmissionRequest::Operation;
using Subject = AdmissionRequest::Subject;

constexpr std::string_view kApiVersion = "admission.k8s.io/v1";
constexpr std::string_view kKind = "AdmissionReview";

/// 16 MiB. Two pods of 1,000 containers with 60 variables have 750,000.
constexpr std::size_t kMostTokens = std::size_t{1} << 20;
/// Of a pod and of a namespace, in Kubernetes: names are copied several times.
constexpr std::size_t kLongestName = 253;

/// All that is read. Of a Binding that is its annotations, which stand where a pod's do.
json::Outline review_outline() {
  const auto object = kube::manifest_outline(admission_scope());
  return {.members = {{"apiVersion"},
                      {"kind"},
                      {"request",
                       {{"uid"},
                        {"operation"},
                        {"resource"},
                        {"subResource"},
                        {"namespace"},
                        {"name"},
                        {"userInfo", {{"username"}}},
                        {"object", object},
                        {"oldObject", object}}}},
          .most_tokens = kMostTokens};
}

/// All but the objects, whose form depends on it.
struct Head {
  std::string api_version;
  std::string kind;
  bool has_request = false;
  std::string uid;
  std::string operation;
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string ns;
  std::string name;
  std::string user;
};

Head read_head(json::Reader& in) {
  Head head;
  const auto resource = [&](json::Reader&) {
    json::read_members(in, "group", head.group, "version", head.version, "resource", head.resource);
  };
  const auto user = [&](json::Reader&) { json::read_members(in, "username", head.user); };
  const auto request = [&](json::Reader&) {
    head.has_request = in.kind() == json::Kind::kObject;
    json::read_members(in, "uid", head.uid, "operation", head.operation, "resource", resource,
                       "subResource", head.subresource, "namespace", head.ns, "name", head.name,
                       "userInfo", user);
  };
  json::read_members(in, "apiVersion", head.api_version, "kind", head.kind, "request", request);
  return head;
}

Result<void> check(const Head& head) {
  const auto wrong = [](std::string what) { return fail(Errc::kInvalidArgument, std::move(what)); };
  if (head.kind != kKind) return wrong("kind " + quote(head.kind) + " is no AdmissionReview");
  if (head.api_version != kApiVersion) {
    return wrong("apiVersion " + quote(head.api_version) +
                 " is not read here; write admissionReviewVersions: [v1] in the webhook's "
                 "configuration");
  }
  if (!head.has_request) return wrong("request: missing");
  if (head.uid.empty()) return wrong("request.uid: missing");
  return {};
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '\\'; });
}

std::optional<Operation> operation_of(std::string_view text) {
  if (text == "CREATE") return Operation::kCreate;
  if (text == "UPDATE") return Operation::kUpdate;
  if (text == "DELETE") return Operation::kDelete;
  if (text == "CONNECT") return Operation::kConnect;
  return std::nullopt;
}

Subject subject_of(const Head& head) {
  if (!head.group.empty() || head.version != "v1") return Subject::kOther;
  if (head.resource == "bindings") return Subject::kBinding;
  if (head.resource != "pods") return Subject::kOther;
  if (head.subresource.empty()) return Subject::kPod;
  if (head.subresource == "binding") return Subject::kBinding;
  if (head.subresource == "ephemeralcontainers") return Subject::kEphemeralContainers;
  if (head.subresource == "status" || head.subresource == "resize") return Subject::kPodPart;
  return Subject::kOther;
}

void too_long(json::Reader& in, std::string_view what) {
  in.fail(std::string(what) + ": longer than the " + std::to_string(kLongestName) +
          " characters of any name in Kubernetes");
}

void check_names(json::Reader& in, const Head& head) {
  if (head.ns.size() > kLongestName) return too_long(in, "request.namespace");
  if (head.name.size() > kLongestName) too_long(in, "request.name");
}

Result<void> read_pods(json::Reader& in, const Head& head, AdmissionRequest& request) {
  const auto read = [&](std::optional<kube::PodManifest>& pod) {
    if (in.kind() == json::Kind::kNull) return in.skip();
    pod = kube::read_manifest(in, admission_scope());
    pod->ns = head.ns;
    if (pod->name.empty()) pod->name = head.name;
    if (pod->name.size() > kLongestName + 1) too_long(in, "metadata.name");
    if (pod->uid.size() > kLongestName) too_long(in, "metadata.uid");
  };
  const auto object = [&](json::Reader&) { read(request.pod); };
  const auto old_object = [&](json::Reader&) {
    request.operation == Operation::kUpdate ? read(request.old_pod) : in.skip();
  };
  const auto objects = [&](json::Reader&) {
    json::read_members(in, "object", object, "oldObject", old_object);
  };
  json::read_members(in, "request", objects);
  if (auto done = in.finish(); !done) return done.error();
  if (!request.pod) return fail(Errc::kInvalidArgument, "request.object: missing");
  if (request.operation == Operation::kUpdate && !request.old_pod) {
    return fail(Errc::kInvalidArgument, "request.oldObject: missing");
  }
  return {};
}

Result<void> read_binding(json::Reader& in, const Head& head, AdmissionRequest& request) {
  request.binding_name = head.name;
  const auto object = [&](json::Reader&) {
    request.binding_annotations = kube::read_object_annotations(in, kMaxAnnotations);
  };
  const auto objects = [&](json::Reader&) { json::read_members(in, "object", object); };
  json::read_members(in, "request", objects);
  return in.finish();
}

void write_status(json::Writer& out, const AdmissionResponse& answer) {
  const auto write = [&](std::string_view reason, int code) {
    out.member("reason", reason).member("code", code);
  };
  out.key("status").begin_object();
  out.member("status", "Failure").member("message", answer.refusal);
  switch (answer.why) {
    case AdmissionResponse::Why::kMistake:
      write("BadRequest", 400);
      break;
    case AdmissionResponse::Why::kForbidden:
      write("Forbidden", 403);
      break;
    case AdmissionResponse::Why::kBusy:
      // The API server makes the header Retry-After of it, without which clients do not try again.
      write("TooManyRequests", 429);
      out.key("details").begin_object().member("retryAfterSeconds", 1).end_object();
      break;
  }
  out.end_object();
}

}  // namespace

std::string_view uid_of_review(std::string_view text) {
  constexpr std::size_t kMostUid = 128;  // a UUID has 36
  const auto member = [&](std::initializer_list<std::string_view> path) {
    return json::raw_string(json::find(text, path));
  };
  if (member({"kind"}) != kKind || member({"apiVersion"}) != kApiVersion) return {};
  const std::string_view uid = member({"request", "uid"});
  // Without escapes, so that it is what the API server compares.
  return uid.size() <= kMostUid && is_plain(uid) ? uid : std::string_view();
}

/// By tests/extender/admission/review_memory_test.cpp: 25 times the text for lists of {}, which
/// take two tokens of 16 bytes for three bytes, and are copied as they grow. No more than the
/// tokens' limit allows: 16 MiB, and as much for the annotations that two pods may have. Names are
/// copied once or twice.
std::size_t most_memory_to_read(std::size_t text_bytes) {
  return 2 * text_bytes + std::min(28 * text_bytes, std::size_t{36} << 20);
}

Result<AdmissionRequest> decode_review(std::string text) {
  static const json::Outline kOutline = review_outline();
  json::Reader in(text, kOutline);
  // The objects after the rest: what they are may follow them.
  const Head head = read_head(in);
  if (auto done = in.finish(); !done) return done.error();
  if (auto fine = check(head); !fine) return fine.error();
  const auto operation = operation_of(head.operation);
  if (!operation) {
    return fail(Errc::kInvalidArgument,
                "request.operation " + quote(head.operation) + " is not known");
  }
  AdmissionRequest request;
  request.uid = head.uid;
  request.operation = *operation;
  request.subject = subject_of(head);
  request.user = head.user;
  const bool changes = *operation == Operation::kCreate || *operation == Operation::kUpdate;
  if (!changes || request.subject == Subject::kOther) return request;
  in.rewind();
  check_names(in, head);
  auto read = request.subject == Subject::kBinding ? read_binding(in, head, request)
                                                   : read_pods(in, head, request);
  if (!read) return read.error();
  return request;
}

AdmissionResponse refuse(std::string_view pod, std::string_view what, AdmissionResponse::Why why) {
  AdmissionResponse answer;
  answer.refusal = "pod " + (pod.empty() ? "without a name" : quote_if_needed(pod)) + ": ";
  answer.refusal += what;
  answer.why = why;
  return answer;
}

std::string encode_review(std::string_view uid, const AdmissionResponse& answer) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("apiVersion", kApiVersion).member("kind", kKind);
  out.key("response").begin_object().member("uid", uid).member("allowed", answer.refusal.empty());
  if (!answer.refusal.empty()) {
    write_status(out, answer);
  } else if (!answer.patch.empty()) {
    out.member("patchType", "JSONPatch").member("patch", base64_encode(answer.patch));
  }
  if (!answer.warnings.empty()) {
    out.key("warnings").begin_array();
    for (const std::string& warning : answer.warnings) out.string(warning);
    out.end_array();
  }
  out.end_object().end_object();
  return text;
}

}  // namespace tangram::extender
