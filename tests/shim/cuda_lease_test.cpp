// Launches in turns, as a container sees them. The test is the agent.
#include "tests/shim/heart.hpp"
#include "tests/shim/stand_in_rig.hpp"
#include "tests/testing/eventually.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <string>

namespace tangram::shim {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;  // ns

class CudaLeaseTest : public ::testing::Test {
 protected:
  CudaLeaseTest() : client_(rig_) { EXPECT_EQ(client_.run("init").result, 0) << client_.errors(); }

  CardLimit& limit() { return rig_.limits().cards[0]; }
  void set_turn(Turn turn) { rig_.set_turn(turn); }
  Client::Answer kernels(std::uint64_t ns, std::uint64_t count) {
    return client_.run("kernels " + std::to_string(ns) + " " + std::to_string(count));
  }
  Account& account() { return rig_.only_account(); }
  std::uint64_t really_busy() { return busy_of(rig_.cards(), 0, client_.pid()); }

  StandInRig rig_;
  Client client_;
};

TEST_F(CudaLeaseTest, NothingIsCountedWithoutALease) {
  EXPECT_EQ(kernels(1000, 100).result, 0);
  EXPECT_EQ(account().launches, 0U);
  EXPECT_EQ(account().busy_ns, 0U);
}

TEST_F(CudaLeaseTest, ACardWhoseTurnIsFreeIsNotCounted) {
  set_turn(kTurnFree);
  EXPECT_EQ(kernels(1000, 100).result, 0);
  EXPECT_EQ(account().launches, 0U);
}

TEST_F(CudaLeaseTest, WhatKernelsTookIsMeasured) {
  set_turn(kTurnOpen);
  ASSERT_EQ(kernels(kMillisecond, 40).result, 0);
  EXPECT_EQ(really_busy(), 40 * kMillisecond);
  EXPECT_GE(account().busy_ns, 39 * kMillisecond);
  EXPECT_EQ(account().in_flight, 0U) << "the program has waited for them";
}

TEST_F(CudaLeaseTest, AGraphIsOneUnitOfItsOwnTime) {
  set_turn(kTurnOpen);
  const auto graph = client_.run("capture-kernels 100000 50");
  ASSERT_EQ(graph.result, 0);
  EXPECT_EQ(account().launches, 0U) << "a capture runs nothing";
  const auto exec = client_.run("instantiate " + std::to_string(graph.value()));
  ASSERT_EQ(client_.run("launch " + std::to_string(exec.value())).result, 0);
  ASSERT_EQ(kernels(0, 1).result, 0);  // waits
  EXPECT_EQ(really_busy(), 5 * kMillisecond);
  EXPECT_GE(account().busy_ns, 5 * kMillisecond);
  EXPECT_LT(account().busy_ns, 5 * kMillisecond + really_busy());
}

TEST_F(CudaLeaseTest, WhatAProcessQueuesIsBounded) {
  const Heart heart(limit());
  set_turn(kTurnOpen);
  client_.send("kernels " + std::to_string(10 * kMillisecond) + " 200 0");
  ASSERT_TRUE(testing::eventually([&] { return account().busy_ns > 50 * kMillisecond; }));
  // Two batches of one kernel, one in the driver's call, and what ended since.
  EXPECT_LE(rig_.cards().launches, account().busy_ns / (10 * kMillisecond) + 6);
}

TEST_F(CudaLeaseTest, AClosedTurnStopsLaunchesUntilItOpens) {
  const Heart heart(limit());
  set_turn(kTurnClosed);
  client_.send("kernels 1000 10");
  ASSERT_TRUE(testing::eventually(
      [&] { return account().waiting == 1 && rig_.usage().totals[0].lease_news > 0; }));
  EXPECT_EQ(rig_.cards().launches, 0U);
  set_turn(kTurnOpen);
  EXPECT_TRUE(testing::eventually([&] { return rig_.cards().launches == 10; }));
  EXPECT_TRUE(testing::eventually([&] { return account().waiting == 0; }));
}

TEST_F(CudaLeaseTest, WhenTheTurnEndsAProcessWaitsOnlyAfterItsWorkHasEnded) {
  const Heart heart(limit());
  set_turn(kTurnOpen);
  client_.send("kernels-for-ever 200000 1");
  ASSERT_TRUE(testing::eventually([&] { return account().busy_ns > 20 * kMillisecond; }));
  set_turn(kTurnClosed);
  ASSERT_TRUE(testing::eventually([&] { return account().waiting == 1; }));
  EXPECT_EQ(account().in_flight, 0U);
  EXPECT_GE(account().busy_ns + kMillisecond, really_busy());
}

TEST_F(CudaLeaseTest, AKernelThatDoesNotEndHoldsNoLaunchUpForEver) {
  const Heart heart(limit());
  set_turn(kTurnOpen);
  constexpr std::uint64_t kHour = 3'600'000 * kMillisecond;
  ASSERT_EQ(client_.run(words("kernels", {kHour, 1, 0})).result, 0);
  set_turn(kTurnClosed);
  client_.send("kernels 1000 1 0");
  ASSERT_TRUE(testing::eventually([&] { return account().waiting == 1; }));
  EXPECT_EQ(rig_.cards().launches, 1U);
  set_turn(kTurnOpen);
  EXPECT_TRUE(testing::eventually([&] { return rig_.cards().launches == 2; }));
}

TEST_F(CudaLeaseTest, ACaptureDoesNotWaitForTheTurn) {
  set_turn(kTurnClosed);
  EXPECT_EQ(client_.run("capture-kernels 1000 20").result, 0);
}

TEST_F(CudaLeaseTest, WithoutASignOfTheAgentAProcessRunsFreely) {
  set_turn(kTurnClosed);
  EXPECT_EQ(kernels(1000, 10).result, 0);
  EXPECT_EQ(rig_.cards().launches, 10U);
  EXPECT_EQ(kernels(1000, 1000).result, 0) << "it waits once only";
  const std::uint32_t last = limit().heartbeat;
  const Heart heart(limit());
  ASSERT_TRUE(testing::eventually([&] { return limit().heartbeat != last; }));
  client_.send("kernels 1000 1");
  EXPECT_TRUE(testing::eventually([&] { return account().waiting == 1; })) << "the agent is back";
}

TEST_F(CudaLeaseTest, AContextCanEndWithWorkInIt) {
  set_turn(kTurnOpen);
  const auto context = client_.run("context 0");
  ASSERT_EQ(client_.run("kernels 2000000 3 0").result, 0);
  ASSERT_EQ(client_.run("destroy-context " + std::to_string(context.value())).result, 0);
  EXPECT_EQ(account().in_flight, 0U);
  EXPECT_EQ(kernels(1000, 100).result, 0);
}

TEST_F(CudaLeaseTest, AContextCanEndWithWorkInItAfterTheLease) {
  set_turn(kTurnOpen);
  const auto context = client_.run("context 0");
  ASSERT_EQ(client_.run("kernels 2000000 3 0").result, 0);
  ASSERT_GT(account().in_flight, 0U);
  rig_.limits().leases = 0;
  ASSERT_EQ(client_.run("destroy-context " + std::to_string(context.value())).result, 0);
  EXPECT_EQ(account().in_flight, 0U);
}

TEST_F(CudaLeaseTest, AChildHasATurnOfItsOwn) {
  set_turn(kTurnOpen);
  ASSERT_EQ(kernels(1000, 10).result, 0);
  EXPECT_EQ(client_.run("fork init").result, 0);
  EXPECT_EQ(kernels(1000, 10).result, 0);
}

/// Its own rig: which card a launch is for is known by the thread's context.
TEST(CudaLeaseOfTwoCardsTest, OnlyTheCardWhoseTurnIsClosedWaits) {
  StandInRig rig({RigCard{}, RigCard{}});
  rig.set_turn(kTurnClosed, 1);
  const Heart heart(rig.limits().cards[1]);
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);
  EXPECT_EQ(client.run("kernels 1000 10").result, 0) << "on card 0";
  ASSERT_EQ(client.run("context 1").result, 0);
  client.send("kernels 1000 10");
  EXPECT_TRUE(testing::eventually([&] { return rig.usage().totals[1].lease_news != 0; }));
  EXPECT_EQ(rig.cards().launches, 10U);
  rig.set_turn(kTurnOpen, 1);
  EXPECT_TRUE(testing::eventually([&] { return rig.cards().launches == 20; }));
}

TEST(CudaLeaseOfTwoCardsTest, AContextThatEndedAfterTheLeaseIsForgotten) {
  StandInRig rig({RigCard{}, RigCard{}});
  rig.set_turn(kTurnOpen, 1);
  const Heart heart(rig.limits().cards[1]);
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);
  const auto ended = client.run("context 1");
  ASSERT_EQ(client.run("kernels 1000 10").result, 0);
  rig.limits().leases = 0;
  ASSERT_EQ(client.run("destroy-context " + std::to_string(ended.value())).result, 0);
  ASSERT_EQ(client.run("context 0").value(), ended.value()) << "the driver uses the handle again";
  rig.set_turn(kTurnClosed, 1);
  EXPECT_EQ(client.run("kernels 1000 10").result, 0) << "on card 0";
  EXPECT_EQ(rig.usage().totals[1].lease_news, 0U);
}

/// The bound is far above what it costs, 12 ns, and below what events in each launch would.
TEST_F(CudaLeaseTest, ALaunchInAnOpenTurnCostsNoEvents) {
  const Heart heart(limit());
  std::uint64_t without = ~std::uint64_t{0};
  std::uint64_t with = without;
  for (int round = 0; round < 5; ++round) {  // the best of each: the machine has other work, too
    rig_.limits().leases = 0;
    without = std::min(without, client_.run("launch-cost 300000").value());
    set_turn(kTurnOpen);
    with = std::min(with, client_.run("launch-cost 300000").value());
  }
  std::cout << "ps for a launch: " << without << " without a lease, " << with << " with it\n";
  EXPECT_LT(with, without + 500'000);
}

}  // namespace
}  // namespace tangram::shim
