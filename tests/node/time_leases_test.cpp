#include "node/time_leases.hpp"

#include "node/vendor/nvidia/stand_in/share_pages.hpp"
#include "shim/page_files.hpp"
#include "tests/node/container/start_fakes.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <thread>

namespace tangram::node {
namespace {

using model::Isolation;
using model::MemoryLimits;
using testing::eventually;

const std::string kCard = "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0";
const std::string kOther = "GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1";

model::GrantedCard time_part(const std::string& card, std::int64_t milli, std::int64_t limit) {
  return {card, Mebibytes(100), MilliGpu(milli), Mebibytes(100), MilliGpu(limit)};
}

/// The containers of a node, as the agent knows them.
class TimeLeasesTest : public ::testing::Test {
 protected:
  /// A container that was started with the library on these cards.
  CardClaim& start(const std::string& name, const std::vector<model::GrantedCard>& cards) {
    CardClaim claim;
    claim.pod_uid = name;
    claim.isolation = Isolation::kTimeSlice;
    claim.admitted = true;
    claim.container = {"main", cards};
    claim.allocations = {name + ".1"};
    for (const auto& part : cards) started_[{name, "main", part.uuid}] = MemoryLimits::kLibrary;
    EXPECT_TRUE(pages_->put(name + ".1", cards));
    claims_.push_back(claim);
    return claims_.back();
  }

  LeasedTime leased() {
    return leased_time(claims_, started_, [this](auto name) { return pages_->find(name); });
  }
  /// Of the containers on a card, "NAME SHARE LIMIT".
  static std::vector<std::string> on(const LeasedTime& leased, const std::string& card) {
    std::vector<std::string> texts;
    const auto found = leased.cards.find(card);
    if (found == leased.cards.end()) return texts;
    for (const auto& each : found->second) {
      texts.push_back(each.name + " " + std::to_string(each.time.share.count()) + " " +
                      std::to_string(each.time.limit.count()));
    }
    return texts;
  }
  TimeLeases::Parts parts(std::function<void(const LeasedCards&)> lease) {
    return {.claims =
                [this] {
                  const std::lock_guard lock(mutex_);
                  return claims_;
                },
            .started = [this] { return started_; },
            .pages_of = [this](auto name) { return pages_->find(name); },
            .lease = std::move(lease)};
  }

  using List = std::vector<std::string>;
  testing::TempFolder folder_;
  std::optional<nvidia::SharePages> pages_{std::in_place, folder_.path() + "/shares"};
  std::mutex mutex_;
  std::vector<CardClaim> claims_;  ///< under mutex_ while another thread runs
  StartedMeans started_;
  SystemClock clock_;
};

TEST_F(TimeLeasesTest, AContainerHasItsShareAndItsLimit) {
  start("a", {time_part(kCard, 300, 300)});
  start("b", {time_part(kCard, 500, 1000)});
  start("best-effort", {time_part(kCard, 0, 1000)});
  EXPECT_EQ(on(leased(), kCard), (List{"a.1 300 300", "b.1 500 1000", "best-effort.1 0 1000"}));
  EXPECT_EQ(leased().containers.size(), 3U);
}

TEST_F(TimeLeasesTest, ALimitOfNothingIsNone) {
  start("a", {time_part(kCard, 0, 0)});
  EXPECT_EQ(on(leased(), kCard), List{"a.1 0 1000"});
}

TEST_F(TimeLeasesTest, OnlyContainersThatShareByTimeAreLeased) {
  start("a", {time_part(kCard, 300, 300)});
  start("whole", {time_part(kOther, 1000, 1000)}).whole = true;
  start("mps", {time_part(kOther, 300, 300)}).isolation = Isolation::kMps;
  start("none", {time_part(kOther, 300, 300)}).isolation = Isolation::kNone;
  start("waiting", {time_part(kOther, 300, 300)}).admitted = false;
  const LeasedTime now = leased();
  EXPECT_EQ(now.cards.size(), 1U);
  EXPECT_EQ(on(now, kCard), List{"a.1 300 300"});
}

TEST_F(TimeLeasesTest, AContainerWithoutTheLibraryIsLeftOutAndTheOthersOfItsCardAreNot) {
  start("with", {time_part(kCard, 300, 300)});
  start("without", {time_part(kCard, 300, 300)});
  start("driver", {time_part(kCard, 300, 300)});
  started_[{"without", "main", kCard}] = MemoryLimits::kNone;
  started_[{"driver", "main", kCard}] = MemoryLimits::kDriver;
  start("earlier", {time_part(kCard, 100, 100)});
  started_.erase({"earlier", "main", kCard});
  EXPECT_EQ(on(leased(), kCard), List{"with.1 300 300"});
  EXPECT_EQ(leased().containers, (std::set<ContainerOnCard>{{"with", "main", kCard}}));
}

TEST_F(TimeLeasesTest, OfSeveralCardsEachHasItsPlaceInThePages) {
  start("a", {time_part(kOther, 300, 300), time_part(kCard, 200, 200)});
  const LeasedTime now = leased();
  EXPECT_EQ(now.cards.at(kOther).at(0).place, 0U);
  EXPECT_EQ(now.cards.at(kCard).at(0).place, 1U);
}

TEST_F(TimeLeasesTest, AnAllocationWithoutPagesIsLeftOut) {
  start("a", {time_part(kCard, 300, 300)}).allocations = {"a.0", "a.1"};
  EXPECT_EQ(on(leased(), kCard), List{"a.1 300 300"}) << "a.0 was never prepared";
}

TEST_F(TimeLeasesTest, ToldIsOnlyWhatHasChanged) {
  std::vector<std::size_t> told;  // containers
  TimeLeases leases(parts([&](const LeasedCards& cards) {
    told.push_back(cards.empty() ? 0 : cards.begin()->second.size());
  }));
  leases.update();
  EXPECT_TRUE(told.empty());
  start("a", {time_part(kCard, 300, 300)});
  start("b", {time_part(kCard, 300, 300)});
  leases.update();
  leases.update();
  EXPECT_EQ(told, (std::vector<std::size_t>{2}));
  EXPECT_EQ(leases.leased().size(), 2U);
  claims_.pop_back();
  leases.update();
  EXPECT_EQ(told, (std::vector<std::size_t>{2, 1}));
  claims_.back().container.cards.front().compute_limit = MilliGpu(500);
  leases.update();
  EXPECT_EQ(told, (std::vector<std::size_t>{2, 1, 1})) << "its grant was changed";
  // The container has spoiled its pages and starts again.
  std::filesystem::resize_file(folder_.path() + "/shares/a.1/usage", 0);
  ASSERT_TRUE(pages_->put("a.1", claims_.back().container.cards));
  leases.update();
  EXPECT_EQ(told, (std::vector<std::size_t>{2, 1, 1, 1})) << "they are others";
}

/// With real leases, over the life of two agents.
TEST_F(TimeLeasesTest, TurnsFollowTheContainersAndTheAgent) {
  start("a", {time_part(kCard, 300, 300)});
  const auto a = shim::map_limits((folder_.path() + "/shares/a.1/limits").c_str());
  const auto run_agent = [this](const std::function<void(TimeLeases&)>& check) {
    lease::CardLeases cards(clock_);
    TimeLeases leases(parts([&](const LeasedCards& now) { cards.set(now); }));
    std::jthread thread([&](const std::stop_token& stop) { leases.run(stop); });
    check(leases);
  };
  run_agent([&](TimeLeases& leases) {
    EXPECT_TRUE(eventually([&] { return a->leases == 1; }));
    {
      const std::lock_guard lock(mutex_);
      claims_.clear();
    }
    leases.changed();
    EXPECT_TRUE(eventually([&] { return a->leases == 0 && a->cards[0].turn == shim::kTurnFree; }))
        << "the container has ended";
    start("a", {time_part(kCard, 300, 300)});
    leases.changed();
    EXPECT_TRUE(eventually([&] { return a->leases == 1; }));
  });
  EXPECT_EQ(a->leases, 0U) << "the agent has ended";
  pages_.emplace(folder_.path() + "/shares");
  run_agent([&](TimeLeases&) { EXPECT_TRUE(eventually([&] { return a->leases == 1; })); });
  shim::unmap_limits(a);
}

}  // namespace
}  // namespace tangram::node
