#include "node/hook/container_state.hpp"

#include "base/json_members.hpp"
#include "base/quote.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace tangram::node::hook {
namespace {

constexpr std::size_t kLongestId = 255;  // a file name: runtimes name the cgroup's folder after it

/// The alphabet of runc and containerd. An id of it is no path.
bool is_id(const std::string& id) {
  return !id.empty() && id.size() <= kLongestId && id.front() != '.' &&
         std::all_of(id.begin(), id.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '+';
         });
}

}  // namespace

Result<ContainerState> decode_state(std::string text) {
  if (text.size() > kMostStateBytes) {
    return fail(Errc::kTooLarge, "the container's state is larger than " +
                                     std::to_string(kMostStateBytes) +
                                     " bytes; shorten the annotations of the pod");
  }
  ContainerState state;
  const json::Outline wanted{.members = {{.name = "id"}, {.name = "pid"}}};
  json::Reader in(text, wanted);
  json::read_members(in, "id", state.id, "pid", state.pid);
  if (auto done = in.finish(); !done) {
    return fail(Errc::kInvalidArgument,
                "standard input is not an OCI runtime's state of a container: " +
                    done.error().message + "; start this program as a createRuntime hook");
  }
  if (!is_id(state.id)) {
    return fail(Errc::kInvalidArgument, "the container's state has the id " + quote(state.id) +
                                            "; start this program as a createRuntime hook");
  }
  if (state.pid <= 0) {
    return fail(Errc::kInvalidArgument,
                "the state of container " + state.id + " has the pid " + std::to_string(state.pid) +
                    "; start this program as a createRuntime hook, when the process is there");
  }
  return state;
}

Result<ContainerState> read_state(std::istream& in) {
  std::string text(kMostStateBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return decode_state(std::move(text));
}

}  // namespace tangram::node::hook
