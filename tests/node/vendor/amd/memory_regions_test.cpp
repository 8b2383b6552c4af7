#include "node/vendor/amd/memory_regions.hpp"

#include "tests/node/vendor/amd/fake_machine.hpp"

#include <gtest/gtest.h>

namespace tangram::node::amd {
namespace {

constexpr const char* kRegion = "drm/0000:c1:00.0/vram";

class MemoryRegionsTest : public ::testing::Test {
 protected:
  [[nodiscard]] AmdCards here() const {
    auto cards = read_amd_cards(machine_.files());
    return cards ? std::move(*cards) : AmdCards{};
  }
  [[nodiscard]] Result<hook::Limits> limits(const std::string& card) const {
    model::GrantedCard part;
    part.uuid = card;
    part.memory_limit = Mebibytes(1000);
    return region_limits(machine_.cgroups(), here(), {part});
  }

  const FakeMachine machine_;
};

TEST_F(MemoryRegionsTest, ACardHasItsRegionByItsPlace) {
  const std::string capacities =
      "drm/0000:83:00.0/vram 1\ndrm/0000:c1:00.0/stolen 2\ndrm/0000:c1:00.0/vram 3\n";
  EXPECT_EQ(region_of(capacities, "0000:c1:00.0"), kRegion);
  EXPECT_EQ(region_of(capacities, "0000:c1:00.1"), std::nullopt);
  EXPECT_EQ(region_of("drm/0000:c1:00.0/vram0 3\n", "0000:c1:00.0"), "drm/0000:c1:00.0/vram0");
  EXPECT_EQ(region_of("drm/0000:c1:00.0/vram0 3\ndrm/0000:c1:00.0/vram1 3\n", "0000:c1:00.0"),
            std::nullopt)
      << "a limit of one would not hold the other";
  EXPECT_EQ(region_of("drm/0000:c1:00.0/vram-x 3\n", "0000:c1:00.0"), std::nullopt);
  EXPECT_EQ(region_of("", "0000:c1:00.0"), std::nullopt);
}

TEST_F(MemoryRegionsTest, TheKernelLimitsACardWhoseRegionItHas) {
  machine_.add_spx();
  EXPECT_FALSE(can_limit(machine_.cgroups(), here().cards.at(0))) << "it has no controller dmem";
  machine_.add_region("drm/0000:83:00.0/vram");
  EXPECT_FALSE(can_limit(machine_.cgroups(), here().cards.at(0)));
  machine_.add_region(kRegion);
  EXPECT_TRUE(can_limit(machine_.cgroups(), here().cards.at(0)));
  machine_.write("/cgroup/cgroup.subtree_control", "cpu memory pids\n");
  EXPECT_FALSE(can_limit(machine_.cgroups(), here().cards.at(0)))
      << "the runtime does not enable it, so the hook could set no limit";
}

TEST_F(MemoryRegionsTest, ItLimitsVirtualFunctionsAndNoPartitions) {
  machine_.add_two_functions();
  machine_.add_region("drm/0000:c1:02.1/vram");
  EXPECT_FALSE(can_limit(machine_.cgroups(), here().cards.at(0)));
  EXPECT_TRUE(can_limit(machine_.cgroups(), here().cards.at(1)));
  const FakeMachine other;
  other.add_cpx();
  other.add_region(kRegion);
  const auto cards = read_amd_cards(other.files());
  for (const AmdCard& card : cards->cards) EXPECT_FALSE(can_limit(other.cgroups(), card));
}

TEST_F(MemoryRegionsTest, ALimitIsThatOfTheCardsRegion) {
  machine_.add_spx();
  machine_.add_region(kRegion);
  const auto all = limits("AMD-8f1c2d3e4a5b6c7d");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(*all, (hook::Limits{.nvidia = {}, .dmem = {{kRegion, Mebibytes(1000)}}}));
  EXPECT_EQ(limits("AMD-0000000000000000").error().code, Errc::kUnavailable);
}

TEST_F(MemoryRegionsTest, APartitionHasNoRegionAlone) {
  machine_.add_cpx();
  machine_.add_region(kRegion);
  const auto none = limits("AMD-8f1c2d3e4a5b6c7d-cpx0");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("alone"), std::string::npos) << none.error().message;
}

}  // namespace
}  // namespace tangram::node::amd
