#include "kube/lease.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text: is refused, or is a lease that can be taken over, and then says so.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  const std::string text(fuzz::text_of(data, size));
  const auto before = kube::read_lease(text);
  if (!before) return 0;
  const auto claim = kube::claimed(*before, "us", std::chrono::seconds(15), WallTime());
  // Some of what can be read is no object of the API: a member that stands twice.
  const auto written = kube::with_record(text, claim);
  if (!written) return 0;
  const auto after = kube::read_lease(*written);
  fuzz::require(after && *after == claim);
  const auto seen = kube::sighted({}, *after, TimePoint());
  fuzz::require(kube::next_move(seen, "us", std::chrono::seconds(1), TimePoint()) ==
                kube::LeaseMove::kRenew);
  return 0;
}
