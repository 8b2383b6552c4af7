// Several processes of one container: they share its limit, and none of them waits for a dead one.
#include "shim/page_files.hpp"
#include "tests/shim/stand_in_rig.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>

namespace tangram::shim {
namespace {

constexpr int kOutOfMemory = 2;
constexpr int kOperatingSystem = 304;

std::string alloc(std::uint64_t bytes) { return "alloc " + std::to_string(bytes); }

TEST(CudaProcessesTest, ProcessesShareTheLimit) {
  StandInRig rig({{.limit = 100 * kMiB}});
  Client one(rig);
  Client two(rig);
  ASSERT_EQ(one.run("init").result, 0);
  ASSERT_EQ(two.run("init").result, 0);
  ASSERT_EQ(one.run(alloc(60 * kMiB)).result, 0);
  EXPECT_EQ(two.run(alloc(41 * kMiB)).result, kOutOfMemory);
  EXPECT_EQ(two.run("info").values, (std::vector<std::uint64_t>{40 * kMiB, 100 * kMiB}));
  EXPECT_EQ(two.run(alloc(40 * kMiB)).result, 0);
}

TEST(CudaProcessesTest, WhatAKilledProcessHadIsFreeAtOnce) {
  StandInRig rig({{.limit = 100 * kMiB}});
  Client one(rig);
  Client two(rig);
  ASSERT_EQ(one.run("init").result, 0);
  ASSERT_EQ(two.run("init").result, 0);
  ASSERT_EQ(one.run(alloc(100 * kMiB)).result, 0);
  ASSERT_EQ(two.run(alloc(1)).result, kOutOfMemory);
  one.kill();
  EXPECT_EQ(two.run("info").values, (std::vector<std::uint64_t>{100 * kMiB, 100 * kMiB}));
  EXPECT_EQ(two.run(alloc(100 * kMiB)).result, 0);
}

TEST(CudaProcessesTest, WhatAProcessHadWhenItEndedIsFree) {
  StandInRig rig({{.limit = 100 * kMiB}});
  Client one(rig);
  ASSERT_EQ(one.run("init").result, 0);
  ASSERT_EQ(one.run(alloc(100 * kMiB)).result, 0);
  EXPECT_EQ(one.finish(), 0);
  EXPECT_EQ(rig.accounted(), 0U);
}

TEST(CudaProcessesTest, ProcessesOneAfterTheOtherSeeWhatIsUsed) {
  StandInRig rig({{.limit = 100 * kMiB}});
  for (int i = 0; i < 3; ++i) {
    Client client(rig);
    ASSERT_EQ(client.run("init").result, 0);
    ASSERT_EQ(client.run(alloc(60 * kMiB)).result, 0);
    EXPECT_EQ(client.run("info").values, (std::vector<std::uint64_t>{40 * kMiB, 100 * kMiB})) << i;
    EXPECT_EQ(client.finish(), 0);
  }
}

/// Nobody waits for the others' starts: no lock is for all of them.
TEST(CudaProcessesTest, ManyProcessesBeginTogether) {
  constexpr std::uint64_t kProcesses = 200;
  StandInRig rig({{.limit = kProcesses * kMiB}});
  std::deque<Client> clients;
  for (std::uint64_t i = 0; i < kProcesses; ++i) clients.emplace_back(rig).send("init");
  for (Client& client : clients) ASSERT_EQ(client.receive().result, 0) << client.errors();
  for (Client& client : clients) ASSERT_EQ(client.run(alloc(kMiB)).result, 0);
  EXPECT_EQ(rig.accounted(), kProcesses * kMiB);
  EXPECT_EQ(clients.front().run(alloc(1)).result, kOutOfMemory);
  clients.clear();
  EXPECT_EQ(rig.accounted(), 0U);
}

TEST(CudaProcessesTest, AChildBeginsWithoutCharges) {
  StandInRig rig({{.limit = 100 * kMiB}});
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);
  const auto mine = client.run(alloc(50 * kMiB));
  ASSERT_EQ(mine.result, 0);
  // The fake driver is not aware of the fork, so the child allocates with the parent's context.
  EXPECT_EQ(client.run("fork " + alloc(51 * kMiB)).result, kOutOfMemory);
  EXPECT_EQ(client.run("fork " + alloc(50 * kMiB)).result, 0);
  EXPECT_EQ(rig.accounted(), 50 * kMiB) << "the child has ended";
  // A free in a child gives back nothing of the parent's.
  (void)client.run("fork free " + std::to_string(mine.value()));
  EXPECT_EQ(rig.accounted(), 50 * kMiB);
}

TEST(CudaProcessesTest, AChildOwesNothingOfItsParentsPoolsAndGraphs) {
  StandInRig rig({{.limit = 1000 * kMiB}});
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);
  const auto pointer = client.run("alloc-async " + std::to_string(100 * kMiB));
  ASSERT_EQ(pointer.result, 0);
  // What is free in the child afterwards, in units of 10 MiB: the parent's counts on.
  EXPECT_EQ(client.run("fork-info free-async " + std::to_string(pointer.value())).result, 90);
  const auto graph = client.run("graph");
  ASSERT_EQ(
      client.run("node " + std::to_string(graph.value()) + " " + std::to_string(600 * kMiB)).result,
      0);
  const auto exec = client.run("instantiate " + std::to_string(graph.value()));
  ASSERT_EQ(client.run("launch " + std::to_string(exec.value())).result, 0);
  ASSERT_EQ(client.run("destroy-graph " + std::to_string(graph.value())).result, 0);
  ASSERT_EQ(client.run("destroy-exec " + std::to_string(exec.value())).result, 0);
  EXPECT_EQ(client.run("fork-info trim-graphs 0").result, 30);
}

TEST(CudaProcessesTest, AProcessThatClosesAllItsFilesKeepsItsPlace) {
  StandInRig rig({{.limit = 100 * kMiB}});
  Client daemon(rig);
  ASSERT_EQ(daemon.run("init").result, 0);
  ASSERT_EQ(daemon.run(alloc(60 * kMiB)).result, 0);
  ASSERT_EQ(daemon.run("close-files").result, 0);
  EXPECT_EQ(rig.accounted(), 60 * kMiB) << "it was taken for dead";
  Client other(rig);
  ASSERT_EQ(other.run("init").result, 0);
  EXPECT_EQ(other.run(alloc(41 * kMiB)).result, kOutOfMemory);
  // It goes on, gives back what others left, and its own is free when it ends.
  ASSERT_EQ(other.run(alloc(40 * kMiB)).result, 0);
  other.kill();
  EXPECT_EQ(daemon.run("info").values, (std::vector<std::uint64_t>{40 * kMiB, 100 * kMiB}));
  EXPECT_EQ(daemon.run(alloc(40 * kMiB)).result, 0);
  daemon.kill();
  EXPECT_EQ(rig.accounted(), 0U);
}

TEST(CudaProcessesTest, WithoutItsPagesNoCardIsUsed) {
  for (const char* const page : {"limits", "usage"}) {
    StandInRig rig;
    std::filesystem::remove(rig.path() + "/tangram/" + page);
    Client client(rig);
    EXPECT_EQ(client.run("init").result, kOperatingSystem);
    EXPECT_EQ(client.run("init").result, kOperatingSystem);
    EXPECT_NE(client.errors().find("no card can be used"), std::string::npos) << client.errors();
    EXPECT_EQ(client.errors().find('\n') + 1, client.errors().size()) << "one line only";
  }
}

TEST(CudaProcessesTest, OutOfFilesItTriesAgain) {
  StandInRig rig;
  Client client(rig);
  EXPECT_EQ(client.run("without-files init").result, kOperatingSystem);
  EXPECT_EQ(client.run("without-files init").result, kOperatingSystem);
  EXPECT_NE(client.errors().find("no card can be used"), std::string::npos) << client.errors();
  EXPECT_EQ(client.errors().find('\n') + 1, client.errors().size()) << "one line only";
  EXPECT_EQ(client.run("init").result, 0);
}

TEST(CudaProcessesTest, ACancelledThreadLeavesNothingLocked) {
  StandInRig rig;
  Client client(rig);
  (void)client.run("cancelled init");
  EXPECT_EQ(client.run("init").result, 0);
  EXPECT_EQ(client.run(alloc(kMiB)).result, 0);
}

TEST(CudaProcessesTest, PagesOfAnotherVersionAreNotUsed) {
  StandInRig rig;
  rig.limits().version = kPageVersion + 1;
  EXPECT_EQ(Client(rig).run("init").result, kOperatingSystem);
  rig.limits().version = kPageVersion;
  rig.usage().magic = 1;
  EXPECT_EQ(Client(rig).run("init").result, kOperatingSystem);
}

TEST(CudaProcessesTest, OneProcessMoreThanThePageHasPlacesSaysSo) {
  StandInRig rig;
  UsageFile file = open_usage((rig.path() + "/tangram/usage").c_str());
  for (std::size_t slot = 0; slot < kMaxProcesses; ++slot) ASSERT_TRUE(lock_slot(file, slot));
  Client client(rig);
  EXPECT_EQ(client.run("init").result, kOperatingSystem);
  EXPECT_NE(client.errors().find("1024 places"), std::string::npos) << client.errors();
  close_usage(file);
}

TEST(CudaProcessesTest, ANewProcessTakesADeadOnesPlaceAndOwesNothing) {
  StandInRig rig({{.limit = 100 * kMiB}});
  for (int i = 0; i < 20; ++i) {
    Client client(rig);
    ASSERT_EQ(client.run("init").result, 0);
    ASSERT_EQ(client.run(alloc(100 * kMiB)).result, 0) << i;
    client.kill();
  }
}

/// Eight processes allocate, free and are killed at any moment; others take their places.
TEST(CudaProcessesTest, NeverAByteAboveTheLimitWhoeverDiesWhenever) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  testing::Random random(seed);
  constexpr std::uint64_t kLimit = 200 * kMiB;
  StandInRig rig({{.limit = kLimit}});
  std::deque<std::unique_ptr<Client>> clients;
  for (int kills = 0; kills < 120; ++kills) {
    while (clients.size() < 8) {
      clients.push_back(std::make_unique<Client>(rig));
      ASSERT_EQ(clients.back()->run("init").result, 0) << clients.back()->errors();
      clients.back()->send("churn " + std::to_string(random.below(1'000'000)) + " " +
                           std::to_string(40 * kMiB));
    }
    // Time for the others to allocate; whatever they do then, the sums must be right.
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(5'000)));
    const auto victim = clients.begin() + random.below(8);
    (*victim)->kill();
    clients.erase(victim);
    ASSERT_LE(rig.usage().totals[0].bytes, kLimit);
  }
  for (const auto& client : clients) client->kill();
  EXPECT_EQ(rig.really_used(), 0U);
  EXPECT_EQ(rig.accounted(), 0U);
  EXPECT_LE(rig.cards().cards[0].most_used, kLimit);
  EXPECT_GT(rig.cards().cards[0].most_used, kLimit / 2);
}

TEST(CudaProcessesTest, ManyThreadsBesideForksLeaveNothing) {
  StandInRig rig({{.limit = 300 * kMiB}});
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);
  const auto done = client.run("threads 7 " + std::to_string(40 * kMiB) + " 3000");
  ASSERT_EQ(done.result, 0);
  EXPECT_EQ(done.value(), 0U) << "children that failed";
  EXPECT_EQ(rig.really_used(), 0U);
  EXPECT_EQ(rig.accounted(), 0U);
  EXPECT_LE(rig.cards().cards[0].most_used, 300 * kMiB);
  EXPECT_GT(rig.cards().cards[0].most_used, 200 * kMiB);
}

/// Without deaths the page says what the driver says.
TEST(CudaProcessesTest, WhatIsAllocatedAndFreedAgainLeavesNothing) {
  StandInRig rig({{.limit = 200 * kMiB}});
  Client client(rig);
  ASSERT_EQ(client.run("init").result, 0);
  const auto done = client.run("churn 7 " + std::to_string(40 * kMiB) + " 20000");
  EXPECT_EQ(done.result, 0);
  EXPECT_GT(done.value(), 100U) << "the limit was reached";
  EXPECT_EQ(client.run("info").values, (std::vector<std::uint64_t>{200 * kMiB, 200 * kMiB}));
  EXPECT_EQ(rig.really_used(), 0U);
}

}  // namespace
}  // namespace tangram::shim
