#include "config/config.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

// The loader takes any text: it answers with a valid Config or with a message, and it ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto loaded = tangram::config::load_config(text, "f.yaml", {});
  if (!loaded && loaded.error().message.empty()) __builtin_trap();
  return 0;
}
