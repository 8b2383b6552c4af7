#include "http/target.hpp"
#include "kube/url.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text survives the way there and back; any target is refused, or can be written again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::require(kube::percent_decode(kube::percent_encode(text)) == text);
  if (const auto bytes = kube::percent_decode(text)) {
    fuzz::require(bytes->size() <= text.size());
  }
  static_cast<void>(tangram::http::accepts_gzip(text));

  const auto target = tangram::http::parse_target(text);
  if (!target) return 0;
  std::string written = "/" + kube::percent_encode(target->path.substr(1)) + "?";
  for (const auto& [name, value] : target->query) {
    written += kube::percent_encode(name) + "=" + kube::percent_encode(value) + "&";
  }
  const auto again = tangram::http::parse_target(written);
  fuzz::require(again && again->path == target->path && again->query == target->query);
  return 0;
}
