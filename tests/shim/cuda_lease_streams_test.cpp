// What a process with several streams and threads has its card do is measured. The fake driver's
// streams run side by side here, and its time passes only while somebody waits.
#include "tests/shim/heart.hpp"
#include "tests/shim/stand_in_rig.hpp"
#include "tests/testing/eventually.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace tangram::shim {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;  // ns
constexpr std::uint64_t kSecond = 1000 * kMillisecond;

class CudaLeaseStreamsTest : public ::testing::Test {
 protected:
  CudaLeaseStreamsTest() : client_(rig_) {
    rig_.cards().clock_ns = kSecond;
    rig_.cards().side_by_side = true;
    EXPECT_EQ(client_.run("init").result, 0) << client_.errors();
    set_turn(kTurnOpen);
  }

  void set_turn(Turn turn) { rig_.set_turn(turn); }
  CardLimit& limit() { return rig_.limits().cards[0]; }
  Client::Answer run(const std::string& command, std::initializer_list<std::uint64_t> numbers) {
    return client_.run(words(command, numbers));
  }
  Account& account() { return rig_.only_account(); }

  StandInRig rig_;
  Client client_;
};

TEST_F(CudaLeaseStreamsTest, WorkInOneStreamDoesNotHideBehindOthers) {
  // More streams than the library tells apart at a time.
  ASSERT_EQ(run("kernels-in-streams", {400'000, 1000, 50, 24}).result, 0);
  ASSERT_EQ(client_.run("synchronize").result, 0);
  EXPECT_GE(account().busy_ns, 50 * 400'000U);
  EXPECT_EQ(account().in_flight, 0U);
}

TEST_F(CudaLeaseStreamsTest, WorkOfOneThreadDoesNotHideBehindOthers) {
  ASSERT_EQ(client_.run("as 7000 2 " + words("kernels-in-threads", {400'000, 1000, 50, 8})).result,
            0);
  ASSERT_EQ(client_.run("synchronize").result, 0);
  EXPECT_GE(account().busy_ns, 50 * 400'000U);
}

TEST_F(CudaLeaseStreamsTest, ThreadsWithoutAPlaceOfTheirOwnAreCharged) {
  ASSERT_EQ(client_.run("as 7000 2 " + words("kernels-in-threads", {1000, 1000, 50, 40})).result,
            0);
  ASSERT_EQ(client_.run("synchronize").result, 0);
  EXPECT_GE(account().busy_ns, 50 * 1000U) << "of one, while all run side by side";
}

TEST_F(CudaLeaseStreamsTest, ALongKernelBehindShortOnesCountsOnceItIsWaitedFor) {
  for (int step = 1; step <= 5; ++step) {
    ASSERT_EQ(run("kernels-in-stream", {0, 1000, 20}).result, 0);
    ASSERT_EQ(run("kernels-in-stream", {0, 20 * kMillisecond, 1}).result, 0);
    limit().heartbeat += 20;
    ASSERT_EQ(client_.run("synchronize").result, 0);
    const std::uint64_t worked = static_cast<std::uint64_t>(step) * (20 * kMillisecond + 20'000);
    EXPECT_GE(account().busy_ns, worked * 95 / 100) << step;
    EXPECT_LE(account().busy_ns, worked * 105 / 100) << step;
  }
}

TEST_F(CudaLeaseStreamsTest, WhenTheTurnEndsTheWorkOfAllStreamsHasEnded) {
  ASSERT_EQ(run("kernels-in-stream", {0, 1000, 20}).result, 0);  // so that a batch stays open
  ASSERT_EQ(run("kernels-in-stream", {0, 5 * kMillisecond, 1}).result, 0);
  set_turn(kTurnClosed);
  const Heart heart(limit());
  client_.send(words("kernels-in-stream", {1, 1000, 1}));
  ASSERT_TRUE(testing::eventually([&] { return account().waiting == 1; }));
  EXPECT_GE(account().busy_ns, 5 * kMillisecond);
  EXPECT_EQ(account().in_flight, 0U);
}

TEST_F(CudaLeaseStreamsTest, ABatchEndsBeforeItsStreamIsDestroyed) {
  ASSERT_EQ(run("kernels-in-stream", {0, 1000, 20}).result, 0);  // so that a batch stays open
  ASSERT_EQ(client_.run("synchronize").result, 0);
  const std::uint64_t before = account().busy_ns;
  ASSERT_EQ(run("kernels-in-stream", {0, 5 * kMillisecond, 1}).result, 0);
  for (const char* const as : {"as 2000 0 ", "as 4000 0 "}) {
    ASSERT_EQ(client_.run(as + words("destroy-stream", {as[3] == '2' ? 9U : 0U})).result, 0);
  }
  EXPECT_GE(account().in_flight, 1U);
  ASSERT_EQ(client_.run("synchronize").result, 0);
  EXPECT_GE(account().busy_ns, before + 5 * kMillisecond);
  set_turn(kTurnClosed);
  const Heart heart(limit());
  client_.send(words("kernels-in-stream", {1, 1000, 1}));
  ASSERT_TRUE(testing::eventually([&] { return account().waiting == 1; }));
  EXPECT_EQ(rig_.cards().dead_recorded, 0U);
}

TEST_F(CudaLeaseStreamsTest, WorkBehindLongKernelsIsMeasured) {
  ASSERT_EQ(run("kernels-in-stream", {0, 100 * kSecond, 8}).result, 0);
  EXPECT_EQ(account().in_flight, 2U);
  ASSERT_EQ(client_.run("synchronize").result, 0);
  EXPECT_GE(account().busy_ns, 799 * kSecond);
  EXPECT_LE(account().busy_ns, 801 * kSecond);
  EXPECT_EQ(account().in_flight, 0U);
}

TEST_F(CudaLeaseStreamsTest, WorkBehindLongKernelsOfAnotherStreamIsMeasured) {
  ASSERT_EQ(run("kernels-in-streams", {100 * kSecond, kSecond, 8, 2}).result, 0);
  ASSERT_EQ(client_.run("synchronize").result, 0);
  EXPECT_GE(account().busy_ns, 807 * kSecond);
  EXPECT_LE(account().busy_ns, 809 * kSecond);
}

TEST_F(CudaLeaseStreamsTest, ALaunchWaitsForLongKernelsForHalfASecond) {
  rig_.cards().query_us = 5000;  // 10,000 of them take a minute
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(run("kernels-in-stream", {0, 100 * kSecond, 8}).result, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(rig_.cards().launches, 8U);
}

TEST_F(CudaLeaseStreamsTest, AToolCanLaunchWithinALaunch) {
  ASSERT_EQ(client_.run("tool-launches").result, 0);
  client_.send("by-kernel 1000");
  EXPECT_TRUE(testing::eventually([&] { return rig_.cards().launches == 2; }));
}

TEST_F(CudaLeaseStreamsTest, AThreadThatTheDriverHoldsUpHoldsUpNoOther) {
  ASSERT_EQ(run("kernels-in-stream", {0, kMillisecond, 1}).result, 0);
  ASSERT_EQ(account().in_flight, 1U);
  rig_.cards().hold_launch = 1;
  ASSERT_EQ(run("kernels-elsewhere", {0, kMillisecond, 1}).result, 0);
  ASSERT_TRUE(testing::eventually([&] { return rig_.cards().hold_launch == 2; }));
  client_.send("synchronize");
  client_.send(words("kernels-in-stream", {1, 1000, 1}));
  EXPECT_TRUE(testing::eventually([&] { return rig_.cards().launches == 2; }));
  set_turn(kTurnClosed);
  const Heart heart(limit());
  client_.send(words("kernels-in-stream", {2, 1000, 1}));
  EXPECT_TRUE(testing::eventually([&] { return account().waiting == 1; }));
  rig_.cards().hold_launch = 0;
}

}  // namespace
}  // namespace tangram::shim
