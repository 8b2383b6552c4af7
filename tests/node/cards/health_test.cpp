#include "node/cards/health.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using namespace std::chrono_literals;
using Kind = Fault::Kind;

constexpr auto kUnhealthyTime = 10min;

TimePoint at(std::chrono::seconds since_start) { return TimePoint(since_start); }

constexpr std::uint64_t kIgnored = 13;
constexpr std::uint64_t kTransient = 94;
constexpr std::uint64_t kNeedingReset = 79;

const HealthRules kRules{.ignored_errors = {kIgnored}, .reset_errors = {kNeedingReset}};

Fault error(std::uint64_t code, std::string card = "a") {
  return {std::move(card), Kind::kDriverError, code};
}

/// Two healthy cards, listed at 0.
HealthTracker two_cards(const HealthRules& rules = kRules) {
  HealthTracker tracker(rules, {}, at(0s));
  tracker.on_listed({"a", "b"}, at(0s));
  return tracker;
}

model::Card published(std::string id, bool healthy, std::string_view reason) {
  model::Card card;
  card.id = std::move(id);
  card.healthy = healthy;
  card.unavailable_reason = reason;
  return card;
}

TEST(HealthTest, CardsAreHealthyOnceListed) {
  HealthTracker tracker({}, {}, at(0s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(0s)), kDriverNotAnswering);
  tracker.on_listed({"a"}, at(0s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(0s)), "");
  EXPECT_EQ(tracker.unhealthy_reason("z", at(0s)), kNotListed);
}

TEST(HealthTest, IgnoredErrorsLeaveACardHealthy) {
  HealthTracker tracker = two_cards();
  tracker.on_fault(error(kIgnored), at(1s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(1s)), "");
}

TEST(HealthTest, AFaultMakesItsCardUnhealthyForAWhile) {
  HealthTracker tracker = two_cards();
  tracker.on_fault(error(kTransient), at(5s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(5s)), kRecentFault);
  EXPECT_EQ(tracker.unhealthy_reason("b", at(5s)), "");
  EXPECT_EQ(tracker.unhealthy_reason("a", at(4s + kUnhealthyTime)), kRecentFault);
  EXPECT_EQ(tracker.unhealthy_reason("a", at(5s + kUnhealthyTime)), "");
}

TEST(HealthTest, EachFaultStartsTheTimeAnew) {
  HealthTracker tracker = two_cards();
  tracker.on_fault(error(kTransient), at(0s));
  tracker.on_fault(error(kTransient), at(9min));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(18min)), kRecentFault);
  EXPECT_EQ(tracker.unhealthy_reason("a", at(19min)), "");
}

TEST(HealthTest, AFaultWithoutACardIsOfAll) {
  HealthTracker tracker = two_cards();
  tracker.on_fault(error(kTransient, ""), at(0s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(1s)), kRecentFault);
  EXPECT_EQ(tracker.unhealthy_reason("b", at(1s)), kRecentFault);
}

TEST(HealthTest, TimeDoesNotReplaceAReset) {
  HealthTracker tracker = two_cards();
  tracker.on_fault(error(kNeedingReset), at(0s));
  tracker.on_fault({"b", Kind::kEcc, 0}, at(0s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(24h)), kNeedsReset);
  EXPECT_EQ(tracker.unhealthy_reason("b", at(24h)), kNeedsReset);
}

TEST(HealthTest, ACardThatWentAndCameBackWasReset) {
  HealthTracker tracker = two_cards();
  tracker.on_fault(error(kNeedingReset), at(0s));
  tracker.on_listed({"b"}, at(10s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(10s)), kNotListed);
  EXPECT_EQ(tracker.unhealthy_reason("b", at(10s)), "");
  tracker.on_listed({"a", "b"}, at(1h));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(1h)), kCameBack);
  EXPECT_EQ(tracker.unhealthy_reason("a", at(1h + kUnhealthyTime)), "");
}

TEST(HealthTest, ALostCardIsUnhealthyWhenItComesBack) {
  HealthTracker tracker = two_cards();
  tracker.on_listed({"b"}, at(0s));
  tracker.on_listed({"a", "b"}, at(1s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(1s)), kCameBack);
  EXPECT_EQ(tracker.unhealthy_reason("a", at(1s + kUnhealthyTime)), "");
}

TEST(HealthTest, ADriverThatRestartedDidReset) {
  HealthTracker tracker = two_cards();
  tracker.on_fault(error(kNeedingReset), at(0s));
  tracker.on_listed({"a", "b"}, at(30s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(1h)), kNeedsReset);
  tracker.on_no_answer();
  EXPECT_EQ(tracker.unhealthy_reason("a", at(1h)), kDriverNotAnswering);
  tracker.on_listed({"a", "b"}, at(2h));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(2h)), kCameBack);
  EXPECT_EQ(tracker.unhealthy_reason("a", at(2h + kUnhealthyTime)), "");
}

TEST(HealthTest, ADriverThatDoesNotAnswerIsNoFaultOfTheCards) {
  HealthTracker tracker = two_cards();
  tracker.on_no_answer();
  EXPECT_EQ(tracker.unhealthy_reason("a", at(1s)), kDriverNotAnswering);
  tracker.on_listed({"a", "b"}, at(2s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(2s)), "");
}

TEST(HealthTest, UnhealthyCardsStaySoOverARestartForAWhile) {
  HealthTracker tracker(
      {},
      {published("reset", false, kNeedsReset), published("fault", false, kRecentFault),
       published("lost", false, kNotListed), published("healthy", true, ""),
       published("unanswered", false, kDriverNotAnswering),
       published("cordoned", true, "withheld by an operator"),
       published("older", false, "the card reported a fault that only a reset mends; see its XID")},
      at(0s));
  EXPECT_EQ(tracker.unhealthy_reason("healthy", at(0s)), kDriverNotAnswering);
  tracker.on_listed({"reset", "fault", "lost", "healthy", "unanswered", "cordoned", "older"},
                    at(1s));
  for (const char* card : {"reset", "fault", "lost", "older"}) {
    EXPECT_EQ(tracker.unhealthy_reason(card, at(1s)), kRecentFault) << card;
    EXPECT_EQ(tracker.unhealthy_reason(card, at(kUnhealthyTime)), "") << card;
  }
  for (const char* card : {"healthy", "unanswered", "cordoned"}) {
    EXPECT_EQ(tracker.unhealthy_reason(card, at(1s)), "") << card;
  }
}

TEST(HealthTest, TheRulesCanBeOthers) {
  HealthRules rules;
  rules.ignored_errors = {94};
  rules.reset_errors = {63};
  rules.unhealthy_time = 1min;
  HealthTracker tracker = two_cards(rules);
  tracker.on_fault(error(94), at(0s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(0s)), "");
  tracker.on_fault(error(13), at(0s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(59s)), kRecentFault);
  EXPECT_EQ(tracker.unhealthy_reason("a", at(60s)), "");
  tracker.on_fault(error(63), at(60s));
  EXPECT_EQ(tracker.unhealthy_reason("a", at(1h)), kNeedsReset);
}

}  // namespace
}  // namespace tangram::node
