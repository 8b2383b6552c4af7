#include "config/config.hpp"
#include "tests/fuzz/fuzzing.hpp"

// The loader takes any text: it answers with a valid Config or with a message, and it ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  const auto loaded = config::load_config(std::string(fuzz::text_of(data, size)), "f.yaml", {});
  fuzz::require(loaded || !loaded.error().message.empty());
  return 0;
}
