#include "base/json.hpp"
#include "extender/scheduling/wire.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text: is refused, or names victims that read back from the answer as they were asked.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram::extender;
  using tangram::fuzz::require;
  Body body({reinterpret_cast<const char*>(data), size});
  const auto args = decode_preempt_args(body);
  if (!args) {
    require(!args.error().message.empty());
    return 0;
  }
  // The answer has the members of a request without a pod.
  std::string reply = encode_preempt_result(args->nodes);
  Body again_body(R"({"Pod":{},)" + reply.substr(1));
  const auto again = decode_preempt_args(again_body);
  require(again.has_value());
  require(again->nodes.size() == args->nodes.size());
  for (const auto& [node, victims] : args->nodes) {
    const auto same = again->nodes.find(node);
    require(same != again->nodes.end());
    require(same->second.uids == victims.uids);
    require(same->second.pdb_violations == victims.pdb_violations);
  }
  return 0;
}
