#include "base/json.hpp"
#include "extender/scheduling/wire.hpp"
#include "tests/fuzz/fuzzing.hpp"

namespace {

using namespace tangram;
using fuzz::require;

bool is_json(std::string text) {
  json::Reader in(text);
  in.skip();
  return in.finish().has_value();
}

/// The names in an answer's NodeNames, or of the nodes in its Nodes.
std::size_t kept_nodes(std::string text) {
  std::size_t count = 0;
  json::Reader in(text);
  const auto count_elements = [&] {
    in.array([&] {
      ++count;
      in.skip();
    });
  };
  in.object([&](std::string_view key) {
    if (key == "NodeNames") return count_elements();
    if (key != "Nodes") return in.skip();
    in.object([&](std::string_view member) {
      if (member == "items") return count_elements();
      in.skip();
    });
  });
  require(in.finish().has_value());
  return count;
}

}  // namespace

/// Any text: is refused with a message that can be sent, or gives an answer that is JSON, if the
/// request was, and hands back as many nodes as were asked.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram::extender;
  Body body({reinterpret_cast<const char*>(data), size});
  const auto args = decode_filter_args(body);
  if (!args) {
    require(!args.error().message.empty());
    require(is_json(encode_filter_error(args.error().message)));
    return 0;
  }
  require(!args->full_nodes || args->node_texts.size() == args->node_names.size());
  if (!is_json(std::string(fuzz::text_of(data, size)))) return 0;  // nodes are handed back unread
  FilterResult all;
  FilterResult some;
  for (std::uint32_t i = 0; i < args->node_names.size(); ++i) {
    all.kept.push_back(i);
    if ((data[i % size] & 3U) != 0) some.kept.push_back(i);
    if ((data[i % size] & 4U) != 0) some.kept.push_back(i / 2);
  }
  require(kept_nodes(encode(*args, all)) == all.kept.size());
  require(kept_nodes(encode(*args, some)) == some.kept.size());
  return 0;
}
