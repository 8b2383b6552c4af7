#include "extender/page/event_id.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Whatever a client sends as the last event it has seen: it is taken only as it was given out.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = tangram::fuzz::text_of(data, size);
  const auto id = tangram::extender::parse_event_id(text);
  tangram::fuzz::require(!id || to_string(*id) == text);
  return 0;
}
