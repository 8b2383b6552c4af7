#include "node/vendor/nvidia/nvml_events.hpp"

#include "node/vendor/nvidia/nvml_source.hpp"
#include "tests/node/vendor/nvidia/fake_machine.hpp"

#include <thread>

namespace tangram::node::nvidia {
namespace {

using namespace std::chrono_literals;
using Kind = Fault::Kind;

/// Longer than any test waits for what does come.
constexpr auto kLong = 60s;

std::string two_cards(const std::string& events) {
  return R"({"cards":[{"uuid":"GPU-a","memMiB":1000},{"uuid":"GPU-b","memMiB":1000}],"events":[)" +
         events + "]}";
}

TEST(NvmlEventsTest, TellsXidsAndMemoryErrors) {
  const FakeMachine machine(two_cards(
      R"({"card":"GPU-b","xid":79},{"card":"GPU-a","dbe":true},{"card":"GPU-a","xid":31})"));
  NvmlSource source(kFakeNvml);
  const auto faults = source.wait_for_faults(kLong);
  ASSERT_TRUE(faults) << faults.error().message;
  EXPECT_EQ(*faults, (std::vector<Fault>{{"GPU-b", Kind::kDriverError, 79},
                                         {"GPU-a", Kind::kEcc, 0},
                                         {"GPU-a", Kind::kDriverError, 31}}));
  EXPECT_TRUE(source.wait_for_faults(0ms)->empty());
}

TEST(NvmlEventsTest, WaitsForWhatHappensLater) {
  const FakeMachine machine(two_cards(R"({"atMs":30,"card":"GPU-a","xid":48})"));
  NvmlSource source(kFakeNvml);
  const auto faults = source.wait_for_faults(kLong);
  ASSERT_TRUE(faults);
  EXPECT_EQ(*faults, (std::vector<Fault>{{"GPU-a", Kind::kDriverError, 48}}));
}

TEST(NvmlEventsTest, TheWaitEndsWithoutAnEvent) {
  const FakeMachine machine(two_cards(""));
  NvmlSource source(kFakeNvml);
  const auto faults = source.wait_for_faults(5ms);
  ASSERT_TRUE(faults);
  EXPECT_TRUE(faults->empty());
}

TEST(NvmlEventsTest, ACardThatCameLaterIsListenedToOnceListed) {
  const FakeMachine machine(R"({"cards":[{"uuid":"GPU-a","memMiB":1000}]})");
  NvmlSource source(kFakeNvml);
  ASSERT_TRUE(source.wait_for_faults(0ms));
  machine.play(two_cards(R"({"card":"GPU-b","xid":79})"));
  ASSERT_TRUE(source.inventory());
  const auto faults = source.wait_for_faults(kLong);
  ASSERT_TRUE(faults);
  EXPECT_EQ(*faults, (std::vector<Fault>{{"GPU-b", Kind::kDriverError, 79}}));
}

TEST(NvmlEventsTest, NamesALostCardAndListensToTheOthers) {
  const FakeMachine machine(two_cards(""));
  NvmlSource source(kFakeNvml);
  ASSERT_TRUE(source.wait_for_faults(0ms));
  machine.play(two_cards(R"({"card":"GPU-a","lost":true},{"atMs":200,"card":"GPU-b","xid":43})"));
  const auto lost = source.wait_for_faults(kLong);
  ASSERT_TRUE(lost) << lost.error().message;
  EXPECT_EQ(*lost, (std::vector<Fault>{{"GPU-a", Kind::kLost, 0}}));
  const auto other = source.wait_for_faults(kLong);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(*other, (std::vector<Fault>{{"GPU-b", Kind::kDriverError, 43}}));
}

TEST(NvmlEventsTest, GivesMigInstancesWhatTheirCardReports) {
  const FakeMachine machine(R"({"cards":[{"uuid":"GPU-a","memMiB":1000,"mig":true,"instances":[
      {"uuid":"MIG-1","profile":"1g.10gb","memMiB":100,"gi":7,"ci":0},
      {"uuid":"MIG-2","profile":"1g.10gb","memMiB":100,"gi":8,"ci":0}]}],
    "events":[{"card":"GPU-a","xid":31,"gi":8,"ci":0},{"card":"GPU-a","xid":79}]})");
  NvmlSource source(kFakeNvml);
  const auto faults = source.wait_for_faults(kLong);
  ASSERT_TRUE(faults);
  EXPECT_EQ(*faults, (std::vector<Fault>{{"MIG-2", Kind::kDriverError, 31},
                                         {"MIG-1", Kind::kDriverError, 79},
                                         {"MIG-2", Kind::kDriverError, 79}}));
}

TEST(NvmlEventsTest, WithoutEventsItWaitsForOtherCards) {
  const FakeMachine machine(R"({"cards":[{"uuid":"GPU-a","memMiB":1000,"noEvents":true}]})");
  NvmlSource source(kFakeNvml);
  ASSERT_TRUE(source.inventory());
  EXPECT_TRUE(source.wait_for_faults(5ms)->empty());
  std::jthread waiter([&] {
    const auto faults = source.wait_for_faults(kLong);
    ASSERT_TRUE(faults) << faults.error().message;
    EXPECT_EQ(*faults, (std::vector<Fault>{{"GPU-a", Kind::kDriverError, 79}}));
  });
  machine.play(two_cards(R"({"card":"GPU-a","xid":79})"));
  EXPECT_TRUE(source.inventory());
}

TEST(NvmlEventsTest, FindsTheInstancesOfAnEvent) {
  const std::vector<NvmlPhysical> layout{
      {"GPU-a", true, {{"MIG-1", 1, 0}, {"MIG-2", 1, 1}, {"MIG-3", 2, 0}}}, {"GPU-b", false, {}}};
  const auto cards = [&](const char* physical, std::uint32_t gi, std::uint32_t ci) {
    return cards_of_event(layout, physical, gi, ci);
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(cards("GPU-a", 1, 1), Ids{"MIG-2"});
  EXPECT_EQ(cards("GPU-a", 1, nvml::kNoInstance), (Ids{"MIG-1", "MIG-2"}));
  EXPECT_EQ(cards("GPU-a", nvml::kNoInstance, nvml::kNoInstance), (Ids{"MIG-1", "MIG-2", "MIG-3"}));
  EXPECT_EQ(cards("GPU-b", nvml::kNoInstance, nvml::kNoInstance), Ids{"GPU-b"});
}

}  // namespace
}  // namespace tangram::node::nvidia
