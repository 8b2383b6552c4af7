#include "kubelet/podresources.pb.h"
#include "node/kubelet/pod_resources.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <algorithm>

/// Any bytes as kubelet's answer: are no message, or list containers that hold a slot at least.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  v1::ListPodResourcesResponse response;
  if (!response.ParseFromArray(data, static_cast<int>(size))) return 0;
  std::size_t slots = 0;
  for (const auto& container : node::pod_list_of(response, "tangram.dev/gpu-slot")) {
    fuzz::require(!container.slots.empty());
    fuzz::require(std::is_sorted(container.slots.begin(), container.slots.end()));
    slots += container.slots.size();
  }
  fuzz::require(slots <= size / 2);  // each takes two bytes of the message at least
  return 0;
}
