#include "node/kubelet/checkpoint.hpp"

#include "base/base64.hpp"
#include "base/json_members.hpp"
#include "kubelet/deviceplugin.pb.h"
#include "node/kubelet/allocate_response.hpp"

#include <algorithm>
#include <utility>

namespace tangram::node {
namespace {

struct Entry {
  SlotOwner owner;
  std::string resource;
  std::string response;  ///< base64
};

/// @returns whether the entry's response is one of a device plugin
bool read_response(Entry& entry) {
  const auto bytes = base64_decode(entry.response);
  v1beta1::ContainerAllocateResponse response;
  if (!bytes || !response.ParseFromString(*bytes)) return false;
  AllocateResponse passed;
  for (const auto& [name, value] : response.envs()) passed.env[name] = value;
  for (const auto& [name, value] : response.annotations()) passed.annotations[name] = value;
  for (const auto& device : response.cdi_devices()) passed.cdi_devices.push_back(device.name());
  auto [name, path] = name_in(passed).value_or(PassedName{});
  entry.owner.name = std::move(name);
  entry.owner.path = path;
  return true;
}

Entry read_entry(json::Reader& in) {
  Entry entry;
  SlotOwner& owner = entry.owner;
  const auto slots = [&](json::Reader&) {
    in.object([&](std::string_view /*numa_node*/) { json::read_into(in, owner.slots); });
  };
  const auto response = [&](json::Reader&) { entry.response = in.string_or_null(); };
  json::read_members(in, "PodUID", owner.pod_uid, "ContainerName", owner.container, "ResourceName",
                     entry.resource, "DeviceIDs", slots, "AllocResp", response);
  std::sort(entry.owner.slots.begin(), entry.owner.slots.end());
  return entry;
}

void add_entry(json::Reader& in, std::string_view resource, Checkpoint& to) {
  Entry entry = read_entry(in);
  if (entry.resource == resource) {
    if (!read_response(entry)) in.fail("AllocResp is no base64 of a ContainerAllocateResponse");
    to.slots.push_back(std::move(entry.owner));
  } else if (!entry.owner.slots.empty()) {
    to.others.push_back(
        {std::move(entry.owner.pod_uid), std::move(entry.resource), std::move(entry.owner.slots)});
  }
}

}  // namespace

Result<Checkpoint> decode_checkpoint(std::string text, std::string_view resource) {
  Checkpoint checkpoint;
  json::Reader in(text);
  bool has_data = false;
  const auto entries = [&](json::Reader&) {
    in.array([&] { add_entry(in, resource, checkpoint); });
  };
  const auto data = [&](json::Reader&) {
    has_data = true;
    json::read_members(in, "PodDeviceEntries", entries);
  };
  json::read_members(in, "Data", data);
  if (auto done = in.finish(); !done) {
    return fail(Errc::kInvalidArgument, "kubelet's checkpoint: " + done.error().message);
  }
  if (!has_data) return fail(Errc::kInvalidArgument, "kubelet's checkpoint has no member Data");
  return checkpoint;
}

}  // namespace tangram::node
