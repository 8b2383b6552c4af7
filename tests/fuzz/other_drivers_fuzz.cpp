#include "node/publish/other_drivers.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text as a ResourceSlice: is refused, or names cards and the driver that publishes them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  node::DriverCards cards;
  if (!node::add_slice(std::string(fuzz::text_of(data, size)), cards)) return 0;
  std::size_t bytes = 0;
  for (const node::DriverCards::Drivers& drivers : {cards.cards, cards.parents, cards.buses}) {
    for (const auto& [uuid, driver] : drivers) {
      fuzz::require(!uuid.empty() && !driver.empty());
      bytes += uuid.size();
    }
  }
  fuzz::require(bytes <= size);
  return 0;
}
