// Every function that launches work or waits for it, in each of its versions, on a card whose time
// is leased. The test is the agent.
#include "tests/shim/heart.hpp"
#include "tests/shim/stand_in_rig.hpp"
#include "tests/testing/eventually.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tangram::shim {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;  // ns

/// A container alone on a card whose time is leased, with an agent that is alive.
class LeasedContainer {
 public:
  LeasedContainer() : client_(rig_) {
    EXPECT_EQ(client_.run("init").result, 0) << client_.errors();
    set_turn(kTurnOpen);
  }

  void set_turn(Turn turn) { rig_.set_turn(turn); }
  Client& client() { return client_; }
  fake_cuda::CardFile& cards() { return rig_.cards(); }
  Account& account() { return rig_.only_account(); }

 private:
  CardLimit& limit() { return rig_.limits().cards[0]; }

  StandInRig rig_;
  Client client_;
  const Heart heart_{limit()};
};

using fake_cuda::LaunchArguments;
constexpr LaunchArguments kAll{2, 3, 4, 5, 6, 7, 8, 0, 9, 10};
constexpr LaunchArguments kWithoutExtra{2, 3, 4, 5, 6, 7, 8, 0, 9, 0};
constexpr LaunchArguments kGrid{2, 3, 1};

/// A version of a function that launches.
struct Launch {
  const char* name;
  const char* as;  ///< the CUDA version and flags that a program asks for
  const char* command;
  LaunchArguments arguments;  ///< that the driver must get
};

class CudaLaunchTest : public ::testing::TestWithParam<Launch> {
 protected:
  std::string command_ =
      std::string("as ") + GetParam().as + " " + GetParam().command + " 1000000";  // ns
};

TEST_P(CudaLaunchTest, ReachesTheDriverAsItIsAndIsTimed) {
  LeasedContainer container;
  ASSERT_EQ(container.client().run(command_).result, 0);
  EXPECT_EQ(container.cards().launches, 1U);
  EXPECT_EQ(container.cards().last_launch, GetParam().arguments);
  EXPECT_GT(container.account().launches, 0U);
  ASSERT_EQ(container.client().run("synchronize").result, 0);
  EXPECT_GE(container.account().busy_ns, kMillisecond * 9 / 10);
  EXPECT_EQ(container.account().in_flight, 0U);
}

TEST_P(CudaLaunchTest, WaitsForTheTurn) {
  LeasedContainer container;
  container.set_turn(kTurnClosed);
  container.client().send(command_);
  ASSERT_TRUE(testing::eventually([&] { return container.account().waiting == 1; }));
  EXPECT_EQ(container.cards().launches, 0U);
  container.set_turn(kTurnOpen);
  EXPECT_TRUE(testing::eventually([&] { return container.cards().launches == 1; }));
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaLaunchTest,
    ::testing::Values(Launch{"Kernel", "4000 0", "by-kernel", kAll},
                      Launch{"KernelOfAThread", "7000 2", "by-kernel", kAll},
                      Launch{"Config", "11060 0", "by-config", kAll},
                      Launch{"ConfigOfAThread", "11060 2", "by-config", kAll},
                      Launch{"Cooperative", "9000 0", "cooperatively", kWithoutExtra},
                      Launch{"CooperativeOfAThread", "9000 2", "cooperatively", kWithoutExtra},
                      Launch{"CooperativeOnAllDevices", "9000 0", "on-all-devices", kWithoutExtra},
                      Launch{"Function", "2000 0", "by-function", {1, 1, 1}},
                      Launch{"Grid", "2000 0", "by-grid", kGrid},
                      Launch{"GridInAStream", "2000 0", "by-grid-async", kGrid}),
    [](const auto& row) { return std::string(row.param.name); });

/// Graphs launch by functions of their own.
class CudaGraphLaunchTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CudaGraphLaunchTest, WaitsForTheTurnAndIsTimed) {
  LeasedContainer container;
  Client& client = container.client();
  const auto graph = client.run("capture-kernels 100000 10");
  const auto exec = client.run("instantiate " + std::to_string(graph.value()));
  ASSERT_EQ(exec.result, 0);
  const std::uint64_t before = busy_of(container.cards(), 0, client.pid());
  container.set_turn(kTurnClosed);
  client.send(std::string("as ") + GetParam() + " launch " + std::to_string(exec.value()));
  ASSERT_TRUE(testing::eventually([&] { return container.account().waiting == 1; }));
  EXPECT_EQ(busy_of(container.cards(), 0, client.pid()), before);
  container.set_turn(kTurnOpen);
  EXPECT_TRUE(testing::eventually(
      [&] { return busy_of(container.cards(), 0, client.pid()) == before + kMillisecond; }));
  EXPECT_TRUE(testing::eventually([&] { return container.account().in_flight == 1; }));
}

INSTANTIATE_TEST_SUITE_P(All, CudaGraphLaunchTest, ::testing::Values("10000 0", "10000 2"),
                         [](const auto& row) { return row.index == 0 ? "Plain" : "OfAThread"; });

/// A call in which a program waits for its work.
struct Wait {
  const char* name;
  const char* as;  ///< as above
  const char* command;
};

class CudaWaitTest : public ::testing::TestWithParam<Wait> {};

TEST_P(CudaWaitTest, WhatHasEndedIsKnown) {
  LeasedContainer container;
  const std::string as = std::string("as ") + GetParam().as + " ";
  ASSERT_EQ(container.client().run(as + "by-kernel 1000000").result, 0);
  EXPECT_EQ(container.account().in_flight, 1U);
  ASSERT_EQ(container.client().run(as + GetParam().command).result, 0);
  EXPECT_EQ(container.account().in_flight, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, CudaWaitTest,
                         ::testing::Values(Wait{"ContextV1", "4000 0", "synchronize"},
                                           Wait{"ContextV2", "13000 0", "synchronize"},
                                           Wait{"Stream", "4000 0", "synchronize-stream"},
                                           Wait{"StreamOfAThread", "7000 2", "synchronize-stream"}),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace tangram::shim
