#include "node/vendor/nvidia/stand_in/share_pages.hpp"

#include "shim/page_files.hpp"
#include "shim/uuid.hpp"
#include "tests/shim/stand_in_rig.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

namespace tangram::node::nvidia {
namespace {

using shim::Client;
using shim::kMiB;
using shim::StandInRig;
using shim::uuid_of;

constexpr const char* kFirst = "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0";  // of the rig's cards
constexpr const char* kSecond = "GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1";
constexpr int kOutOfMemory = 2;

model::GrantedCard card(const std::string& id, std::int64_t limit) {
  model::GrantedCard card;
  card.uuid = id;
  card.memory = Mebibytes(limit / 2);
  card.memory_limit = Mebibytes(limit);
  return card;
}

/// Pages of an agent, and a container with them over the fake driver.
class SharePagesTest : public ::testing::Test {
 protected:
  /// Mounts an allocation's pages into the container.
  void mount(const SharePages::Paths& paths) {
    namespace fs = std::filesystem;
    for (const auto& [host, name] : {std::pair(paths.limits, "limits"), {paths.usage, "usage"}}) {
      const fs::path in_container = rig_.path() + "/tangram/" + name;
      fs::remove(in_container);
      fs::create_symlink(host, in_container);
    }
  }

  StandInRig rig_{{{.context_bytes = 0}, {.context_bytes = 0}}};
  testing::TempFolder folder_;
  SharePages pages_{folder_.path() + "/shares"};
};

TEST(UuidTest, ReadsIdsOfCardsAndMigInstances) {
  const auto uuid = uuid_of("GPU-00112233-4455-6677-8899-aAbBcCdDeEfF");
  ASSERT_TRUE(uuid);
  EXPECT_EQ((*uuid)[0], 0U);
  EXPECT_EQ((*uuid)[1], 0x11U);
  EXPECT_EQ((*uuid)[15], 0xffU);
  EXPECT_EQ(uuid_of("MIG-00112233-4455-6677-8899-aabbccddeeff"), uuid);
  for (const char* const other :
       {"", "GPU-", "GPU-1", "MIG-GPU-00112233-4455-6677-8899-aabbccddeeff/1/0",
        "GPU-00112233-4455-6677-8899-aabbccddeefg", "GPU-00112233x4455-6677-8899-aabbccddeeff",
        "GPU-0011223--4455-6677-8899-aabbccddeeff"}) {
    EXPECT_FALSE(uuid_of(other)) << other;
  }
}

TEST_F(SharePagesTest, AContainerSeesItsLimitsNotItsRequests) {
  const auto paths = pages_.put("a-1", {card(kFirst, 100), card(kSecond, 50)});
  ASSERT_TRUE(paths) << paths.error().message;
  mount(*paths);
  Client client(rig_);
  ASSERT_EQ(client.run("init").result, 0) << client.errors();
  EXPECT_EQ(client.run("total 0").value(), 100 * kMiB);
  EXPECT_EQ(client.run("total 1").value(), 50 * kMiB);
}

TEST_F(SharePagesTest, AChangedLimitReachesARunningContainer) {
  const auto paths = pages_.put("a-1", {card(kFirst, 100)});
  ASSERT_TRUE(paths);
  mount(*paths);
  Client client(rig_);
  ASSERT_EQ(client.run("init").result, 0);
  ASSERT_EQ(client.run("alloc " + std::to_string(60 * kMiB)).result, 0);
  ASSERT_TRUE(pages_.put("a-1", {card(kFirst, 200)}));
  EXPECT_EQ(client.run("total 0").value(), 200 * kMiB);
  ASSERT_TRUE(pages_.put("a-1", {card(kFirst, 50)}));
  EXPECT_EQ(client.run("alloc 1").result, kOutOfMemory);
  EXPECT_EQ(pages_.accounted("a-1", kFirst), 60 * kMiB);
}

TEST_F(SharePagesTest, AResizeChangesOneCardOfARunningContainer) {
  const auto paths = pages_.put("a-1", {card(kFirst, 100), card(kSecond, 50)});
  ASSERT_TRUE(paths);
  mount(*paths);
  Client client(rig_);
  ASSERT_EQ(client.run("init").result, 0);
  SharePages next(folder_.path() + "/shares");
  ASSERT_TRUE(next.change("a-1", {card(kSecond, 70)}));
  EXPECT_EQ(client.run("total 0").value(), 100 * kMiB);
  EXPECT_EQ(client.run("total 1").value(), 70 * kMiB);
}

TEST_F(SharePagesTest, AResizeMakesNoPages) {
  const auto code = [&](std::string_view allocation, const char* id) {
    const auto changed = pages_.change(allocation, {card(id, 70)});
    return changed ? std::nullopt : std::optional(changed.error().code);
  };
  EXPECT_EQ(code("a-1", kFirst), Errc::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/shares"));
  ASSERT_TRUE(pages_.put("a-1", {card(kFirst, 100)}));
  EXPECT_EQ(code("a-1", kSecond), Errc::kNotFound);
  EXPECT_EQ(code("../a-1", kFirst), Errc::kNotFound);
  EXPECT_EQ(code("a-1", kFirst), std::nullopt);
}

TEST_F(SharePagesTest, InUseIsWhatTheLibrariesCompareWithTheLimit) {
  EXPECT_EQ(pages_.in_use("a-1", kFirst), std::nullopt);
  const auto paths = pages_.put("a-1", {card(kFirst, 100)});
  ASSERT_TRUE(paths);
  mount(*paths);
  Client client(rig_);
  ASSERT_EQ(client.run("init").result, 0);
  ASSERT_EQ(client.run("alloc " + std::to_string(60 * kMiB)).result, 0);
  for (int look = 0; look < 2; ++look) ASSERT_TRUE(pages_.settle("a-1", {{kFirst, 75 * kMiB}}));
  EXPECT_EQ(pages_.in_use("a-1", kFirst), 75 * kMiB);
}

TEST_F(SharePagesTest, PagesOutliveTheAgent) {
  const auto paths = pages_.put("a-1", {card(kFirst, 100)});
  ASSERT_TRUE(paths);
  mount(*paths);
  Client client(rig_);
  ASSERT_EQ(client.run("init").result, 0);
  ASSERT_EQ(client.run("alloc " + std::to_string(60 * kMiB)).result, 0);
  SharePages next(folder_.path() + "/shares");
  EXPECT_EQ(next.accounted("a-1", kFirst), 60 * kMiB);
  ASSERT_TRUE(next.put("a-1", {card(kFirst, 80)}));
  EXPECT_EQ(client.run("info").values, (std::vector<std::uint64_t>{20 * kMiB, 80 * kMiB}));
}

TEST_F(SharePagesTest, TurnsThatAFormerAgentHasClosedAreFree) {
  ASSERT_TRUE(pages_.put("a-1", {card(kFirst, 100), card(kSecond, 100)}));
  const auto former = pages_.find("a-1");
  former->limits().leases = 3;
  former->limits().cards[0].turn = shim::kTurnClosed;
  former->limits().cards[1].turn = shim::kTurnOpen;
  SharePages next(folder_.path() + "/shares");
  EXPECT_EQ(former->limits().leases, 0U);
  EXPECT_EQ(former->limits().cards[0].turn, shim::kTurnFree);
  EXPECT_EQ(former->limits().cards[1].turn, shim::kTurnFree);
}

TEST_F(SharePagesTest, OnesThatAreOpenStayTheSame) {
  ASSERT_TRUE(pages_.put("a-1", {card(kFirst, 100)}));
  const auto pages = pages_.find("a-1");
  pages->limits().cards[0].turn = shim::kTurnClosed;
  ASSERT_TRUE(pages_.put("a-1", {card(kFirst, 80)}));
  EXPECT_TRUE(pages_.settle("a-1", {}));
  EXPECT_EQ(pages_.find("a-1"), pages);
  EXPECT_EQ(pages->limits().cards[0].turn, shim::kTurnClosed);
  EXPECT_EQ(pages->place_of(kFirst), 0U);
  EXPECT_FALSE(pages->place_of(kSecond));
  EXPECT_FALSE(pages_.find("b-2"));
}

TEST_F(SharePagesTest, WhatNobodyAccountsIsTakenOffTheLimit) {
  const auto paths = pages_.put("a-1", {card(kFirst, 100)});
  ASSERT_TRUE(paths);
  mount(*paths);
  Client client(rig_);
  ASSERT_EQ(client.run("init").result, 0);
  ASSERT_EQ(client.run("alloc " + std::to_string(60 * kMiB)).result, 0);
  EXPECT_TRUE(pages_.settle("a-1", {{kFirst, 75 * kMiB}}));
  EXPECT_EQ(client.run("info").values, (std::vector<std::uint64_t>{40 * kMiB, 100 * kMiB}))
      << "it may have been freed meanwhile";
  EXPECT_TRUE(pages_.settle("a-1", {{kFirst, 80 * kMiB}}));
  EXPECT_EQ(client.run("info").values, (std::vector<std::uint64_t>{25 * kMiB, 100 * kMiB}));
  EXPECT_TRUE(pages_.settle("a-1", {})) << "the driver did not answer: it stays";
  EXPECT_EQ(client.run("info").values, (std::vector<std::uint64_t>{25 * kMiB, 100 * kMiB}));
  EXPECT_TRUE(pages_.settle("a-1", {{kFirst, 10 * kMiB}})) << "not resident yet";
  EXPECT_EQ(client.run("info").values, (std::vector<std::uint64_t>{40 * kMiB, 100 * kMiB}));
}

TEST_F(SharePagesTest, DeadProcessesDoNotCount) {
  const auto paths = pages_.put("a-1", {card(kFirst, 100)});
  ASSERT_TRUE(paths);
  mount(*paths);
  Client client(rig_);
  ASSERT_EQ(client.run("init").result, 0);
  ASSERT_EQ(client.run("alloc " + std::to_string(60 * kMiB)).result, 0);
  client.kill();
  EXPECT_EQ(pages_.accounted("a-1", kFirst), 0U);
}

TEST_F(SharePagesTest, AContainerThatCutsItsUsagePageShortHarmsItselfOnly) {
  const auto paths = pages_.put("a-1", {card(kFirst, 100)});
  ASSERT_TRUE(paths);
  ASSERT_EQ(truncate(paths->usage.c_str(), 10), 0);
  EXPECT_TRUE(pages_.settle("a-1", {{kFirst, 75 * kMiB}}));
  EXPECT_EQ(pages_.accounted("a-1", kFirst), 0U);
}

TEST_F(SharePagesTest, ASpoiledPageIsMadeAnewAtTheNextStart) {
  for (const char* const how : {"short", "without a header"}) {
    const auto paths = pages_.put("a-1", {card(kFirst, 100)});
    ASSERT_TRUE(paths);
    ASSERT_EQ(truncate(paths->usage.c_str(), 0), 0);
    if (how[0] == 'w') {
      ASSERT_EQ(truncate(paths->usage.c_str(), sizeof(shim::UsagePage)), 0);
    }
    const auto spoiled = pages_.find("a-1");
    mount(*pages_.put("a-1", {card(kFirst, 80)}));
    EXPECT_NE(pages_.find("a-1"), spoiled);
    Client client(rig_);
    EXPECT_EQ(client.run("init").result, 0) << how << ": " << client.errors();
    EXPECT_EQ(client.run("total 0").value(), 80 * kMiB);
  }
}

TEST_F(SharePagesTest, APageThatAContainerMadeLongerIsCutAgain) {
  const auto paths = pages_.put("a-1", {card(kFirst, 100)});
  ASSERT_TRUE(paths);
  ASSERT_EQ(truncate(paths->usage.c_str(), 1U << 30U), 0);
  EXPECT_TRUE(pages_.settle("a-1", {}));
  EXPECT_EQ(std::filesystem::file_size(paths->usage), sizeof(shim::UsagePage));
}

TEST_F(SharePagesTest, MemoryThatAContainerTookBehindItsPageIsFreed) {
  const auto paths = pages_.put("a-1", {card(kFirst, 100)});
  ASSERT_TRUE(paths);
  const int fd = open(paths->usage.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  constexpr off_t kMuch = off_t{64} << 20U;
  if (fallocate(fd, FALLOC_FL_KEEP_SIZE, sizeof(shim::UsagePage), kMuch) != 0) {
    (void)close(fd);
    GTEST_SKIP() << "the file system does not allocate ahead";
  }
  const auto taken = [&] {
    struct stat status {};
    EXPECT_EQ(fstat(fd, &status), 0);
    return status.st_blocks * 512;
  };
  EXPECT_GE(taken(), kMuch);
  EXPECT_TRUE(pages_.settle("a-1", {}));
  EXPECT_LT(taken(), kMuch / 8);
  (void)close(fd);
}

TEST_F(SharePagesTest, AContainerCanTakeNoLeaseOnItsPage) {
  const auto paths = pages_.put("a-1", {card(kFirst, 100)});
  ASSERT_TRUE(paths);
  const int writer = ::open(paths->usage.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_NE(fcntl(writer, F_SETLEASE, F_WRLCK), 0);
  const int reader = ::open(paths->usage.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_NE(fcntl(reader, F_SETLEASE, F_RDLCK), 0);
  ::close(writer);
  ::close(reader);
}

TEST_F(SharePagesTest, ALeaseFromBeforeTheAgentDoesNotStopIt) {
  std::string usage;
  {
    SharePages before(folder_.path() + "/shares");
    usage = before.put("a-1", {card(kFirst, 100)})->usage;
  }
  const int writer = ::open(usage.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(fcntl(writer, F_SETLEASE, F_WRLCK), 0);
  shim::LimitsPage* const limits =
      shim::map_limits_to_write((folder_.path() + "/shares/a-1/limits").c_str());
  limits->cards[0].turn = shim::kTurnClosed;
  (void)std::signal(SIGIO, SIG_IGN);  // the kernel asks for the lease
  EXPECT_FALSE(pages_.settle("a-1", {{kFirst, 75 * kMiB}})) << "not now";
  EXPECT_EQ(limits->cards[0].turn, shim::kTurnFree);
  shim::unmap_limits(limits);
  ::close(writer);
}

TEST_F(SharePagesTest, NamesThatAreNoFolderOfTheirOwnAreRefused) {
  for (const std::string name : {"", ".", "..", "a/b", "../a", "a b"}) {
    EXPECT_EQ(pages_.put(name, {card(kFirst, 100)}).error().code, Errc::kInvalidArgument) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/shares"));
}

TEST_F(SharePagesTest, KeepsOnlyWhatIsAllocated) {
  ASSERT_TRUE(pages_.put("a-1", {card(kFirst, 100)}));
  ASSERT_TRUE(pages_.put("b-2", {card(kFirst, 100)}));
  pages_.keep({"b-2", "c-3"});
  EXPECT_FALSE(pages_.accounted("a-1", kFirst));
  EXPECT_TRUE(pages_.accounted("b-2", kFirst));
  EXPECT_FALSE(pages_.settle("c-3", {}));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/shares/a-1"));
}

TEST_F(SharePagesTest, OtherCardsForAnAllocationAreNewPages) {
  ASSERT_TRUE(pages_.put("a-1", {card(kFirst, 100)}));
  ASSERT_TRUE(pages_.put("a-1", {card(kSecond, 70)}));
  EXPECT_FALSE(pages_.accounted("a-1", kFirst));
  EXPECT_TRUE(pages_.accounted("a-1", kSecond));
}

TEST_F(SharePagesTest, RefusesCardsThatTheLibraryCannotKnow) {
  EXPECT_EQ(pages_.put("a-1", {card("MIG-GPU-1/1/0", 100)}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(pages_.put("a-1", std::vector(17, card(kFirst, 1))).error().code,
            Errc::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/shares/a-1"));
}

TEST_F(SharePagesTest, OnlyTheContainersUsersReachItsPages) {
  const auto paths = pages_.put("a-1", {card(kFirst, 100)});
  ASSERT_TRUE(paths);
  struct stat folder {};
  struct stat limits {};
  struct stat usage {};
  ASSERT_EQ(stat((folder_.path() + "/shares").c_str(), &folder), 0);
  ASSERT_EQ(stat(paths->limits.c_str(), &limits), 0);
  ASSERT_EQ(stat(paths->usage.c_str(), &usage), 0);
  EXPECT_EQ(folder.st_mode & 0777U, 0700U);
  EXPECT_EQ(limits.st_mode & 0777U, 0644U);
  EXPECT_EQ(usage.st_mode & 0777U, 0666U);
}

}  // namespace
}  // namespace tangram::node::nvidia
