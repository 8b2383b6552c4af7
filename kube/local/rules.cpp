#include "kube/local/rules.hpp"

#include "base/json_members.hpp"
#include "kube/objects.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tangram::kube {

namespace {

/// DNS-1123 subdomain, the form of every name here.
bool is_valid_name(std::string_view name) {
  constexpr std::size_t kMaxName = 253;  // a DNS name
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kMaxName && alphanumeric(name.front()) &&
         alphanumeric(name.back()) && std::all_of(name.begin(), name.end(), [&](char c) {
           return alphanumeric(c) || c == '-' || c == '.';
         });
}

/// Checks a text by the decoders of its kind: finds wrong types and quantities.
Result<void> check_kind(ResourceKind kind, std::string text) {
  json::Reader in(text);
  if (kind == ResourceKind::kPods) {
    std::ignore = read_pod(in);
  } else if (kind == ResourceKind::kNodes) {
    std::ignore = read_node(in);
  } else {
    in.skip();
  }
  return in.finish();
}

/// What is needed of an Event, as the server validates it (core/validation/events.go).
ApiResult<void> check_event(const std::string& name, std::string text) {
  std::map<std::string_view, std::string> required;  // in the order of the server's messages
  std::string type;
  json::Reader in(text);
  json::read_members(in, "action", required["action"], "eventTime", required["eventTime"], "reason",
                     required["reason"], "reportingController", required["reportingController"],
                     "reportingInstance", required["reportingInstance"], "type", type);
  if (auto done = in.finish(); !done) return bad_request(done.error().message);
  for (const auto& [member, value] : required) {
    if (value.empty()) return invalid("Event", name, std::string(member) + ": Required value");
  }
  if (type == "Normal" || type == "Warning") return {};
  return invalid("Event", name, "type: Invalid value: \"" + type + "\": must be Normal or Warning");
}

/// Last step of every write: the text must be a good object of its kind.
ApiResult<Content> finish(const Route& route, JsonDoc doc) {
  const std::string text = doc.text();
  auto head = read_head(text);
  if (!head) return bad_request(head.error().message);
  if (auto good = check_kind(route.kind, text); !good) return bad_request(good.error().message);
  if (route.kind == ResourceKind::kEvents) {
    if (auto good = check_event(head->fields.name, text); !good) return good.error();
  }
  return Content{tail_of(std::move(doc)), std::move(head->fields)};
}

JsonDoc document(const Route& route, const StoredObject& object) {
  return *JsonDoc::parse(object_text(route.kind, object));
}

/// An update may not touch what is the server's.
void keep_identity(JsonDoc& doc, const JsonDoc& before) {
  for (const std::string_view member :
       {"name", "namespace", "generateName", "uid", "creationTimestamp", "deletionTimestamp",
        "deletionGracePeriodSeconds"}) {
    doc.copy_from(before, {"metadata", member});
  }
}

/// Preconditions that the new text carries itself.
ApiResult<void> check_update(const Route& route, const StoredObject& before, const JsonDoc& old,
                             const ObjectHead& head) {
  const std::string& name = before.fields().name;
  if (!head.fields.name.empty() && head.fields.name != name) {
    return bad_request("the name of the object (" + head.fields.name +
                       ") does not match the name on the URL (" + name + ")");
  }
  if (!head.uid.empty() && old.text_at({"metadata", "uid"}) != "\"" + head.uid + "\"") {
    return conflict(info(route.kind).qualified, name,
                    "Precondition failed: UID in precondition: " + head.uid);
  }
  if (!head.resource_version.empty() && head.resource_version != std::to_string(before.version)) {
    return modified_meanwhile(route.kind, name);
  }
  return {};
}

/// Writes outside the status subresource leave the status alone, and the other way round. A pod's
/// node is set by its binding alone.
ApiResult<Content> finish_update(const Route& route, const StoredObject& before, JsonDoc doc,
                                 const JsonDoc& old) {
  keep_identity(doc, old);
  if (route.subresource == "status") {
    doc.copy_from(old, {"spec"});
  } else if (info(route.kind).has_status) {
    doc.copy_from(old, {"status"});
  }
  if (route.kind == ResourceKind::kPods && !doc.same_at(old, {"spec", "nodeName"})) {
    return invalid(
        "Pod", before.fields().name,
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*]"
        ".image`, `spec.tolerations` (only additions to existing tolerations)");
  }
  return finish(route, std::move(doc));
}

/// A new node alone may bring its status along.
void begin_status(ResourceKind kind, JsonDoc& doc, bool keep_status) {
  if (kind == ResourceKind::kNodes || !info(kind).has_status) return;
  if (!keep_status) doc.erase({"status"});
  const bool has_phase = kind == ResourceKind::kPods || kind == ResourceKind::kNamespaces;
  if (!has_phase || doc.text_at({"status", "phase"})) return;
  doc.set_string({"status", "phase"}, kind == ResourceKind::kPods ? "Pending" : "Active");
}

}  // namespace

ApiResult<Body> read_body(const Route& route, const std::string& text) {
  auto doc = JsonDoc::parse(text);
  if (!doc) return bad_request(doc.error().message);
  auto head = read_head(text);
  if (!head) return bad_request(head.error().message);
  const KindInfo& kind = info(route.kind);
  const bool kind_fits = head->kind.empty() || head->kind == kind.kind;
  if (!kind_fits || (!head->api_version.empty() && head->api_version != kind.api_version)) {
    return bad_request(head->kind + " in version \"" + head->api_version +
                       "\" cannot be handled as a " + std::string(kind.kind));
  }
  if (!head->fields.ns.empty() && head->fields.ns != route.ns) {
    return bad_request(
        "the namespace of the provided object does not match the namespace sent on "
        "the request");
  }
  return Body{std::move(*doc), std::move(*head)};
}

ApiResult<Content> created_object(const Route& route, Body body, const Stamp& stamp,
                                  bool keep_status) {
  const KindInfo& kind = info(route.kind);
  std::string name = body.head.fields.name;
  if (name.empty() && !body.head.generate_name.empty())
    name = body.head.generate_name + stamp.suffix;
  if (name.empty()) {
    return invalid(kind.kind, "",
                   "metadata.name: Required value: name or generateName is required");
  }
  if (!is_valid_name(name)) {
    return invalid(kind.kind, name,
                   "metadata.name: Invalid value: a lowercase RFC 1123 subdomain must consist of "
                   "lower case alphanumeric characters, '-' or '.'");
  }
  JsonDoc& doc = body.doc;
  doc.set_string({"metadata", "name"}, name);
  if (kind.namespaced) doc.set_string({"metadata", "namespace"}, route.ns);
  doc.set_string({"metadata", "uid"}, stamp.uid);
  doc.set_string({"metadata", "creationTimestamp"}, stamp.time);
  doc.erase({"metadata", "deletionTimestamp"});
  doc.erase({"metadata", "deletionGracePeriodSeconds"});
  begin_status(route.kind, doc, keep_status);
  return finish(route, std::move(doc));
}

ApiResult<Content> replaced_object(const Route& route, const StoredObject& before, Body body) {
  const JsonDoc old = document(route, before);
  if (auto good = check_update(route, before, old, body.head); !good) return good.error();
  return finish_update(route, before, std::move(body.doc), old);
}

ApiResult<Content> patched_object(const Route& route, const StoredObject& before,
                                  const JsonDoc& patch) {
  const JsonDoc old = document(route, before);
  JsonDoc doc = document(route, before);
  doc.erase({"metadata", "resourceVersion"});
  doc.merge(patch);
  auto head = read_head(doc.text());
  if (!head) return bad_request(head.error().message);
  // Of a patch the UID is no precondition, as of a PUT, but a change that is not allowed.
  if (!doc.same_at(old, {"metadata", "uid"})) {
    return invalid(info(route.kind).kind, before.fields().name,
                   "metadata.uid: Invalid value: \"" + head->uid + "\": field is immutable");
  }
  if (auto good = check_update(route, before, old, *head); !good) return good.error();
  return finish_update(route, before, std::move(doc), old);
}

}  // namespace tangram::kube
