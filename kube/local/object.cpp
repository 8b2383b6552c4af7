#include "kube/local/object.hpp"

#include "base/json.hpp"

#include <array>
#include <cassert>
#include <tuple>
#include <utility>

namespace tangram::kube {

namespace {

constexpr std::array<KindInfo, kResourceKinds> kInfos{{
    {"/api/v1", "v1", "pods", "Pod", "pods", true, true},
    {"/api/v1", "v1", "nodes", "Node", "nodes", false, true},
    {"/apis/coordination.k8s.io/v1", "coordination.k8s.io/v1", "leases", "Lease",
     "leases.coordination.k8s.io", true, false},
    {"/apis/events.k8s.io/v1", "events.k8s.io/v1", "events", "Event", "events.events.k8s.io", true,
     false},
    {"/apis/policy/v1", "policy/v1", "poddisruptionbudgets", "PodDisruptionBudget",
     "poddisruptionbudgets.policy", true, true},
    {"/api/v1", "v1", "namespaces", "Namespace", "namespaces", false, true},
}};

void read_string_map(json::Reader& in) {
  in.object([&](std::string_view /*key*/) { std::ignore = in.string_or_null(); });
}

void read_labels(json::Reader& in, ObjectHead& head) {
  in.object(
      [&](std::string_view key) { head.fields.labels.emplace_back(key, in.string_or_null()); });
}

bool read_metadata_name(json::Reader& in, std::string_view key, ObjectHead& head) {
  if (key == "name") {
    head.fields.name = in.string_or_null();
  } else if (key == "namespace") {
    head.fields.ns = in.string_or_null();
  } else if (key == "generateName") {
    head.generate_name = in.string_or_null();
  } else {
    return false;
  }
  return true;
}

void read_metadata(json::Reader& in, ObjectHead& head) {
  in.object([&](std::string_view key) {
    if (read_metadata_name(in, key, head)) return;
    if (key == "uid") {
      head.uid = in.string_or_null();
    } else if (key == "resourceVersion") {
      head.resource_version = in.string_or_null();
    } else if (key == "deletionTimestamp") {
      head.deleting = !in.string_or_null().empty();
    } else if (key == "deletionGracePeriodSeconds" && in.kind() != json::Kind::kNull) {
      head.deletion_grace = in.integer();
    } else if (key == "annotations") {
      read_string_map(in);
    } else if (key == "labels") {
      read_labels(in, head);
    } else {
      in.skip();
    }
  });
}

void read_spec(json::Reader& in, ObjectHead& head) {
  in.object([&](std::string_view key) {
    if (key == "nodeName") {
      head.fields.node = in.string_or_null();
    } else if (key == "terminationGracePeriodSeconds" && in.kind() != json::Kind::kNull) {
      head.grace = in.integer();
    } else if (key == "schedulingGates") {
      in.array([&] {
        head.gated = true;
        in.skip();
      });
    } else {
      in.skip();
    }
  });
}

void read_status(json::Reader& in, ObjectHead& head) {
  in.object([&](std::string_view key) {
    if (key == "phase") {
      head.fields.phase = in.string_or_null();
    } else {
      in.skip();
    }
  });
}

}  // namespace

const KindInfo& info(ResourceKind kind) { return kInfos.at(static_cast<std::size_t>(kind)); }

std::string object_key(std::string_view ns, std::string_view name) {
  std::string key(ns);
  if (!ns.empty()) key += '/';
  return key.append(name);
}

void append_item(std::string& out, const StoredObject& object, std::uint64_t version) {
  out.append(R"({"metadata":{"resourceVersion":")")
      .append(std::to_string(version))
      .append(R"(",)")
      .append(object.content.tail);
}

void append_object(std::string& out, ResourceKind kind, const StoredObject& object,
                   std::uint64_t version) {
  out.append(R"({"kind":")")
      .append(info(kind).kind)
      .append(R"(","apiVersion":")")
      .append(info(kind).api_version)
      .append(R"(","metadata":{"resourceVersion":")")
      .append(std::to_string(version))
      .append(R"(",)")
      .append(object.content.tail);
}

std::string object_text(ResourceKind kind, const StoredObject& object) {
  std::string text;
  text.reserve(object.content.tail.size() + 128);
  append_object(text, kind, object, object.version);
  return text;
}

Result<ObjectHead> read_head(std::string text) {
  json::Reader in(text);
  ObjectHead head;
  in.object([&](std::string_view key) {
    if (key == "apiVersion") {
      head.api_version = in.string_or_null();
    } else if (key == "kind") {
      head.kind = in.string_or_null();
    } else if (key == "metadata") {
      read_metadata(in, head);
    } else if (key == "spec") {
      read_spec(in, head);
    } else if (key == "status") {
      read_status(in, head);
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  return head;
}

std::string tail_of(JsonDoc doc) {
  doc.erase({"apiVersion"});
  doc.erase({"kind"});
  doc.erase({"metadata", "resourceVersion"});
  std::string tail = doc.text_at({"metadata"}).value_or("{}").substr(1);
  assert(tail != "}" && "metadata has a uid");
  doc.erase({"metadata"});
  const std::string rest = doc.text();
  if (rest == "{}") {
    tail += '}';
  } else {
    tail.append(",").append(rest, 1);
  }
  tail.shrink_to_fit();
  return tail;
}

}  // namespace tangram::kube
