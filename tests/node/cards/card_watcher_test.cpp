#include "node/cards/card_watcher.hpp"

#include "tests/node/cards/scripted_source.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace tangram::node {
namespace {

using namespace std::chrono_literals;
using Kind = Fault::Kind;
using Cards = std::vector<std::pair<std::string, std::string>>;  // id, reason

class CardWatcherTest : public ::testing::Test {
 protected:
  CardWatcher& start(std::vector<model::Card> previous = {}) {
    CardWatcherOptions options;
    options.health = {.ignored_errors = {31}, .reset_errors = {79}};
    options.previous = std::move(previous);
    options.memory_limits = memory_limits_;
    watcher_ = std::make_unique<CardWatcher>(
        source_, std::move(options), clock_, [this] { ++changes_; },
        [this](std::chrono::milliseconds wait, const std::stop_token&) {
          clock_.advance(wait);
          ++sleeps_;
        });
    return *watcher_;
  }
  void step() { watcher_->step({}); }
  [[nodiscard]] Cards cards() const {
    Cards list;
    for (const InstalledCard& card : watcher_->now()->inventory.cards) {
      EXPECT_EQ(card.card.healthy, card.card.unavailable_reason.empty());
      list.emplace_back(card.card.id, card.card.unavailable_reason);
    }
    return list;
  }

  [[nodiscard]] model::MemoryLimits limits() const {
    return watcher_->now()->inventory.cards.at(0).card.memory_limits;
  }

  std::optional<model::MemoryLimits> memory_limits_;
  ScriptedSource source_;
  testing::ManualClock clock_;
  std::unique_ptr<CardWatcher> watcher_;
  int changes_ = 0;
  int sleeps_ = 0;
};

const std::string kHealthy;
const std::string kLost(kNotListed);
const std::string kNoAnswer(kDriverNotAnswering);
const std::string kFaulty(kRecentFault);
const std::string kBroken(kNeedsReset);
const std::string kBack(kCameBack);

TEST_F(CardWatcherTest, KnowsNothingBeforeTheFirstAnswer) {
  const CardWatcher& watcher = start();
  ASSERT_NE(watcher.now(), nullptr);
  EXPECT_FALSE(watcher.now()->answers);
  EXPECT_TRUE(cards().empty());
}

TEST_F(CardWatcherTest, ChoosesTheStrongestMeansOfMemoryLimitsThatIsOffered) {
  using model::MemoryLimits;
  source_.list({"a"});
  start();
  step();
  EXPECT_EQ(limits(), MemoryLimits::kNone);
  source_.offer_means({MemoryLimits::kMps, MemoryLimits::kLibrary});
  clock_.advance(1h);
  step();
  EXPECT_EQ(limits(), MemoryLimits::kLibrary);
  EXPECT_EQ(changes_, 2) << "it is published";
}

TEST_F(CardWatcherTest, ChoosesNoStrongerMeansThanItsSetting) {
  using model::MemoryLimits;
  memory_limits_ = MemoryLimits::kMps;
  source_.list({"a"});
  source_.offer_means({MemoryLimits::kMps, MemoryLimits::kDriver});
  start();
  step();
  EXPECT_EQ(limits(), MemoryLimits::kMps);
}

TEST_F(CardWatcherTest, APreviousCardHasNoStrongerMeansThanTheSetting) {
  model::Card before;
  before.id = "a";
  before.memory = Mebibytes(1000);
  before.memory_limits = model::MemoryLimits::kMps;
  memory_limits_ = model::MemoryLimits::kNone;
  start({before});
  EXPECT_EQ(limits(), model::MemoryLimits::kNone);
  memory_limits_.reset();
  start({before});
  EXPECT_EQ(limits(), model::MemoryLimits::kMps);
}

TEST_F(CardWatcherTest, ReportsTheFirstAnswerAndEachChange) {
  source_.list({"a"});
  start();
  step();
  EXPECT_TRUE(watcher_->now()->answers);
  EXPECT_EQ(cards(), (Cards{{"a", kHealthy}}));
  EXPECT_EQ(changes_, 1);
  clock_.advance(1h);
  step();
  EXPECT_EQ(changes_, 1);
  source_.list({"a", "b"});
  clock_.advance(1h);
  step();
  EXPECT_EQ(cards(), (Cards{{"a", kHealthy}, {"b", kHealthy}}));
  EXPECT_EQ(changes_, 2);
}

TEST_F(CardWatcherTest, ANodeWithoutCardsIsAnAnswerToo) {
  start();
  step();
  EXPECT_TRUE(watcher_->now()->answers);
  EXPECT_EQ(changes_, 1);
}

TEST_F(CardWatcherTest, PollsEveryHalfMinute) {
  source_.list({"a"});
  start();
  step();
  clock_.advance(29s);
  step();
  EXPECT_EQ(source_.asked(), 1);
  EXPECT_EQ(source_.last_limit(), 1s);  // until the next poll
  clock_.advance(1s);
  step();
  EXPECT_EQ(source_.asked(), 2);
  EXPECT_EQ(source_.last_limit(), 5s);
}

TEST_F(CardWatcherTest, AFaultShowsAtOnceAndIsFollowedByAPoll) {
  source_.list({"a", "b"});
  start();
  step();
  source_.add_fault({"a", Kind::kDriverError, 79});
  clock_.advance(2s);
  step();
  EXPECT_EQ(cards(), (Cards{{"a", kBroken}, {"b", kHealthy}}));
  EXPECT_EQ(changes_, 2);
  source_.list({"b"});
  step();
  EXPECT_EQ(source_.asked(), 2);
  EXPECT_EQ(cards(), (Cards{{"b", kHealthy}, {"a", kLost}}));
}

TEST_F(CardWatcherTest, ManyFaultsDoNotCauseManyPolls) {
  source_.list({"a"});
  start();
  for (int i = 0; i < 100; ++i) {
    source_.add_fault({"a", Kind::kDriverError, 31});
    step();
  }
  EXPECT_EQ(source_.asked(), 1);
  clock_.advance(1s);
  step();
  EXPECT_EQ(source_.asked(), 2);
  EXPECT_EQ(cards(), (Cards{{"a", kHealthy}}));
}

TEST_F(CardWatcherTest, CountsErrorsByCardAndNumber) {
  source_.list({"a", "b"});
  start();
  step();
  for (const std::uint64_t code : {31U, 31U, 79U})
    source_.add_fault({"a", Kind::kDriverError, code});
  source_.add_fault({"b", Kind::kEcc, 0});
  source_.add_fault({"", Kind::kDriverError, 154});
  step();
  EXPECT_EQ(watcher_->error_counts(),
            (CardWatcher::ErrorCounts{{{"a", 31}, 2}, {{"a", 79}, 1}, {{"", 154}, 1}}));
}

TEST_F(CardWatcherTest, ACardBecomesHealthyWithoutAnAnswerOfTheSource) {
  source_.list({"a"});
  start();
  source_.add_fault({"a", Kind::kDriverError, 94});
  step();
  EXPECT_EQ(cards(), (Cards{{"a", kFaulty}}));
  clock_.advance(10min);
  step();
  EXPECT_EQ(cards(), (Cards{{"a", kHealthy}}));
}

TEST_F(CardWatcherTest, KeepsTheCardsOfADriverThatDoesNotAnswer) {
  source_.list({"a"});
  start();
  step();
  source_.be_silent(true);
  clock_.advance(30s);
  step();
  EXPECT_FALSE(watcher_->now()->answers);
  EXPECT_EQ(cards(), (Cards{{"a", kNoAnswer}}));
  EXPECT_EQ(sleeps_, 1);  // instead of asking again and again
  source_.be_silent(false);
  step();
  EXPECT_TRUE(watcher_->now()->answers);
  EXPECT_EQ(cards(), (Cards{{"a", kHealthy}}));
}

TEST_F(CardWatcherTest, ALostCardStaysWhileItIsGranted) {
  source_.list({"a", "b"});
  start();
  step();
  source_.list({"b"});
  clock_.advance(30s);
  step();
  watcher_->forget_lost({"a"});
  step();
  EXPECT_EQ(cards(), (Cards{{"b", kHealthy}, {"a", kLost}}));
  watcher_->forget_lost({});
  step();
  EXPECT_EQ(cards(), (Cards{{"b", kHealthy}}));
  source_.list({"a", "b"});
  clock_.advance(30s);
  step();
  EXPECT_EQ(cards(), (Cards{{"a", std::string(kCameBack)}, {"b", kHealthy}}))
      << "a card that flaps is unhealthy";
}

TEST_F(CardWatcherTest, AListedCardIsNeverForgotten) {
  source_.list({"a"});
  start();
  source_.add_fault({"a", Kind::kDriverError, 79});
  step();
  watcher_->forget_lost({});
  step();
  EXPECT_EQ(cards(), (Cards{{"a", kBroken}}));
}

TEST_F(CardWatcherTest, ALostCardThatComesBackIsUnhealthy) {
  source_.list({"a"});
  start();
  step();
  source_.list({});
  clock_.advance(30s);
  step();
  source_.list({"a"});
  clock_.advance(30s);
  step();
  EXPECT_EQ(cards(), (Cards{{"a", kBack}}));
}

model::Card published(std::string id, std::string_view reason) {
  model::Card card;
  card.id = std::move(id);
  card.healthy = reason.empty();
  card.unavailable_reason = reason;
  return card;
}

TEST_F(CardWatcherTest, RemembersWhatWasPublishedBefore) {
  source_.be_silent(true);
  start({published("a", ""), published("b", kNeedsReset)});
  EXPECT_EQ(cards(), (Cards{{"a", kNoAnswer}, {"b", kNoAnswer}}));
  step();
  EXPECT_EQ(cards(), (Cards{{"a", kNoAnswer}, {"b", kNoAnswer}}));
  source_.be_silent(false);
  source_.list({"b"});
  step();
  EXPECT_EQ(cards(), (Cards{{"b", kFaulty}, {"a", kLost}}));
}

TEST_F(CardWatcherTest, TheSourcesOwnReasonStays) {
  class UnhealthySource final : public CardSource {
   public:
    Result<Inventory> inventory() override {
      InstalledCard card;
      card.card.id = "a";
      card.card.healthy = false;
      card.card.unavailable_reason = "smells burnt";
      Inventory found;
      found.cards.push_back(card);
      return found;
    }
    Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds) override {
      return std::vector<Fault>{};
    }
    Result<CardActivity> activity(std::string_view) override { return CardActivity{}; }
    Result<void> set_exclusive_process(std::string_view, bool) override { return {}; }
  } source;
  CardWatcher watcher(source, {}, clock_, {});
  watcher.step({});
  EXPECT_EQ(watcher.now()->inventory.cards.at(0).card.unavailable_reason, "smells burnt");
}

TEST_F(CardWatcherTest, RunsUntilStoppedWhileOthersRead) {
  source_.list({"a"});
  std::atomic<int> changes{0};
  CardWatcher watcher(source_, {}, clock_, [&] { ++changes; });
  std::jthread runner([&](const std::stop_token& stop) { watcher.run(stop); });
  ASSERT_TRUE(testing::eventually([&] { return watcher.now()->answers; }));
  source_.add_fault({"a", Kind::kDriverError, 94});
  EXPECT_TRUE(
      testing::eventually([&] { return !watcher.now()->inventory.cards.at(0).card.healthy; }));
  watcher.forget_lost({});
  EXPECT_EQ(watcher.error_counts().size(), 1U);
  // A change is reported after readers can see it.
  runner.request_stop();
  runner.join();
  EXPECT_EQ(changes, 2);
}

}  // namespace
}  // namespace tangram::node
