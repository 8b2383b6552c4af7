#include "model/card.hpp"

#include "tests/testing/builders.hpp"

#include <gtest/gtest.h>

namespace tangram::model {
namespace {

TEST(CardTest, IsolationNamesReadBackAsThemselves) {
  for (const Isolation mode : kAllIsolationModes) {
    EXPECT_EQ(parse_isolation(to_string(mode)), mode);
  }
  EXPECT_EQ(to_string(Isolation::kTimeSlice), "time-slice");
}

TEST(CardTest, KindNamesReadBackAsThemselves) {
  for (const CardKind kind : {CardKind::kPhysical, CardKind::kMig}) {
    EXPECT_EQ(parse_card_kind(to_string(kind)), kind);
  }
}

TEST(CardTest, OtherSpellingsAreNoNames) {
  for (const std::string_view text : {"", "MPS", "mps ", "timeslice", "time_slice", "all"}) {
    EXPECT_EQ(parse_isolation(text), std::nullopt) << text;
  }
  for (const std::string_view text : {"", "MIG", "gpu", "physical "}) {
    EXPECT_EQ(parse_card_kind(text), std::nullopt) << text;
  }
}

TEST(CardTest, IsolationSetHoldsWhatWasAdded) {
  IsolationSet modes;
  for (const Isolation mode : kAllIsolationModes) EXPECT_FALSE(modes.has(mode));
  modes.add(Isolation::kTimeSlice);
  modes.add(Isolation::kTimeSlice);
  EXPECT_TRUE(modes.has(Isolation::kTimeSlice));
  EXPECT_FALSE(modes.has(Isolation::kMps));
  EXPECT_EQ(modes, IsolationSet{Isolation::kTimeSlice});
  EXPECT_NE(modes, IsolationSet{});
}

TEST(CardTest, OnlyHealthyCardsThatNobodyWithholdsAreAvailable) {
  Card card = testing::card("GPU-1");
  EXPECT_TRUE(card.available());
  card.cordoned = true;
  EXPECT_FALSE(card.available());
  card.cordoned = false;
  card.healthy = false;
  EXPECT_FALSE(card.available());
}

}  // namespace
}  // namespace tangram::model
