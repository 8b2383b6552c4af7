#include "kube/local/object.hpp"

#include "base/json_members.hpp"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <iterator>
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
    {"/apis/storage.k8s.io/v1", "storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity",
     "csistoragecapacities.storage.k8s.io", true, false},
    {"/api/v1", "v1", "secrets", "Secret", "secrets", true, false},
    {"/api/v1", "v1", "configmaps", "ConfigMap", "configmaps", true, false},
    {"/apis/apps/v1", "apps/v1", "deployments", "Deployment", "deployments.apps", true, true},
    {"/apis/admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1",
     "mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
     "mutatingwebhookconfigurations.admissionregistration.k8s.io", false, false},
    {"/apis/admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1",
     "validatingwebhookconfigurations", "ValidatingWebhookConfiguration",
     "validatingwebhookconfigurations.admissionregistration.k8s.io", false, false},
}};

}  // namespace

const KindInfo& info(ResourceKind kind) { return kInfos.at(static_cast<std::size_t>(kind)); }

std::string object_key(std::string_view ns, std::string_view name) {
  std::string key(ns);
  if (!ns.empty()) key += '/';
  return key.append(name);
}

void append_item(std::string& out, const StoredObject& object, std::uint64_t version) {
  out.append(R"({"metadata":{"resourceVersion":")").append(std::to_string(version));
  out.append(R"(",)").append(object.content.tail);
}

void append_object(std::string& out, ResourceKind kind, const StoredObject& object,
                   std::uint64_t version) {
  const KindInfo& of = info(kind);
  fmt::format_to(std::back_inserter(out),
                 R"({{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{}",{})",
                 of.kind, of.api_version, version, object.content.tail);
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
  Fields& fields = head.fields;
  StringMap annotations;  // only checked
  const auto read_gates = [&](json::Reader& gates) {
    gates.array([&] {
      head.gated = true;
      gates.skip();
    });
  };
  json::read_members(
      in, "apiVersion", head.api_version, "kind", head.kind, "metadata",
      json::members("name", fields.name, "namespace", fields.ns, "generateName", head.generate_name,
                    "uid", head.uid, "resourceVersion", head.resource_version, "deletionTimestamp",
                    head.deleted_at, "deletionGracePeriodSeconds", head.deletion_grace,
                    "annotations", annotations, "labels", fields.labels),
      "spec",
      json::members("nodeName", fields.node, "terminationGracePeriodSeconds", head.grace,
                    "schedulingGates", read_gates),
      "status", json::members("phase", fields.phase));
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
