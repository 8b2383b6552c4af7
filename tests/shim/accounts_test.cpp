#include "shim/accounts.hpp"

#include "tests/testing/random.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <numeric>
#include <thread>
#include <vector>

namespace tangram::shim {
namespace {

/// A usage page that a child of fork() shares.
class AccountsTest : public ::testing::Test {
 protected:
  AccountsTest()
      : page_(static_cast<UsagePage*>(mmap(nullptr, sizeof(UsagePage), PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~AccountsTest() override { (void)munmap(page_, sizeof(UsagePage)); }

  SlotAccounts slot(std::size_t number) { return {*page_, number}; }
  std::uint64_t total(std::size_t card = 0) { return page_->totals[card].bytes; }

  UsagePage* page_;
};

TEST_F(AccountsTest, AddsUpToTheLimitAndNotOneByteMore) {
  EXPECT_TRUE(slot(0).add(0, 60, 100));
  EXPECT_TRUE(slot(1).add(0, 40, 100));
  EXPECT_FALSE(slot(1).add(0, 1, 100));
  EXPECT_EQ(total(), 100U);
  slot(0).subtract(0, 60);
  EXPECT_TRUE(slot(1).add(0, 60, 100));
  EXPECT_EQ(total(), 100U);
}

TEST_F(AccountsTest, NothingNeedsNoRoom) {
  EXPECT_TRUE(slot(0).add(0, 0, 0));
  slot(0).subtract(0, 0);
  EXPECT_FALSE(slot(0).owes());
}

TEST_F(AccountsTest, SizesThatWrapAreRefused) {
  EXPECT_TRUE(slot(0).add(0, 10, 100));
  EXPECT_FALSE(slot(0).add(0, ~std::uint64_t{0}, 100));
  EXPECT_FALSE(slot(0).add(0, ~std::uint64_t{0} - 5, 100));
  EXPECT_EQ(total(), 10U);
}

TEST_F(AccountsTest, ALimitThatWasLoweredRefusesAllAndAllowsFrees) {
  EXPECT_TRUE(slot(0).add(0, 80, 100));
  EXPECT_FALSE(slot(0).add(0, 1, 50));
  slot(0).subtract(0, 40);
  EXPECT_TRUE(slot(0).add(0, 10, 50));
}

TEST_F(AccountsTest, CardsAreApart) {
  EXPECT_TRUE(slot(0).add(0, 100, 100));
  EXPECT_TRUE(slot(0).add(1, 100, 100));
  EXPECT_EQ(total(0), 100U);
  EXPECT_EQ(total(1), 100U);
}

TEST_F(AccountsTest, RecoveryGivesBackWhatASlotHadAndNothingElse) {
  EXPECT_TRUE(slot(0).add(0, 30, 100));
  EXPECT_TRUE(slot(0).add(2, 5, 100));
  EXPECT_TRUE(slot(1).add(0, 50, 100));
  EXPECT_TRUE(slot(0).owes());
  slot(0).recover();
  EXPECT_FALSE(slot(0).owes());
  EXPECT_EQ(total(0), 50U);
  EXPECT_EQ(total(2), 0U);
  slot(0).recover();
  EXPECT_EQ(total(0), 50U);
}

TEST_F(AccountsTest, ADeadProcessWaitsForNoTurnAndItsTimeStays) {
  page_->slots[0].accounts[1].in_flight = 2;
  page_->slots[0].accounts[1].waiting = 1;
  page_->slots[0].accounts[1].busy_ns = 5;
  slot(0).recover();
  EXPECT_EQ(page_->slots[0].accounts[1].in_flight, 0U);
  EXPECT_EQ(page_->slots[0].accounts[1].waiting, 0U);
  EXPECT_EQ(page_->slots[0].accounts[1].busy_ns, 5U);
}

TEST_F(AccountsTest, GarbageThatAContainerWroteHarmsNobodyElse) {
  page_->totals[0].tag = ~std::uint64_t{0};
  page_->slots[3].accounts[0].intent_sequence = 77;
  EXPECT_TRUE(slot(0).add(0, 10, 100));
  slot(3).recover();
  EXPECT_EQ(total(), 10U);
}

TEST_F(AccountsTest, OverheadIsTakenOffTheLimit) {
  CardLimit limit{};
  Total used{};
  limit.memory_bytes = 100;
  limit.overhead_bytes = 30;
  used.bytes = 50;
  EXPECT_EQ(available_bytes(limit, used), 20U);
  limit.overhead_bytes = 60;
  EXPECT_EQ(available_bytes(limit, used), 0U);
  limit.overhead_bytes = 200;
  EXPECT_EQ(accountable_bytes(limit), 0U);
}

/// Adds and subtracts at random, and at the end what is left.
/// @returns whether the total never was above the limit
bool churn(SlotAccounts slot, const Total& total, std::uint64_t limit, testing::Random random) {
  bool within = true;
  std::vector<std::uint64_t> mine;
  for (int step = 0; step < 20'000; ++step) {
    const auto bytes = static_cast<std::uint64_t>(random.between(1, 400));
    if (slot.add(0, bytes, limit)) mine.push_back(bytes);
    within = within && total.bytes <= limit;
    if (!mine.empty() && random.chance(60)) {
      slot.subtract(0, mine.back());
      mine.pop_back();
    }
  }
  slot.subtract(0, std::accumulate(mine.begin(), mine.end(), std::uint64_t{0}));
  return within;
}

TEST_F(AccountsTest, ThreadsOfManySlotsNeverPassTheLimit) {
  constexpr std::uint64_t kLimit = 1000;
  constexpr int kThreads = 8;
  std::atomic<bool> above = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const auto number = static_cast<std::size_t>(i);
      if (!churn(slot(number), page_->totals[0], kLimit, testing::Random(number))) above = true;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(above);
  EXPECT_EQ(total(), 0U);
}

}  // namespace
}  // namespace tangram::shim
