#include "node/vendor/amd/activity.hpp"

#include "tests/node/vendor/amd/fake_machine.hpp"

#include <gtest/gtest.h>

namespace tangram::node::amd {
namespace {

class ActivityTest : public ::testing::Test {
 protected:
  /// Of the card at this place in the inventory.
  [[nodiscard]] Result<CardActivity> read(std::size_t place = 0) const {
    const auto cards = read_amd_cards(machine_.files());
    if (!cards || cards->cards.size() <= place) return fail(Errc::kNotFound, "no card");
    return read_activity(machine_.files(), cards->cards[place]);
  }

  const FakeMachine machine_;
};

TEST_F(ActivityTest, ACardHasTheDriversCounts) {
  machine_.add_spx();
  machine_.add_process(4711, 1, 1 << 30);
  machine_.add_process(99, 1, 4096);
  const auto activity = read();
  ASSERT_TRUE(activity) << activity.error().message;
  EXPECT_EQ(activity->memory_used_bytes, 297'881'600U);
  EXPECT_DOUBLE_EQ(activity->utilization, 0.37);
  EXPECT_EQ(activity->processes, (std::vector<CardProcess>{{99, 4096}, {4711, 1 << 30}}));
}

TEST_F(ActivityTest, AProcessThatOnlyCouldUseTheCardDoesNot) {
  machine_.add_spx();
  machine_.add_process(4711, 1, 0);
  EXPECT_TRUE(read()->processes.empty());
  machine_.write("/sys/class/kfd/kfd/proc/4711/queues/0/gpuid", "1\n");
  EXPECT_TRUE(read()->processes.empty()) << "the queue is another card's";
  machine_.write("/sys/class/kfd/kfd/proc/4711/queues/1/gpuid",
                 std::to_string(FakeMachine::gpu_id(1)) + "\n");
  EXPECT_EQ(read()->processes, (std::vector<CardProcess>{{4711, 0}}));
}

TEST_F(ActivityTest, APartitionHasWhatItsProcessesHave) {
  machine_.add_cpx();
  machine_.add_process(10, 3, 1000);
  machine_.add_process(11, 3, 500);
  machine_.add_process(11, 4, 7);
  const auto third = read(2);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->memory_used_bytes, 1500U);
  EXPECT_LT(third->utilization, 0) << "the driver tells it of the whole card only";
  EXPECT_EQ(third->processes, (std::vector<CardProcess>{{10, 1000}, {11, 500}}));
  EXPECT_EQ(read(0)->memory_used_bytes, 0U);
}

TEST_F(ActivityTest, WhatIsNotToldIsUnknown) {
  machine_.add_spx();
  machine_.remove(FakeMachine::pci("0000:c1:00.0") + "/gpu_busy_percent");
  machine_.write("/sys/class/kfd/kfd/proc/x/vram_40001", "1\n");
  machine_.write("/sys/class/kfd/kfd/proc/12/vram_40001", "rubbish\n");
  const auto activity = read();
  ASSERT_TRUE(activity);
  EXPECT_LT(activity->utilization, 0);
  EXPECT_TRUE(activity->processes.empty());
}

TEST_F(ActivityTest, ACardThatIsResetOrGoneDoesNotAnswer) {
  machine_.add_spx();
  const auto cards = read_amd_cards(machine_.files());
  const std::string folder = FakeMachine::pci("0000:c1:00.0");
  machine_.make_unreadable(folder + "/mem_info_vram_used");
  EXPECT_EQ(read_activity(machine_.files(), cards->cards[0]).error().code, Errc::kUnavailable);
  machine_.remove(folder);
  const auto gone = read_activity(machine_.files(), cards->cards[0]);
  EXPECT_EQ(gone.error().code, Errc::kUnavailable);
  EXPECT_EQ(gone.error().message, "card AMD-8f1c2d3e4a5b6c7d is gone");
}

}  // namespace
}  // namespace tangram::node::amd
