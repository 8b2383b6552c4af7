#include "base/quantity.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

/// Any text: is refused, or gives an amount whose roundings bracket it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto quantity = tangram::KubeQuantity::parse(text);
  if (!quantity) {
    if (quantity.error().message.size() > 200) std::abort();
    return 0;
  }
  const auto between = [](std::int64_t floor, std::int64_t ceil) {
    if (floor < 0 || ceil < floor || ceil - floor > 1) std::abort();
  };
  between(quantity->milli_floor(), quantity->milli_ceil());
  between(quantity->mebibytes_floor().count(), quantity->mebibytes_ceil().count());
  if (quantity->is_zero() != (quantity->units_ceil() == 0)) std::abort();
  return 0;
}
