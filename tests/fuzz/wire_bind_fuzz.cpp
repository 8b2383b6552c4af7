#include "base/json.hpp"
#include "extender/scheduling/wire.hpp"
#include "tests/fuzz/fuzzing.hpp"

namespace {

using namespace tangram;
using fuzz::require;

std::string written(const extender::BindArgs& args) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("PodName", args.name).member("PodNamespace", args.ns);
  out.member("PodUID", args.uid).member("Node", args.node).end_object();
  return text;
}

}  // namespace

/// Any text: is refused with a message that can be sent, or is a request that names all four and
/// reads back as itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram::extender;
  Body body({reinterpret_cast<const char*>(data), size});
  const auto args = decode_bind_args(body);
  if (!args) {
    std::string reply = encode_bind_result(args.error().message);
    json::Reader in(reply);
    in.skip();
    require(in.finish().has_value());
    return 0;
  }
  require(!args->ns.empty() && !args->name.empty() && !args->uid.empty() && !args->node.empty());
  Body again_body(written(*args));
  const auto again = decode_bind_args(again_body);
  require(again.has_value());
  require(again->ns == args->ns && again->name == args->name && again->uid == args->uid &&
          again->node == args->node);
  return 0;
}
