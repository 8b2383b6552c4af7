#include "node/kubelet/checkpoint.hpp"

#include "base/base64.hpp"
#include "base/json.hpp"
#include "kubelet/deviceplugin.pb.h"
#include "node/kubelet/allocate_response.hpp"

#include <algorithm>
#include <utility>

namespace tangram::node {
namespace {

PassedName name_in_response(json::Reader& in) {
  const auto bytes = base64_decode(in.string_or_null());
  v1beta1::ContainerAllocateResponse response;
  if (!bytes || !response.ParseFromString(*bytes)) {
    in.fail("is no base64 of a ContainerAllocateResponse");
    return {};
  }
  AllocateResponse passed;
  for (const auto& [name, value] : response.envs()) passed.env[name] = value;
  for (const auto& [name, value] : response.annotations()) passed.annotations[name] = value;
  for (const auto& device : response.cdi_devices()) passed.cdi_devices.push_back(device.name());
  return name_in(passed).value_or(PassedName{});
}

struct Entry {
  SlotOwner owner;
  std::string resource;
};

Entry read_entry(json::Reader& in) {
  Entry entry;
  in.object([&](std::string_view key) {
    if (key == "PodUID") {
      entry.owner.pod_uid = in.string();
    } else if (key == "ContainerName") {
      entry.owner.container = in.string();
    } else if (key == "ResourceName") {
      entry.resource = in.string();
    } else if (key == "DeviceIDs") {
      in.object([&](std::string_view /*numa_node*/) {
        in.array([&] { entry.owner.slots.emplace_back(in.string()); });
      });
    } else if (key == "AllocResp") {
      PassedName passed = name_in_response(in);
      entry.owner.name = std::move(passed.name);
      entry.owner.path = passed.path;
    } else {
      in.skip();
    }
  });
  std::sort(entry.owner.slots.begin(), entry.owner.slots.end());
  return entry;
}

}  // namespace

Result<std::vector<SlotOwner>> decode_checkpoint(std::string text, std::string_view resource) {
  std::vector<SlotOwner> owners;
  json::Reader in(text);
  bool has_data = false;
  in.object([&](std::string_view key) {
    if (key != "Data") return in.skip();
    has_data = true;
    in.object([&](std::string_view member) {
      if (member != "PodDeviceEntries") return in.skip();
      in.array([&] {
        Entry entry = read_entry(in);
        if (entry.resource == resource) owners.push_back(std::move(entry.owner));
      });
    });
  });
  if (auto done = in.finish(); !done) {
    return fail(Errc::kInvalidArgument, "kubelet's checkpoint: " + done.error().message);
  }
  if (!has_data) return fail(Errc::kInvalidArgument, "kubelet's checkpoint has no member Data");
  return owners;
}

}  // namespace tangram::node
