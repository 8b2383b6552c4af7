#include "model/grant.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

/// Any text: is refused, or is a grant that reads back as itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tangram::model::decode_grant;
  const auto grant = decode_grant({reinterpret_cast<const char*>(data), size});
  if (!grant) return 0;
  const auto again = decode_grant(encode(*grant));
  if (!again || *again != *grant) std::abort();
  return 0;
}
