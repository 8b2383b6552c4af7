#include "cluster/agent_words.hpp"

#include "model/request.hpp"

namespace tangram::cluster {

namespace {

// The reason of every error before a container is created, and the text of callPreStartContainer()
// in kubelet's device manager: 1.28 to 1.37 write the same.
constexpr std::string_view kReason = "CreateContainerConfigError";
constexpr std::string_view kPreStart =
    "device plugin PreStartContainer rpc failed with err: rpc error: code = ";

/// The gRPC code with which the agent sends that mark.
std::string_view code_of(std::string_view mark) {
  return mark == model::kCannotStart ? "FailedPrecondition desc = " : "Unavailable desc = ";
}

/// Takes the prefix away, if it is one.
bool consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string_view agent_words(const kube::Pod& pod, std::string_view mark) {
  for (const kube::Waiting& waiting : pod.waiting) {
    std::string_view words = waiting.message;
    if (waiting.reason == kReason && consume(words, kPreStart) && consume(words, code_of(mark)) &&
        words.starts_with(mark)) {
      return words;
    }
  }
  return {};
}

}  // namespace tangram::cluster
