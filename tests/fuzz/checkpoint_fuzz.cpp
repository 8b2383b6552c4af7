#include "base/base64.hpp"
#include "node/kubelet/checkpoint.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <algorithm>

namespace {

using namespace tangram;
using fuzz::require;

constexpr std::string_view kResource = "tangram.dev/gpu-slot";

/// A name that is found must be found again in the answer that it would be given with.
void check(const node::Checkpoint& read) {
  for (const node::DeviceUse& use : read.others) require(use.resource != kResource);
  for (const node::SlotOwner& owner : read.slots) {
    require(std::is_sorted(owner.slots.begin(), owner.slots.end()));
    if (owner.name.empty()) continue;
    const auto found = node::name_in(node::allocate_response(
        owner.name, owner.path, {.variable = "DEVICES", .no_card = "none", .setup = ""}));
    require(found && found->name == owner.name && found->path == owner.path);
  }
}

}  // namespace

/// Any text as kubelet's checkpoint, and any bytes as the answer of a device plugin within one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  if (const auto read = node::decode_checkpoint(text, kResource)) check(*read);

  const auto read = node::decode_checkpoint(
      R"({"Data":{"PodDeviceEntries":[{"PodUID":"uid-1","ContainerName":"main",
      "ResourceName":"tangram.dev/gpu-slot","DeviceIDs":{"-1":["slot-3"]},"AllocResp":")" +
          base64_encode(text) + R"("}]}})",
      kResource);
  if (read) check(*read);
  return 0;
}
