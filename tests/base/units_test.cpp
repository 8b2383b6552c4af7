#include "base/units.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <type_traits>

namespace tangram {
namespace {

using namespace tangram::literals;

static_assert(!std::is_convertible_v<std::int64_t, Mebibytes>, "a bare number has no unit");
static_assert(!std::is_constructible_v<Mebibytes, MilliGpu>, "memory is not compute");

TEST(UnitsTest, AddsAndSubtractsCounts) {
  EXPECT_EQ(3_mib + 4_mib, 7_mib);
  EXPECT_EQ(3_mgpu - 4_mgpu, MilliGpu(-1));
  Mebibytes used = 10_mib;
  used += 5_mib;
  used -= 1_mib;
  EXPECT_EQ(used.count(), 14);
}

TEST(UnitsTest, OrdersByCount) {
  EXPECT_LT(999_mgpu, kWholeGpu);
  EXPECT_GE(kWholeGpu, 1000_mgpu);
  EXPECT_EQ(MilliCpu(), 0_mcpu);
}

TEST(UnitsTest, NamesTheUnitWhenShown) {
  std::ostringstream out;
  out << 600_mgpu << " " << 8_mib << " " << 250_mcpu;
  EXPECT_EQ(out.str(), "600mGPU 8MiB 250mCPU");
  EXPECT_EQ(to_string(Mebibytes(-3)), "-3MiB");
}

}  // namespace
}  // namespace tangram
