#pragma once

#include "base/json.hpp"
#include "kube/api.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Short ways to write API objects and requests.
namespace tangram::testing {

/// What a test says about a pod; the rest is what any pod has.
struct PodText {
  std::string ns = "ml";
  std::string name = "train-0";
  std::string uid = {};
  std::string resource_version = {};
  std::string node = {};
  std::string phase = {};
  std::string scheduler = {};
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> annotations = {};
  std::map<std::string, std::string> requests = {{"cpu", "1"}, {"memory", "1Gi"}};
  std::map<std::string, std::string> limits = {};
  bool gated = false;
  int priority = 0;
  std::string group = {};                         ///< spec.schedulingGroup
  std::vector<std::string> more_containers = {};  ///< beside "main", of the same size
  std::string owner = {};  ///< the kind of its controller; empty = it has none
  std::map<std::string, std::string> more_spec = {};  ///< further members and their JSON
};

inline void write_map(json::Writer& out, std::string_view key,
                      const std::map<std::string, std::string>& map) {
  out.key(key).begin_object();
  for (const auto& [name, value] : map) out.member(name, value);
  out.end_object();
}

inline void write_if(json::Writer& out, std::string_view key, const std::string& value) {
  if (!value.empty()) out.member(key, value);
}

inline void write_container(json::Writer& out, const std::string& name, const PodText& pod) {
  out.begin_object().member("name", name).member("image", "registry.example/train:1");
  out.key("resources").begin_object();
  write_map(out, "requests", pod.requests);
  write_map(out, "limits", pod.limits);
  out.end_object().end_object();
}

/// A v1.Pod that a real API server would take.
inline std::string pod_json(const PodText& pod) {
  std::string text;
  json::Writer out(text);
  out.begin_object()
      .member("apiVersion", "v1")
      .member("kind", "Pod")
      .key("metadata")
      .begin_object();
  write_if(out, "name", pod.name);
  write_if(out, "namespace", pod.ns);
  write_if(out, "uid", pod.uid);
  write_if(out, "resourceVersion", pod.resource_version);
  if (!pod.labels.empty()) write_map(out, "labels", pod.labels);
  if (!pod.annotations.empty()) write_map(out, "annotations", pod.annotations);
  if (!pod.owner.empty()) {
    out.key("ownerReferences").begin_array().begin_object();
    out.member("apiVersion", "apps/v1").member("kind", pod.owner).member("name", "owner");
    out.member("uid", "11111111-1111-4111-8111-111111111111").member("controller", true);
    out.end_object().end_array();
  }
  out.end_object().key("spec").begin_object();
  write_if(out, "schedulerName", pod.scheduler);
  write_if(out, "nodeName", pod.node);
  if (pod.priority != 0) out.member("priority", pod.priority);
  if (!pod.group.empty()) {
    out.key("schedulingGroup").begin_object().member("podGroupName", pod.group).end_object();
  }
  if (pod.gated) out.key("schedulingGates").raw(R"([{"name":"example.com/wait"}])");
  for (const auto& [name, json] : pod.more_spec) out.key(name).raw(json);
  out.key("containers").begin_array();
  write_container(out, "main", pod);
  for (const std::string& name : pod.more_containers) write_container(out, name, pod);
  out.end_array().end_object();
  if (!pod.phase.empty()) out.key("status").begin_object().member("phase", pod.phase).end_object();
  out.end_object();
  return text;
}

/// A v1.Node with 8 cores and 32 GiB.
inline std::string node_json(const std::string& name,
                             const std::map<std::string, std::string>& annotations = {}) {
  std::string text;
  json::Writer out(text);
  out.begin_object()
      .member("apiVersion", "v1")
      .member("kind", "Node")
      .key("metadata")
      .begin_object();
  out.member("name", name);
  if (!annotations.empty()) write_map(out, "annotations", annotations);
  out.end_object().key("status").begin_object();
  write_map(out, "capacity", {{"cpu", "8"}, {"memory", "32Gi"}, {"pods", "110"}});
  write_map(out, "allocatable", {{"cpu", "7900m"}, {"memory", "31Gi"}, {"pods", "110"}});
  out.end_object().end_object();
  return text;
}

/// A policy/v1.PodDisruptionBudget over the pods with the label app=`app`.
inline std::string budget_json(const std::string& name, const std::string& app,
                               int min_available = 1) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("apiVersion", "policy/v1").member("kind", "PodDisruptionBudget");
  out.key("metadata").begin_object().member("name", name).end_object();
  out.key("spec").begin_object().member("minAvailable", min_available);
  out.key("selector").begin_object();
  write_map(out, "matchLabels", {{"app", app}});
  out.end_object().end_object().end_object();
  return text;
}

/// The body of a POST to a pod's binding subresource.
inline std::string binding_json(const std::string& name, const std::string& uid,
                                const std::string& node,
                                const std::map<std::string, std::string>& annotations = {}) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("apiVersion", "v1").member("kind", "Binding");
  out.key("metadata").begin_object().member("name", name);
  write_if(out, "uid", uid);
  write_map(out, "annotations", annotations);
  out.end_object().key("target").begin_object();
  out.member("apiVersion", "v1").member("kind", "Node").member("name", node);
  out.end_object().end_object();
  return text;
}

inline kube::Request get_request(std::string path, std::map<std::string, std::string> query = {}) {
  kube::Request request;
  request.path = std::move(path);
  request.query = std::move(query);
  return request;
}

inline kube::Request write_request(kube::Method method, std::string path, std::string body) {
  kube::Request request;
  request.method = method;
  request.path = std::move(path);
  request.body = std::move(body);
  if (method == kube::Method::kPatch) request.content_type = "application/merge-patch+json";
  return request;
}

inline std::string scalar_at(json::Reader& in) {
  if (in.kind() != json::Kind::kBool) return in.scalar_text();
  return in.boolean() ? "true" : "false";
}

/// The value at "metadata.uid" of a JSON text, as text: strings without quotes, objects and arrays
/// as they stand. @returns "<none>" if it is not there
inline std::string json_at(const std::string& text, std::string_view path) {
  std::string copy = text;
  json::Reader in(copy);
  std::string found = "<none>";
  const std::size_t dot = path.find('.');
  const std::string_view first = path.substr(0, dot);
  std::string rest;
  in.object([&](std::string_view key) {
    if (key != first) return in.skip();
    const auto span = in.span();
    if (span.end != 0) rest = text.substr(span.begin, span.end - span.begin);
    if (span.end != 0 || in.kind() == json::Kind::kNull) return in.skip();
    found = scalar_at(in);
  });
  if (!in.finish()) return "<not JSON>";
  if (dot == std::string_view::npos) return rest.empty() ? found : rest;
  return rest.starts_with('{') ? json_at(rest, path.substr(dot + 1)) : "<none>";
}

/// The objects of a list, which is a JSON text. None if it is not one.
inline std::vector<std::string> items_of(const std::string& list) {
  std::string copy = list;
  json::Reader in(copy);
  std::vector<std::string> items;
  in.object([&](std::string_view key) {
    if (key != "items") return in.skip();
    in.array([&] {
      const auto span = in.span();
      items.push_back(list.substr(span.begin, span.end - span.begin));
      in.skip();
    });
  });
  return in.finish() ? items : std::vector<std::string>();
}

}  // namespace tangram::testing
