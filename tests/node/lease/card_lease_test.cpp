// Programs in several containers on one card, in real time. What each got is read from the card's
// own record; nothing depends on how fast the machine is.
#include "node/lease/card_lease.hpp"

#include "tests/shim/stand_in_rig.hpp"
#include "tests/testing/eventually.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <memory>

namespace tangram::node::lease {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMillisecond = 1'000'000;  // ns

/// A container with one program.
struct Container {
  shim::StandInRig rig;
  std::unique_ptr<shim::Client> program;

  void start(const std::string& command) {
    program = std::make_unique<shim::Client>(rig);
    ASSERT_EQ(program->run("init").result, 0) << program->errors();
    program->send(command);
  }
  [[nodiscard]] std::uint64_t used() { return busy_of(rig.cards(), 0, program->pid()); }
};

class CardLeaseTest : public ::testing::Test {
 protected:
  CardLeaseTest() { b_.rig.use_cards_of(a_.rig); }

  static LeasedContainer leased(const std::string& name, const Container& container,
                                std::int64_t share, std::int64_t limit = 1000) {
    auto pages = AllocationPages::open(container.rig.path() + "/tangram");
    EXPECT_TRUE(pages) << pages.error().message;
    return {.name = name, .pages = *pages, .place = 0, .time = {MilliGpu(share), MilliGpu(limit)}};
  }
  void lease(std::int64_t share_of_a) {
    leases_->set({{"card", {leased("a", a_, share_of_a), leased("b", b_, 1000 - share_of_a)}}});
  }
  /// What the card does from now on, until it has worked that long.
  struct Used {
    double a = 0;  ///< in ms
    double b = 0;
    [[nodiscard]] double percent() const { return 100 * a / (a + b); }
  };
  Used after(std::uint64_t milliseconds) {
    const std::uint64_t a = a_.used();
    const std::uint64_t b = b_.used();
    EXPECT_TRUE(testing::eventually([&] {
      std::this_thread::sleep_for(1ms);
      return a_.used() + b_.used() - a - b > milliseconds * kMillisecond;
    }));
    constexpr double kNsPerMs = 1e6;
    return {static_cast<double>(a_.used() - a) / kNsPerMs,
            static_cast<double>(b_.used() - b) / kNsPerMs};
  }

  SystemClock clock_;
  Container a_;
  Container b_;
  std::unique_ptr<CardLeases> leases_ = std::make_unique<CardLeases>(clock_);
};

/// Far from the half that each would have without a lease, on a machine with other work, too.
constexpr double kTolerance = 10;

TEST_F(CardLeaseTest, TwoProgramsGetTheirShares) {
  lease(300);
  a_.start("kernels-for-ever 300000 1");
  b_.start("kernels-for-ever 2000000 1");
  (void)after(500);
  const Used used = after(4000);
  std::cout << used.percent() << " % of 30\n";
  EXPECT_NEAR(used.percent(), 30, kTolerance);
}

TEST_F(CardLeaseTest, LongKernelsAndGraphsGetTheirShares) {
  lease(250);
  a_.program = std::make_unique<shim::Client>(a_.rig);
  ASSERT_EQ(a_.program->run("init").result, 0);
  const auto graph = a_.program->run("capture-kernels 300000 20");
  const auto exec = a_.program->run("instantiate " + std::to_string(graph.value()));
  a_.program->send("graphs-for-ever " + std::to_string(exec.value()));
  b_.start("kernels-for-ever 30000000 1");
  (void)after(500);
  const Used used = after(4000);
  std::cout << used.percent() << " % of 25\n";
  EXPECT_NEAR(used.percent(), 25, kTolerance);
}

TEST_F(CardLeaseTest, AProgramThatIsKilledInItsTurnStopsNobody) {
  lease(900);
  a_.start("kernels-for-ever 5000000 1");
  b_.start("kernels-for-ever 1000000 1");
  (void)after(300);
  a_.program->kill();
  const std::uint64_t before = b_.used();
  EXPECT_TRUE(testing::eventually([&] { return b_.used() > before + 500 * kMillisecond; }));
}

TEST_F(CardLeaseTest, WhenTheLeaseEndsProgramsRunOn) {
  lease(500);
  a_.start("kernels-for-ever 1000000 1");
  b_.start("kernels-for-ever 1000000 1");
  (void)after(100);
  leases_.reset();
  EXPECT_EQ(a_.rig.limits().cards[0].turn, shim::kTurnFree);
  EXPECT_EQ(a_.rig.limits().leases, 0U);
  const std::uint64_t a = a_.used();
  const std::uint64_t b = b_.used();
  EXPECT_TRUE(testing::eventually(
      [&] { return a_.used() > a + 100 * kMillisecond && b_.used() > b + 100 * kMillisecond; }));
}

TEST_F(CardLeaseTest, ALimitHoldsForAProgramThatIsAlone) {
  leases_->set({{"card", {leased("a", a_, 200, 300)}}});
  a_.start("kernels-for-ever 500000 1");
  const TimePoint begin = clock_.now();
  const std::uint64_t used = a_.used();
  EXPECT_TRUE(testing::eventually([&] { return a_.used() > used + 600 * kMillisecond; }));
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - begin);
  std::cout << "600 ms took " << passed.count() << " ms with a limit of 30 %\n";
  EXPECT_GE(passed, 1800ms);
}

TEST_F(CardLeaseTest, ACardOfOneUnlimitedContainerIsNotLeased) {
  leases_->set({{"card", {leased("a", a_, 200)}}});
  a_.start("kernels 1000 10");
  EXPECT_TRUE(testing::eventually([&] { return a_.rig.cards().launches == 10; }));
  EXPECT_EQ(a_.rig.limits().leases, 0U);
}

TEST_F(CardLeaseTest, AContainerThatCutsItsPageHarmsOnlyItself) {
  lease(500);
  a_.start("kernels 1000 10");
  ASSERT_TRUE(testing::eventually([&] { return a_.rig.limits().leases == 1; }));
  std::filesystem::resize_file(a_.rig.path() + "/tangram/usage", 0);
  b_.start("kernels-for-ever 1000000 1");
  EXPECT_TRUE(testing::eventually([&] { return b_.used() > 200 * kMillisecond; }));
}

/// As when the container had spoiled the former ones and started again.
TEST_F(CardLeaseTest, OtherPagesOfAContainerTakeThePlaceOfTheFormerOnes) {
  Container again;
  lease(500);
  ASSERT_TRUE(testing::eventually([&] { return a_.rig.limits().leases == 1; }));
  leases_->set({{"card", {leased("a", again, 500), leased("b", b_, 500)}}});
  EXPECT_TRUE(testing::eventually(
      [&] { return again.rig.limits().leases == 1 && a_.rig.limits().leases == 0; }));
  EXPECT_EQ(a_.rig.limits().cards[0].turn, shim::kTurnFree);
}

}  // namespace
}  // namespace tangram::node::lease
