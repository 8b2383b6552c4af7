#include "kube/objects.hpp"

#include "base/json_members.hpp"
#include "kube/pod_manifest.hpp"
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

using Members = std::vector<json::Outline::Member>;

/// Of a member whose presence is read, and nothing inside: no member has that name.
const Members& nothing_inside() {
  static const Members kNothing{{""}};
  return kNothing;
}

/// Both; of neither a member has `wanted`.
void add(Members& to, const Members& more) {
  for (const json::Outline::Member& member : more) {
    const auto found = std::find_if(to.begin(), to.end(),
                                    [&](const auto& had) { return had.name == member.name; });
    if (found == to.end()) {
      to.push_back(member);
    } else if (found->inside.empty() || member.inside.empty()) {
      found->inside.clear();
    } else {
      add(found->inside, member.inside);
    }
  }
}

json::Outline node_outline() {
  const Members resources{{"cpu"}, {"memory"}, {model::kSlotResource}};
  return {.members = {{"metadata", {{"name"}, {"resourceVersion"}, {"annotations"}}},
                      {"status", {{"allocatable", resources}, {"capacity", resources}}}}};
}

Members pod_and_manifest_outline() {
  Members outline = pod_outline();
  add(outline, manifest_outline({}));
  return outline;
}

}  // namespace

std::vector<json::Outline::Member> pod_outline() {
  const Members& present = nothing_inside();
  const Members resources{{"limits"}, {"requests"}};
  const Members container{{"name"}, {"resources", resources}, {"restartPolicy"}};
  const Members state{
      {"waiting", {{"reason"}, {"message"}}}, {"running", present}, {"terminated", present}};
  const Members status{{"name"}, {"state", state}, {"lastState", state}, {"restartCount"}};
  return {{"metadata",
           {{"uid"},
            {"namespace"},
            {"name"},
            {"resourceVersion"},
            {"annotations"},
            {"labels"},
            {"deletionTimestamp"},
            {"ownerReferences", {{"kind"}, {"name"}, {"controller"}}}}},
          {"spec",
           {{"nodeName"},
            {"schedulerName"},
            {"containers", container},
            {"initContainers", container},
            {"priority"},
            {"volumes", {{"persistentVolumeClaim", present}, {"ephemeral", present}}},
            {"resourceClaims", present},
            {"schedulingGroup", {{"podGroupName"}}},
            {"preemptionPolicy"},
            {"schedulingGates", present},
            {"overhead"},
            {"resources", resources}}},
          {"status",
           {{"phase"},
            {"containerStatuses", status},
            {"initContainerStatuses", status},
            {"nominatedNodeName"},
            {"conditions", {{"type"}, {"status"}, {"reason"}, {"message"}}}}}};
}

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
  static const json::Outline kOutline = node_outline();
  json::Reader in(text, kOutline);
  Node node = read_node(in);
  if (auto done = in.finish(); !done) return done.error();
  if (node.name.empty()) return fail(Errc::kInvalidArgument, "metadata.name: missing");
  return node;
}

Result<Pod> decode_pod(std::string text, PodManifest* manifest) {
  static const json::Outline kPod{.members = pod_outline()};
  static const json::Outline kPodAndManifest{.members = pod_and_manifest_outline()};
  json::Reader in(text, manifest == nullptr ? kPod : kPodAndManifest);
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
