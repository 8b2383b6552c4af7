#include "base/quantity.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text: is refused, or gives an amount whose roundings bracket it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tangram::fuzz::require;
  const auto quantity = tangram::KubeQuantity::parse(tangram::fuzz::text_of(data, size));
  if (!quantity) {
    require(quantity.error().message.size() <= 200);
    return 0;
  }
  const auto between = [](std::int64_t floor, std::int64_t ceil) {
    require(floor >= 0 && ceil >= floor && ceil - floor <= 1);
  };
  between(quantity->milli_floor(), quantity->milli_ceil());
  between(quantity->mebibytes_floor().count(), quantity->mebibytes_ceil().count());
  require(quantity->is_zero() == (quantity->units_ceil() == 0));
  return 0;
}
