#include "node/kubelet/checkpoint.hpp"

#include "base/base64.hpp"
#include "base/json_members.hpp"
#include "kubelet/deviceplugin.pb.h"
#include "node/kubelet/allocate_response.hpp"

#include <algorithm>
#include <utility>

namespace tangram::node {
namespace {

void read_response(json::Reader& in, SlotOwner& owner) {
  const auto bytes = base64_decode(in.string_or_null());
  v1beta1::ContainerAllocateResponse response;
  if (!bytes || !response.ParseFromString(*bytes)) {
    return in.fail("is no base64 of a ContainerAllocateResponse");
  }
  AllocateResponse passed;
  for (const auto& [name, value] : response.envs()) passed.env[name] = value;
  for (const auto& [name, value] : response.annotations()) passed.annotations[name] = value;
  for (const auto& device : response.cdi_devices()) passed.cdi_devices.push_back(device.name());
  const auto [name, path] = name_in(passed).value_or(PassedName{});
  owner.name = name;
  owner.path = path;
}

struct Entry {
  SlotOwner owner;
  std::string resource;
};

Entry read_entry(json::Reader& in) {
  Entry entry;
  SlotOwner& owner = entry.owner;
  const auto slots = [&](json::Reader&) {
    in.object([&](std::string_view /*numa_node*/) { json::read_into(in, owner.slots); });
  };
  const auto response = [&](json::Reader&) { read_response(in, owner); };
  json::read_members(in, "PodUID", owner.pod_uid, "ContainerName", owner.container, "ResourceName",
                     entry.resource, "DeviceIDs", slots, "AllocResp", response);
  std::sort(entry.owner.slots.begin(), entry.owner.slots.end());
  return entry;
}

}  // namespace

Result<std::vector<SlotOwner>> decode_checkpoint(std::string text, std::string_view resource) {
  std::vector<SlotOwner> owners;
  json::Reader in(text);
  bool has_data = false;
  const auto entries = [&](json::Reader&) {
    in.array([&] {
      Entry entry = read_entry(in);
      if (entry.resource == resource) owners.push_back(std::move(entry.owner));
    });
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
  return owners;
}

}  // namespace tangram::node
