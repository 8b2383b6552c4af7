#include "node/vendor/amd/amd_source.hpp"

#include "node/cards/card_watcher.hpp"
#include "tests/node/vendor/amd/fake_machine.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::node::amd {
namespace {

using namespace std::chrono_literals;

constexpr const char* kId = "AMD-8f1c2d3e4a5b6c7d";

class AmdSourceTest : public ::testing::Test {
 protected:
  AmdSourceTest() { machine_.write("/hook", "a program"); }
  /// Also what happens while it waits for faults.
  std::function<void()> meanwhile_ = [] {};
  const FakeMachine machine_;
  AmdSource source_{{.host_root = machine_.root(),
                     .cgroups = machine_.cgroups(),
                     .memory_hook = machine_.root() + "/hook",
                     .sleeper = [this](auto, const auto&) { meanwhile_(); }}};
};

TEST_F(AmdSourceTest, MemoryIsHeldByTheKernelOrByNobody) {
  machine_.add_spx();
  EXPECT_EQ(source_.inventory()->cards.at(0).memory_means, MemoryMeans{});
  machine_.add_region("drm/0000:c1:00.0/vram");
  EXPECT_EQ(source_.inventory()->cards.at(0).memory_means,
            MemoryMeans{model::MemoryLimits::kDriver});
  machine_.remove("/hook");
  EXPECT_EQ(source_.inventory()->cards.at(0).memory_means, MemoryMeans{});
}

TEST_F(AmdSourceTest, AnErrorWhileItWaitsIsAFault) {
  machine_.add_spx();
  machine_.count_errors("umc", "ue: 0\n");
  meanwhile_ = [this] { machine_.count_errors("umc", "ue: 1\n"); };
  EXPECT_EQ(*source_.wait_for_faults(5s), (std::vector<Fault>{{kId, Fault::Kind::kEcc, 0}}));
  EXPECT_EQ(*source_.wait_for_faults(5s), std::vector<Fault>{});
}

TEST_F(AmdSourceTest, WithoutTheDriverThereIsNoAnswer) {
  machine_.remove("/sys/class/kfd");
  EXPECT_EQ(source_.inventory().error().code, Errc::kUnavailable);
  EXPECT_EQ(source_.wait_for_faults(5s).error().code, Errc::kUnavailable);
  EXPECT_EQ(source_.activity(kId).error().code, Errc::kUnavailable);
}

TEST_F(AmdSourceTest, KnowsItsCardsAndNoOthers) {
  machine_.add_spx();
  EXPECT_EQ(source_.activity(kId)->memory_used_bytes, 297'881'600U);
  EXPECT_EQ(source_.activity("GPU-a").error().code, Errc::kNotFound);
  EXPECT_EQ(source_.set_exclusive_process(kId, true).error().code, Errc::kInvalidArgument);
}

/// With the agent's watcher.
class WatchedCardsTest : public AmdSourceTest {
 protected:
  WatchedCardsTest() {
    machine_.add_spx();
    machine_.count_errors("umc", "ue: 0\n");
    step();
  }
  void step() {
    clock_.advance(31s);  // a poll is due
    watcher_.step({});
  }
  [[nodiscard]] const model::Card& card() const {
    cards_ = watcher_.now();
    return cards_->inventory.cards.at(0).card;
  }
  testing::ManualClock clock_;
  CardWatcherOptions options_{.health = ras_rules(), .memory_limits = std::nullopt, .previous = {}};
  CardWatcher watcher_{source_, options_, clock_, [] {}, [](auto, const auto&) {}};
  mutable CardsPtr cards_;
};

TEST_F(WatchedCardsTest, ErrorsOfItsMemoryMakeACardUnhealthy) {
  EXPECT_TRUE(card().healthy);
  machine_.count_errors("umc", "ue: 1\n");
  step();
  EXPECT_FALSE(card().healthy);
  clock_.advance(24h);
  step();
  EXPECT_FALSE(card().healthy) << "until it is reset";
  EXPECT_EQ(card().unavailable_reason,
            "the card reported a fault that only a reset mends; see the agent's log");
}

TEST_F(WatchedCardsTest, ACardThatVanishesIsUnhealthyUntilItIsBackForAWhile) {
  machine_.remove(FakeMachine::pci("0000:c1:00.0"));
  step();
  ASSERT_EQ(watcher_.now()->inventory.cards.size(), 1U) << "a container may still use it";
  EXPECT_FALSE(card().healthy);
  EXPECT_EQ(card().unavailable_reason, kNotListed);
  machine_.add_spx();
  step();
  EXPECT_EQ(card().unavailable_reason, kCameBack);
  clock_.advance(10min);
  step();
  EXPECT_TRUE(card().healthy);
}

TEST_F(WatchedCardsTest, AListThatCannotBeReadChangesNoCard) {
  const model::Card before = card();
  machine_.write(FakeMachine::node_folder(1) + "/properties", "rubbish\n");
  step();
  EXPECT_FALSE(watcher_.now()->answers);
  EXPECT_EQ(card().unavailable_reason, kDriverNotAnswering);
  machine_.add_spx();
  step();
  EXPECT_EQ(card(), before);
}

}  // namespace
}  // namespace tangram::node::amd
