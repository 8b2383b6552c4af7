#include "node/lease/container_pages.hpp"

#include "base/file.hpp"
#include "shim/page_files.hpp"
#include "tests/testing/temp_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tangram::node::lease {
namespace {

using namespace std::chrono_literals;

/// The pages of a container, which the test is.
class ContainerPagesTest : public ::testing::Test {
 protected:
  ContainerPagesTest() {
    shim::LimitsPage limits{};
    limits.magic = shim::kLimitsMagic;
    limits.version = shim::kPageVersion;
    limits.card_count = 1;
    write("/limits", &limits, sizeof(limits));
    struct Header {
      std::uint64_t magic = shim::kUsageMagic;
      std::uint32_t version = shim::kPageVersion;
    } header;
    write("/usage", &header, sizeof(header));
    EXPECT_EQ(truncate((folder_.path() + "/usage").c_str(), sizeof(shim::UsagePage)), 0);
    usage_ = shim::open_usage((folder_.path() + "/usage").c_str());
  }
  ~ContainerPagesTest() override { shim::close_usage(usage_); }
  void write(const std::string& name, const void* bytes, std::size_t size) {
    EXPECT_TRUE(replace_file(folder_.path() + name, {static_cast<const char*>(bytes), size}));
  }

  ContainerPages open() {
    auto pages = AllocationPages::open(folder_.path());
    EXPECT_TRUE(pages);
    return {*pages, 0};
  }
  shim::Account& account(std::size_t slot) { return usage_.page->slots.at(slot).accounts[0]; }
  /// A process that waits for its turn.
  void begin(std::size_t slot) {
    usage_.page->taken.at(slot) = 1;
    account(slot).waiting = 1;
    EXPECT_TRUE(shim::lock_slot(usage_, slot));
  }
  /// As many bytes as a program likes to lock: every second one, or the kernel merges them.
  void lock_bytes(int count) {
    for (int i = 0; i < count; ++i) {
      struct flock lock {};
      lock.l_type = F_WRLCK;
      lock.l_whence = SEEK_SET;
      lock.l_start = static_cast<off_t>(shim::kMaxProcesses) + 2 * static_cast<off_t>(i);
      lock.l_len = 1;
      ASSERT_EQ(fcntl(usage_.fd, F_OFD_SETLK, &lock), 0);
    }
  }

  testing::TempFolder folder_;
  shim::UsageFile usage_;
  const TimePoint now_{1s};
};

TEST_F(ContainerPagesTest, SeesWhoWaitsAndLives) {
  ContainerPages pages = open();
  EXPECT_FALSE(pages.look(now_).waits);
  begin(3);
  EXPECT_TRUE(pages.look(now_).waits);
  shim::unlock_slot(usage_, 3);
  EXPECT_FALSE(pages.look(now_).waits) << "it has died";
}

TEST_F(ContainerPagesTest, LooksAtAContainerWithManyLocksLessOften) {
  ContainerPages pages = open();
  lock_bytes(3'000);
  for (std::size_t slot = 0; slot < 64; ++slot) {
    usage_.page->taken.at(slot) = 1;
    account(slot).waiting = 1;  // and no lock: the kernel looks through all of them
  }
  (void)pages.look(now_);
  begin(100);
  account(100).launches = 7;
  EXPECT_EQ(pages.look(now_ + 9ms).launches, 0U) << "20 times the half millisecond";
  TimePoint later = now_;
  bool seen = false;
  for (int i = 0; i < 1000 && !seen; ++i) {
    later += 1s;
    seen = pages.look(later).waits;
  }
  EXPECT_TRUE(seen) << "it goes on where it has stopped";
}

TEST_F(ContainerPagesTest, OnlyNewLaunchesCountHoweverManyProcessesThereWere) {
  ContainerPages pages = open();
  constexpr std::uint32_t kEnded = 100;  // more than a look is at
  for (std::uint32_t slot = 0; slot < kEnded; ++slot) {
    usage_.page->taken.at(slot) = 1;
    account(slot).launches = slot + 1;
  }
  (void)pages.look(now_);
  (void)pages.look(now_ + 1s);
  const std::uint32_t before = pages.look(now_ + 2s).launches;
  for (int second = 3; second < 10; ++second) {
    EXPECT_EQ(pages.look(now_ + std::chrono::seconds(second)).launches, before) << "it is idle";
  }
  account(7).launches += 2;
  (void)pages.look(now_ + 10s);
  EXPECT_EQ(pages.look(now_ + 11s).launches, before + 2);
}

TEST_F(ContainerPagesTest, ATurnIsFreeOnceNobodyLeasesIt) {
  const shim::LimitsPage* const limits = shim::map_limits((folder_.path() + "/limits").c_str());
  {
    ContainerPages pages = open();
    pages.set_open(false);
    EXPECT_EQ(limits->cards[0].turn, shim::kTurnClosed);
    EXPECT_EQ(limits->leases, 1U);
    const ContainerPages moved = std::move(pages);
    EXPECT_EQ(limits->leases, 1U);
  }
  EXPECT_EQ(limits->cards[0].turn, shim::kTurnFree);
  EXPECT_EQ(limits->leases, 0U);
  shim::unmap_limits(limits);
}

}  // namespace
}  // namespace tangram::node::lease
