#include "node/kubelet/container_runtime.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text as a runtime's of a container: is refused, or has an environment that is no larger.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  const auto environment = node::environment_in(std::string(fuzz::text_of(data, size)));
  if (!environment) return 0;
  std::size_t bytes = 0;
  for (const std::string& variable : *environment) bytes += variable.size();
  fuzz::require(bytes <= size);
  return 0;
}
