#include "node/vendor/amd/amd.hpp"

#include "node/hook/limits_folder.hpp"
#include "tests/node/cards/scripted_source.hpp"
#include "tests/node/vendor/amd/fake_machine.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::node::amd {
namespace {

using model::Isolation;

class AmdTest : public ::testing::Test {
 protected:
  AmdTest() {
    amd_.set_places({.host_root = machine_.root(),
                     .run_dir = machine_.root() + "/run",
                     .memory_hook = machine_.root() + "/hook"});
  }

  const FakeMachine machine_;
  Amd amd_{{.places = {}, .cgroups = machine_.cgroups()}};
};

TEST_F(AmdTest, IsThereWithItsCards) {
  EXPECT_FALSE(amd_.has_cards());
  machine_.add_spx();
  EXPECT_TRUE(amd_.has_cards());
  EXPECT_EQ(amd_.facts().source, "amdgpu");
  EXPECT_FALSE(amd_.facts().runtime.takes_names);
  EXPECT_EQ(amd_.open_cards()->inventory()->cards.at(0).card.id, "AMD-8f1c2d3e4a5b6c7d");
}

TEST_F(AmdTest, TimeSlicesAreTheCardsOwn) {
  ScriptedSource source;
  SystemPrograms programs;
  const testing::ManualClock clock;
  const EnforcerParts parts{source, programs, clock, 16, false, true};
  EXPECT_EQ(amd_.enforcer(Isolation::kNone, parts), nullptr);
  EXPECT_EQ(amd_.enforcer(Isolation::kMps, parts), nullptr);
  const auto turns = amd_.enforcer(Isolation::kTimeSlice, parts);
  ASSERT_NE(turns, nullptr);
  ASSERT_TRUE(turns->prepare("AMD-a", {}));
  EXPECT_EQ(*turns->edits("slot-1", {}), ContainerEdits{});
  const Enforcement held = turns->enforcement({});
  EXPECT_EQ(held.memory, Holder::kNobody);
  EXPECT_EQ(held.compute, Holder::kNobody);
  EXPECT_NE(held.note.find("isolation time-slice: the card's own scheduler"), std::string::npos);
}

TEST_F(AmdTest, OnlyTheKernelLimitsMemory) {
  const std::string state = machine_.root() + "/state";
  for (const auto means :
       {model::MemoryLimits::kNone, model::MemoryLimits::kMps, model::MemoryLimits::kLibrary}) {
    const auto made = amd_.memory_limiter(means, state);
    ASSERT_TRUE(made);
    EXPECT_EQ(*made, nullptr);
  }
  EXPECT_EQ(amd_.memory_limiter(model::MemoryLimits::kDriver, state).error().code, Errc::kNotFound)
      << "the image has no hook";
}

TEST_F(AmdTest, AContainerIsLimitedByTheHook) {
  machine_.add_spx();
  machine_.add_region("drm/0000:c1:00.0/vram");
  machine_.write("/hook", "a program");
  const auto made = amd_.memory_limiter(model::MemoryLimits::kDriver, machine_.root() + "/state");
  ASSERT_TRUE(made) << made.error().message;
  auto edits = amd_.cdi_edits({"AMD-8f1c2d3e4a5b6c7d"});
  ASSERT_TRUE(edits) << edits.error().message;
  model::GrantedCard part;
  part.uuid = "AMD-8f1c2d3e4a5b6c7d";
  part.memory_limit = Mebibytes(1000);
  ASSERT_TRUE((*made)->limit("slot-1", {part}, *edits));
  EXPECT_EQ(edits->lists.at("hooks").size(), 1U);
  const auto written = hook::LimitsFolder(machine_.root() + "/run/limits/slot-1").limits();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->dmem,
            (std::vector<hook::MemoryLimit>{{"drm/0000:c1:00.0/vram", Mebibytes(1000)}}));
  EXPECT_TRUE(written->nvidia.empty());

  part.uuid = "AMD-0000000000000000";
  auto others = CdiEdits{};
  EXPECT_EQ((*made)->limit("slot-2", {part}, others).error().code, Errc::kUnavailable);
  EXPECT_EQ(others, CdiEdits{}) << "a start without a limit must not look like one with it";
}

TEST_F(AmdTest, WithoutTheDriverAContainerWaits) {
  machine_.remove("/sys/class/kfd");
  EXPECT_EQ(amd_.cdi_edits({"AMD-8f1c2d3e4a5b6c7d"}).error().code, Errc::kUnavailable)
      << "not kNotFound, with which --cards-by-runtime would start it";
}

}  // namespace
}  // namespace tangram::node::amd
