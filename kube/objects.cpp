#include "kube/objects.hpp"

#include "kube/resources.hpp"

#include <algorithm>

namespace tangram::kube {

namespace {

void read_node_metadata(json::Reader& in, Node& node) {
  in.object([&](std::string_view key) {
    if (key == "name") {
      node.name = in.string_or_null();
    } else if (key == "resourceVersion") {
      node.resource_version = in.string_or_null();
    } else if (key == "annotations") {
      node.annotations = read_own_annotations(in);
    } else {
      in.skip();
    }
  });
}

void read_node_status(json::Reader& in, Node& node) {
  ResourceMap allocatable;
  ResourceMap capacity;
  in.object([&](std::string_view key) {
    if (key == "allocatable") {
      allocatable = read_resources(in);
    } else if (key == "capacity") {
      capacity = read_resources(in);
    } else {
      in.skip();
    }
  });
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
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      read_node_metadata(in, node);
    } else if (key == "status") {
      read_node_status(in, node);
    } else {
      in.skip();
    }
  });
  return node;
}

std::string_view read_object_name(json::Reader& in) {
  std::string_view name;
  in.object([&](std::string_view key) {
    if (key != "metadata") return in.skip();
    in.object([&](std::string_view member) {
      if (member != "name") return in.skip();
      name = in.string();
    });
  });
  return name;
}

Result<Node> decode_node(std::string text) {
  json::Reader in(text);
  Node node = read_node(in);
  if (auto done = in.finish(); !done) return done.error();
  if (node.name.empty()) return fail(Errc::kInvalidArgument, "metadata.name: missing");
  return node;
}

}  // namespace tangram::kube
