#include "kube/objects.hpp"

#include "base/json_members.hpp"
#include "kube/resources.hpp"

#include <algorithm>

namespace tangram::kube {

namespace {

void read_node_status(json::Reader& in, Node& node) {
  const auto read_counted = [](json::Reader& map) { return read_resources(map); };
  ResourceMap allocatable;
  ResourceMap capacity;
  json::read_members(in, "allocatable", json::value(allocatable, read_counted), "capacity",
                     json::value(capacity, read_counted));
  const auto& cpu = allocatable.cpu ? allocatable.cpu : capacity.cpu;
  const auto& memory = allocatable.memory ? allocatable.memory : capacity.memory;
  constexpr Mebibytes kMostMemory(Amount::kMostBytes >> 20U);
  if (cpu) node.cpu = MilliCpu(std::min(cpu->milli_floor(), Amount::kMostMilliCpu));
  if (memory) node.memory = std::min(memory->mebibytes_floor(), kMostMemory);
  node.slots =
      static_cast<int>(allocatable.slots ? *allocatable.slots : capacity.slots.value_or(0));
}

}  // namespace

model::Annotations read_own_annotations(json::Reader& in) {
  model::Annotations annotations;
  in.object([&](std::string_view key) {
    if (!key.starts_with(model::kPrefix)) return in.skip();
    annotations.emplace(key.substr(model::kPrefix.size()), in.string_or_null());
  });
  return annotations;
}

Node read_node(json::Reader& in) {
  Node node;
  json::read_members(
      in, "metadata",
      json::members("name", node.name, "resourceVersion", node.resource_version, "annotations",
                    json::value(node.annotations, read_own_annotations)),
      "status", [&](json::Reader& status) { read_node_status(status, node); });
  return node;
}

std::string_view read_object_name(json::Reader& in) {
  std::string_view name;
  const auto read_name = [&](json::Reader& text) { name = text.string(); };
  json::read_members(in, "metadata", json::members("name", read_name));
  return name;
}

Result<Node> decode_node(std::string text) {
  json::Reader in(text);
  Node node = read_node(in);
  if (auto done = in.finish(); !done) return done.error();
  if (node.name.empty()) return fail(Errc::kInvalidArgument, "metadata.name: missing");
  return node;
}

Result<Pod> decode_pod(std::string text, PodManifest* manifest) {
  json::Reader in(text);
  Pod pod = read_pod(in, manifest);
  if (auto done = in.finish(); !done) return done.error();
  for (const auto& [member, value] :
       {std::pair("metadata.uid", &pod.uid), std::pair("metadata.namespace", &pod.ns),
        std::pair("metadata.name", &pod.name)}) {
    if (value->empty()) return fail(Errc::kInvalidArgument, std::string(member) + ": missing");
  }
  return pod;
}

}  // namespace tangram::kube
