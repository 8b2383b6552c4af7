// The pod's own part of the server's rules: binding and graceful deletion.
#include "base/json.hpp"
#include "kube/local/rules.hpp"

#include <charconv>
#include <tuple>
#include <utility>

namespace tangram::kube {

namespace {

constexpr std::int64_t kDefaultGrace = 30;  // spec.terminationGracePeriodSeconds' own default

struct BindingBody {
  std::string name;
  std::string ns;
  std::string target_kind;
  std::string target;
};

void read_target(json::Reader& in, BindingBody& body) {
  in.object([&](std::string_view key) {
    if (key == "kind") {
      body.target_kind = in.string_or_null();
    } else if (key == "name") {
      body.target = in.string_or_null();
    } else {
      in.skip();
    }
  });
}

std::string read_binding_target(const std::string& text, BindingBody& body) {
  std::string copy = text;
  json::Reader in(copy);
  in.object([&](std::string_view key) {
    if (key == "target") {
      read_target(in, body);
    } else {
      in.skip();
    }
  });
  const auto done = in.finish();
  return done ? "" : done.error().message;
}

/// Only the annotations of a body, at their place.
JsonDoc annotations_of(const JsonDoc& body) {
  JsonDoc only = *JsonDoc::parse("{}");
  only.copy_from(body, {"metadata", "annotations"});
  return only;
}

ApiResult<void> check_binding(const StoredObject& before, const ObjectHead& pod,
                              const BindingOrder& order) {
  const std::string& name = before.fields().name;
  const auto refuse = [&](const std::string& why) { return conflict("pods/binding", name, why); };
  if (!order.uid.empty() && order.uid != pod.uid) {
    return refuse("Precondition failed: UID in precondition: " + order.uid +
                  ", UID in object meta: " + pod.uid);
  }
  if (!order.resource_version.empty() && order.resource_version != std::to_string(before.version)) {
    return refuse("Precondition failed: ResourceVersion in precondition: " +
                  order.resource_version);
  }
  if (pod.deleting)
    return refuse("pod " + name + " is being deleted, cannot be assigned to a host");
  if (!pod.fields.node.empty()) {
    return refuse("pod " + name + " is already assigned to node \"" + pod.fields.node + "\"");
  }
  if (pod.gated) return refuse("pod " + name + " has non-empty .spec.schedulingGates");
  return {};
}

std::optional<std::int64_t> parse_seconds(std::string_view text) {
  std::int64_t seconds = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || seconds < 0) {
    return std::nullopt;
  }
  return seconds;
}

void read_preconditions(json::Reader& in, DeleteOptions& options) {
  in.object([&](std::string_view key) {
    if (key == "uid") {
      options.uid = in.string_or_null();
    } else if (key == "resourceVersion") {
      options.resource_version = in.string_or_null();
    } else {
      in.skip();
    }
  });
}

void read_delete_body(json::Reader& in, DeleteOptions& options) {
  in.object([&](std::string_view key) {
    if (key == "gracePeriodSeconds" && in.kind() != json::Kind::kNull) {
      options.grace = in.integer();
      if (*options.grace < 0) in.fail("must not be negative");
    } else if (key == "preconditions") {
      read_preconditions(in, options);
    } else {
      in.skip();
    }
  });
}

}  // namespace

ApiResult<BindingOrder> read_binding(const Route& route, const std::string& body) {
  auto doc = JsonDoc::parse(body);
  if (!doc) return bad_request(doc.error().message);
  auto head = read_head(body);
  if (!head) return bad_request(head.error().message);
  BindingBody binding;
  if (const std::string wrong = read_binding_target(body, binding); !wrong.empty()) {
    return bad_request(wrong);
  }
  if (head->fields.name != route.name) {
    return bad_request("name in URL does not match name in Binding object");
  }
  if (!head->fields.ns.empty() && head->fields.ns != route.ns) {
    return bad_request("namespace in URL does not match namespace in Binding object");
  }
  if (!binding.target_kind.empty() && binding.target_kind != "Node") {
    return invalid("Binding", route.name,
                   "target.kind: Unsupported value: \"" + binding.target_kind + "\"");
  }
  if (binding.target.empty()) {
    return invalid("Binding", route.name, "target.name: Required value");
  }
  BindingOrder order{std::move(head->uid), std::move(head->resource_version),
                     std::move(binding.target), std::nullopt};
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
    options.grace = parse_seconds(*grace);
    if (!options.grace) return bad_request("gracePeriodSeconds: \"" + *grace + "\" is not a count");
  }
  if (body.empty()) return options;
  std::string copy = body;
  json::Reader in(copy);
  read_delete_body(in, options);
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
  if (head->fields.name != route.name) {
    return bad_request("name in URL does not match name in Eviction object");
  }
  if (!head->fields.ns.empty() && head->fields.ns != route.ns) {
    return bad_request("namespace in URL does not match namespace in Eviction object");
  }
  DeleteOptions options;
  std::string copy = body;
  json::Reader in(copy);
  in.object([&](std::string_view key) {
    if (key != "deleteOptions") return in.skip();
    read_delete_body(in, options);
  });
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
  const std::string& name = before.fields().name;
  if (!options.uid.empty() && options.uid != head.uid) {
    return conflict(info(kind).qualified, name,
                    "Precondition failed: UID in precondition: " + options.uid +
                        ", UID in object meta: " + head.uid);
  }
  if (!options.resource_version.empty() &&
      options.resource_version != std::to_string(before.version)) {
    return conflict(
        info(kind).qualified, name,
        "Precondition failed: ResourceVersion in precondition: " + options.resource_version);
  }
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
