#include "node/hook/cgroup.hpp"
#include "node/hook/container_state.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text as a container's state, and as /proc/PID/cgroup: is refused, or leads to no process and
/// no folder that a limit must not reach.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  using namespace tangram::node;
  const auto text = fuzz::text_of(data, size);
  const auto state = hook::decode_state(std::string(text));
  if (state) {
    fuzz::require(state->pid > 0 && !state->id.empty());
    fuzz::require(state->id.find('/') == std::string::npos && state->id != "..");
  }
  const auto path = hook::cgroup_path(text);
  if (!path) return 0;
  fuzz::require(path->size() > 1 && path->front() == '/' && path->back() != '/');
  fuzz::require((*path + "/").find("/../") == std::string::npos);
  fuzz::require(!hook::is_of_container(*path, "/") && !hook::is_of_container(*path, ""));
  return 0;
}
