#include "node/cards/health.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using namespace std::chrono_literals;
using Kind = Fault::Kind;

constexpr auto kHold = 10min;

TimePoint at(std::chrono::seconds since_start) { return TimePoint(since_start); }

Fault xid(std::uint64_t code, std::string card = "a") {
  return {std::move(card), Kind::kXid, code};
}

/// Two cards, well, listed at 0.
HealthTracker two_cards(const HealthRules& rules = {}) {
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

TEST(HealthTest, CardsAreWellOnceListed) {
  HealthTracker tracker({}, {}, at(0s));
  EXPECT_EQ(tracker.trouble("a", at(0s)), kDriverSilent);
  tracker.on_listed({"a"}, at(0s));
  EXPECT_EQ(tracker.trouble("a", at(0s)), "");
  EXPECT_EQ(tracker.trouble("z", at(0s)), kNotListed);
}

TEST(HealthTest, WhatApplicationsDoIsIgnored) {
  HealthTracker tracker = two_cards();
  for (const std::uint64_t code : {13U, 31U, 43U, 45U, 68U, 109U})
    tracker.on_fault(xid(code), at(1s));
  EXPECT_EQ(tracker.trouble("a", at(1s)), "");
}

TEST(HealthTest, AFaultHoldsItsCardForAWhile) {
  HealthTracker tracker = two_cards();
  tracker.on_fault(xid(94), at(5s));
  EXPECT_EQ(tracker.trouble("a", at(5s)), kRecentFault);
  EXPECT_EQ(tracker.trouble("b", at(5s)), "");
  EXPECT_EQ(tracker.trouble("a", at(4s + kHold)), kRecentFault);
  EXPECT_EQ(tracker.trouble("a", at(5s + kHold)), "");
}

TEST(HealthTest, EachFaultStartsTheHoldAnew) {
  HealthTracker tracker = two_cards();
  tracker.on_fault(xid(94), at(0s));
  tracker.on_fault(xid(94), at(9min));
  EXPECT_EQ(tracker.trouble("a", at(18min)), kRecentFault);
  EXPECT_EQ(tracker.trouble("a", at(19min)), "");
}

TEST(HealthTest, AFaultWithoutACardIsOfAll) {
  HealthTracker tracker = two_cards();
  tracker.on_fault(xid(94, ""), at(0s));
  EXPECT_EQ(tracker.trouble("a", at(1s)), kRecentFault);
  EXPECT_EQ(tracker.trouble("b", at(1s)), kRecentFault);
}

TEST(HealthTest, TimeDoesNotReplaceAReset) {
  for (const std::uint64_t code : {46U, 48U, 62U, 64U, 74U, 79U, 95U, 119U, 120U, 140U, 143U}) {
    HealthTracker tracker = two_cards();
    tracker.on_fault(xid(code), at(0s));
    EXPECT_EQ(tracker.trouble("a", at(24h)), kNeedsReset) << code;
  }
  HealthTracker tracker = two_cards();
  tracker.on_fault({"a", Kind::kEcc, 0}, at(0s));
  EXPECT_EQ(tracker.trouble("a", at(24h)), kNeedsReset);
}

TEST(HealthTest, ACardThatWentAndCameBackWasReset) {
  HealthTracker tracker = two_cards();
  tracker.on_fault(xid(79), at(0s));
  tracker.on_listed({"b"}, at(10s));
  EXPECT_EQ(tracker.trouble("a", at(10s)), kNotListed);
  EXPECT_EQ(tracker.trouble("b", at(10s)), "");
  tracker.on_listed({"a", "b"}, at(1h));
  EXPECT_EQ(tracker.trouble("a", at(1h)), kCameBack);
  EXPECT_EQ(tracker.trouble("a", at(1h + kHold)), "");
}

TEST(HealthTest, ALostCardIsHeldWhenItComesBack) {
  HealthTracker tracker = two_cards();
  tracker.on_listed({"b"}, at(0s));
  tracker.on_listed({"a", "b"}, at(1s));
  EXPECT_EQ(tracker.trouble("a", at(1s)), kCameBack);
  EXPECT_EQ(tracker.trouble("a", at(1s + kHold)), "");
}

TEST(HealthTest, ADriverThatRestartedDidReset) {
  HealthTracker tracker = two_cards();
  tracker.on_fault(xid(119), at(0s));
  tracker.on_listed({"a", "b"}, at(30s));
  EXPECT_EQ(tracker.trouble("a", at(1h)), kNeedsReset);
  tracker.on_silence();
  EXPECT_EQ(tracker.trouble("a", at(1h)), kDriverSilent);
  tracker.on_listed({"a", "b"}, at(2h));
  EXPECT_EQ(tracker.trouble("a", at(2h)), kCameBack);
  EXPECT_EQ(tracker.trouble("a", at(2h + kHold)), "");
}

TEST(HealthTest, ASilentDriverIsNoFaultOfTheCards) {
  HealthTracker tracker = two_cards();
  tracker.on_silence();
  EXPECT_EQ(tracker.trouble("a", at(1s)), kDriverSilent);
  tracker.on_listed({"a", "b"}, at(2s));
  EXPECT_EQ(tracker.trouble("a", at(2s)), "");
}

TEST(HealthTest, SickCardsStaySoOverARestartForAWhile) {
  HealthTracker tracker(
      {},
      {published("reset", false, kNeedsReset), published("fault", false, kRecentFault),
       published("lost", false, kNotListed), published("well", true, ""),
       published("silent", false, kDriverSilent),
       published("cordoned", true, "withheld by an operator")},
      at(0s));
  EXPECT_EQ(tracker.trouble("well", at(0s)), kDriverSilent);
  tracker.on_listed({"reset", "fault", "lost", "well", "silent", "cordoned"}, at(1s));
  for (const char* card : {"reset", "fault", "lost"}) {
    EXPECT_EQ(tracker.trouble(card, at(1s)), kRecentFault) << card;
    EXPECT_EQ(tracker.trouble(card, at(kHold)), "") << card;
  }
  for (const char* card : {"well", "silent", "cordoned"}) {
    EXPECT_EQ(tracker.trouble(card, at(1s)), "") << card;
  }
}

TEST(HealthTest, TheRulesCanBeOthers) {
  HealthRules rules;
  rules.ignored_xids = {94};
  rules.reset_xids = {63};
  rules.hold = 1min;
  HealthTracker tracker = two_cards(rules);
  tracker.on_fault(xid(94), at(0s));
  EXPECT_EQ(tracker.trouble("a", at(0s)), "");
  tracker.on_fault(xid(13), at(0s));
  EXPECT_EQ(tracker.trouble("a", at(59s)), kRecentFault);
  EXPECT_EQ(tracker.trouble("a", at(60s)), "");
  tracker.on_fault(xid(63), at(60s));
  EXPECT_EQ(tracker.trouble("a", at(1h)), kNeedsReset);
}

}  // namespace
}  // namespace tangram::node
