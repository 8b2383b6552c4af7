// The pod's own part of the server's rules: binding and graceful deletion.
#include "base/json_members.hpp"
#include "base/number.hpp"
#include "kube/local/rules.hpp"

#include <utility>

namespace tangram::kube {

namespace {

constexpr std::int64_t kDefaultGrace = 30;  // spec.terminationGracePeriodSeconds' own default

/// Only the annotations of a body, at their place.
JsonDoc annotations_of(const JsonDoc& body) {
  JsonDoc only = *JsonDoc::parse("{}");
  only.copy_from(body, {"metadata", "annotations"});
  return only;
}

/// @param resource  as messages name it
ApiResult<void> check_preconditions(std::string_view resource, const StoredObject& before,
                                    const ObjectHead& head, const Preconditions& wanted) {
  const auto refuse = [&](const std::string& why) {
    return conflict(resource, before.fields().name, "Precondition failed: " + why);
  };
  if (!wanted.uid.empty() && wanted.uid != head.uid) {
    return refuse("UID in precondition: " + wanted.uid + ", UID in object meta: " + head.uid);
  }
  if (!wanted.resource_version.empty() &&
      wanted.resource_version != std::to_string(before.version)) {
    return refuse("ResourceVersion in precondition: " + wanted.resource_version);
  }
  return {};
}

ApiResult<void> check_binding(const StoredObject& before, const ObjectHead& pod,
                              const BindingOrder& order) {
  constexpr std::string_view kResource = "pods/binding";
  const std::string& name = before.fields().name;
  if (auto good = check_preconditions(kResource, before, pod, order.preconditions); !good) {
    return good;
  }
  const auto refuse = [&](const std::string& why) { return conflict(kResource, name, why); };
  if (!pod.deleted_at.empty()) {
    return refuse("pod " + name + " is being deleted, cannot be assigned to a host");
  }
  if (!pod.fields.node.empty()) {
    return refuse("pod " + name + " is already assigned to node \"" + pod.fields.node + "\"");
  }
  if (pod.gated) return refuse("pod " + name + " has non-empty .spec.schedulingGates");
  return {};
}

/// The object in the body of a POST to a subresource must name the pod of the path.
ApiResult<void> check_place(const Route& route, const Fields& fields, const std::string& kind) {
  if (fields.name != route.name) {
    return bad_request("name in URL does not match name in " + kind + " object");
  }
  if (!fields.ns.empty() && fields.ns != route.ns) {
    return bad_request("namespace in URL does not match namespace in " + kind + " object");
  }
  return {};
}

/// Of a DeleteOptions object.
void read_delete_members(json::Reader& in, DeleteOptions& options) {
  Preconditions& wanted = options.preconditions;
  json::read_members(in, "gracePeriodSeconds", options.grace, "preconditions",
                     json::members("uid", wanted.uid, "resourceVersion", wanted.resource_version),
                     "dryRun", options.dry_run);
  if (options.grace.value_or(0) < 0) in.fail("gracePeriodSeconds: must not be negative");
}

}  // namespace

ApiResult<BindingOrder> read_binding(const Route& route, const std::string& body) {
  auto doc = JsonDoc::parse(body);
  if (!doc) return bad_request(doc.error().message);
  auto head = read_head(body);
  if (!head) return bad_request(head.error().message);
  std::string kind;
  std::string node;
  std::string copy = body;
  json::Reader in(copy);
  json::read_members(in, "target", json::members("kind", kind, "name", node));
  if (auto done = in.finish(); !done) return bad_request(done.error().message);
  if (auto good = check_place(route, head->fields, "Binding"); !good) return good.error();
  if (!kind.empty() && kind != "Node") {
    return invalid("Binding", route.name, "target.kind: Unsupported value: \"" + kind + "\"");
  }
  if (node.empty()) return invalid("Binding", route.name, "target.name: Required value");
  BindingOrder order{
      {std::move(head->uid), std::move(head->resource_version)}, std::move(node), {}};
  if (doc->text_at({"metadata", "annotations"})) order.annotations = annotations_of(*doc);
  return order;
}

ApiResult<Content> bound_pod(const StoredObject& before, const BindingOrder& order,
                             const std::string& now) {
  const std::string text = object_text(ResourceKind::kPods, before);
  if (auto good = check_binding(before, *read_head(text), order); !good) return good.error();
  JsonDoc doc = *JsonDoc::parse(text);
  if (order.annotations) doc.merge(*order.annotations);
  doc.set_string({"spec", "nodeName"}, order.node);
  JsonDoc condition = *JsonDoc::parse(R"({"type":"PodScheduled","status":"True"})");
  condition.set_string({"lastTransitionTime"}, now);
  doc.upsert({"status", "conditions"}, "type", condition);
  Fields fields = before.fields();
  fields.node = order.node;
  return Content{tail_of(std::move(doc)), std::move(fields)};
}

ApiResult<DeleteOptions> read_delete_options(const std::string& body, const std::string* grace) {
  DeleteOptions options;
  if (grace != nullptr) {
    options.grace = parse_number<std::int64_t>(*grace);
    if (options.grace.value_or(-1) < 0)
      return bad_request("gracePeriodSeconds: \"" + *grace + "\" is not a count");
  }
  if (body.empty()) return options;
  std::string copy = body;
  json::Reader in(copy);
  read_delete_members(in, options);
  if (auto done = in.finish(); !done) return bad_request(done.error().message);
  return options;
}

ApiResult<DeleteOptions> read_eviction(const Route& route, const std::string& body) {
  const auto head = read_head(body);
  if (!head) return bad_request(head.error().message);
  const bool is_eviction = head->kind.empty() || head->kind == "Eviction";
  const bool version_fits = head->api_version.empty() || head->api_version == "policy/v1";
  if (!is_eviction || !version_fits) {
    return bad_request(head->kind + " in version \"" + head->api_version +
                       "\" cannot be handled as an Eviction");
  }
  if (auto good = check_place(route, head->fields, "Eviction"); !good) return good.error();
  DeleteOptions options;
  std::string copy = body;
  json::Reader in(copy);
  json::read_members(in, "deleteOptions",
                     [&](json::Reader& members) { read_delete_members(members, options); });
  if (auto done = in.finish(); !done) return bad_request(done.error().message);
  return options;
}

ApiResult<void> check_eviction(const StoredObject& before) {
  if (before.fields().phase == "Pending") return {};
  return invalid("Pod", before.fields().name,
                 "status.phase: this server evicts pods that are Pending only; delete it");
}

ApiResult<std::int64_t> grace_of(ResourceKind kind, const StoredObject& before,
                                 const DeleteOptions& options) {
  const auto head = *read_head(object_text(kind, before));
  const auto good = check_preconditions(info(kind).qualified, before, head, options.preconditions);
  if (!good) return good.error();
  const bool may_run = kind == ResourceKind::kPods && !before.fields().node.empty() &&
                       before.fields().phase != "Succeeded" && before.fields().phase != "Failed";
  if (!may_run) return 0;
  return options.grace.value_or(head.grace.value_or(kDefaultGrace));
}

Content deleting_pod(const StoredObject& before, const std::string& when, std::int64_t grace) {
  const std::string text = object_text(ResourceKind::kPods, before);
  // A later DELETE may only shorten the grace.
  if (read_head(text)->deletion_grace.value_or(grace + 1) <= grace) return before.content;
  JsonDoc doc = *JsonDoc::parse(text);
  doc.set_string({"metadata", "deletionTimestamp"}, when);
  doc.set_integer({"metadata", "deletionGracePeriodSeconds"}, grace);
  return Content{tail_of(std::move(doc)), before.fields()};
}

}  // namespace tangram::kube
