#include "base/json.hpp"
#include "kube/local/yaml_to_json.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text: is refused, or gives JSON objects of bounded size, each at a line of the text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  const auto objects = kube::yaml_to_json(std::string(fuzz::text_of(data, size)));
  if (!objects) {
    fuzz::require(objects.error().message.starts_with("line "));
    return 0;
  }
  std::size_t written = 0;
  for (const auto& [object, line] : *objects) {
    written += object.size();
    fuzz::require(line >= 1 && static_cast<std::size_t>(line) <= size + 1);
    std::string text = object;
    json::Reader in(text);
    in.object([&](std::string_view /*key*/) { in.skip(); });
    // YAML takes any bytes in quotes, JSON does not.
    if (const auto done = in.finish(); !done) {
      fuzz::require(done.error().message.find("not valid JSON") != std::string::npos);
    }
  }
  fuzz::require(written <= (std::size_t{2} << 20U) + 128 * size);
  return 0;
}
