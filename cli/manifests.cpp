#include "cli/manifests.hpp"

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/json_members.hpp"
#include "kube/json_doc.hpp"
#include "kube/local/yaml_to_json.hpp"

#include <cstdint>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

namespace tangram::cli {

namespace {

/// The members that say how many pods an object creates.
struct Head {
  std::string kind;
  std::string name;
  std::string generate_name;
  std::string ns;
  std::int64_t replicas = 1;     ///< Deployment, ReplicaSet, StatefulSet
  std::int64_t parallelism = 1;  ///< Job
  std::string priority_class;    ///< of its pods
};

Result<Head> read_head(std::string object) {
  Head head;
  json::Reader in(object);
  const auto read_metadata = [&](json::Reader& metadata) {
    json::read_members(metadata, "name", head.name, "generateName", head.generate_name, "namespace",
                       head.ns);
  };
  const auto read_spec = [&](json::Reader& spec) {
    json::read_members(
        spec, "replicas", head.replicas, "parallelism", head.parallelism, "priorityClassName",
        head.priority_class, "template",
        json::members("spec", json::members("priorityClassName", head.priority_class)));
  };
  json::read_members(in, "kind", head.kind, "metadata", read_metadata, "spec", read_spec);
  if (auto done = in.finish(); !done) return done.error();
  if (head.name.empty()) head.name = head.generate_name;
  return head;
}

/// How many pods the object creates; nothing = its kind creates none.
std::optional<std::int64_t> pods_of(const Head& head) {
  static const std::set<std::string_view> kReplicated{"Deployment", "ReplicaSet", "StatefulSet"};
  if (head.kind == "Pod") return 1;
  if (head.kind == "Job") return head.parallelism;
  return kReplicated.contains(head.kind) ? std::optional(head.replicas) : std::nullopt;
}

Result<kube::Pod> pod_in(const std::string& object, const Head& head, const std::string& ns) {
  const auto whole = kube::JsonDoc::parse(object);
  if (!whole) return whole.error();
  const auto text =
      head.kind == "Pod" ? std::optional(object) : whole->text_at({"spec", "template"});
  if (!text) return fail(Errc::kInvalidArgument, "spec.template: missing");
  auto doc = kube::JsonDoc::parse(*text);
  if (!doc) return doc.error();
  doc->set_string({"metadata", "uid"}, "whatif");
  doc->set_string({"metadata", "name"}, head.name.empty() ? "pod" : head.name);
  doc->set_string({"metadata", "namespace"}, head.ns.empty() ? ns : head.ns);
  return kube::decode_pod(doc->text());
}

Result<void> add(const kube::YamlObject& object, const std::string& ns, Manifests& manifests) {
  const auto head = read_head(object.json);
  if (!head) return head.error();
  const auto count = pods_of(*head);
  if (!count) {
    manifests.skipped.push_back(head->kind + " " + head->name);
    return {};
  }
  if (*count < 0 || manifests.pods.size() + static_cast<std::size_t>(*count) > kMostPods) {
    return fail(Errc::kInvalidArgument, "creates " + std::to_string(*count) +
                                            " pods; a file may create 0 to " +
                                            std::to_string(kMostPods) + " in all");
  }
  auto pod = pod_in(object.json, *head, ns);
  if (!pod) return pod.error();
  const std::string name = pod->name;
  for (std::int64_t i = 0; i < *count; ++i) {
    if (*count > 1) pod->name = name + "-" + std::to_string(i);
    manifests.pods.push_back(*pod);
    manifests.priority_classes.push_back(head->priority_class);
  }
  return {};
}

}  // namespace

Result<std::string> read_manifest_file(const std::string& file) {
  if (file != "-") return read_file(file);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

std::string list_of(const std::vector<std::string>& objects) {
  if (objects.size() == 1) return objects.front();
  std::string list;
  json::Writer out(list);
  out.begin_object().member("apiVersion", "v1").member("kind", "List");
  out.key("items").begin_array();
  for (const std::string& object : objects) out.raw(object);
  out.end_array().end_object();
  return list;
}

Result<Manifests> read_manifests(const std::string& text, const std::string& ns) {
  const auto objects = kube::yaml_to_json(text);
  if (!objects) return objects.error();
  Manifests manifests;
  for (const kube::YamlObject& object : *objects) {
    if (auto added = add(object, ns, manifests); !added) {
      return fail(Errc::kInvalidArgument,
                  "line " + std::to_string(object.line) + ": " + added.error().message);
    }
  }
  return manifests;
}

}  // namespace tangram::cli
