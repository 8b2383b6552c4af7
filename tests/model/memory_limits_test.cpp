#include "model/memory_limits.hpp"

#include "model/cards.hpp"
#include "model/fit.hpp"
#include "model/grant.hpp"
#include "model/placement.hpp"
#include "tests/testing/builders.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>

namespace tangram::model {
namespace {

using Means = MemoryLimits;

TEST(MemoryLimitsTest, AreOrderedFromTheWeakestToTheStrongest) {
  EXPECT_LT(Means::kNone, Means::kMps);
  EXPECT_LT(Means::kMps, Means::kLibrary);
  EXPECT_LT(Means::kLibrary, Means::kDriver);
}

TEST(MemoryLimitsTest, ReadBackTheirNames) {
  for (const Means means : kAllMemoryLimits) {
    EXPECT_EQ(parse_memory_limits(to_string(means)), means);
  }
  EXPECT_EQ(parse_memory_limits("MPS"), std::nullopt);
  EXPECT_EQ(parse_memory_limits(""), std::nullopt);
}

TEST(MemoryLimitsTest, NoneCannotBeRequired) {
  EXPECT_EQ(parse_required_memory_limits("none"), std::nullopt);
  EXPECT_EQ(parse_required_memory_limits("vgpu"), std::nullopt);
  EXPECT_EQ(parse_required_memory_limits("library"), Means::kLibrary);
  EXPECT_EQ(not_memory_limits("none"),
            "\"none\" is no means of memory limits; write mps, library or driver");
}

// ---- the rule: which means applies to a share of a card

struct Rule {
  Means of_card;
  Isolation mode;
  Means expected;
};
void PrintTo(const Rule& rule, std::ostream* out) {
  *out << to_string(rule.of_card) << " in mode " << to_string(rule.mode);
}

class InModeTest : public ::testing::TestWithParam<Rule> {};

TEST_P(InModeTest, SaysWhatAppliesToAShare) {
  EXPECT_EQ(in_mode(GetParam().of_card, GetParam().mode), GetParam().expected);
}

TEST_P(InModeTest, TheGrantOfAShareRecordsIt) {
  Card card = testing::card("a");
  card.memory_limits = GetParam().of_card;
  const NodeState node = testing::node(testing::inventory("n", {card}));
  GpuRequest request = testing::request(testing::fraction(500));
  request.isolation = GetParam().mode;
  EXPECT_EQ(grants_of(request, node, {0})[0].cards[0].memory_limits, GetParam().expected);
}

/// A container that has the card to itself needs no means, whatever the pod requires.
TEST_P(InModeTest, AWholeCardFitsAndRecordsNone) {
  Card card = testing::card("a");
  card.memory_limits = GetParam().of_card;
  const NodeState node = testing::node(testing::inventory("n", {card}));
  for (const Share& share : {testing::whole(), testing::fraction(1000)}) {
    GpuRequest request = testing::request(share);
    request.isolation = GetParam().mode;
    request.memory_limits = Means::kDriver;
    EXPECT_EQ(card_misfit(request, slice_of(share, card), card, {}), std::nullopt);
    EXPECT_EQ(grants_of(request, node, {0})[0].cards[0].memory_limits, Means::kNone);
  }
}

TEST_P(InModeTest, AShareFitsIfWhatAppliesIsAsStrongAsRequired) {
  Card card = testing::card("a");
  card.memory_limits = GetParam().of_card;
  const Share share = testing::fraction(500);
  GpuRequest request = testing::request(share);
  request.isolation = GetParam().mode;
  for (const Means required : kAllMemoryLimits) {
    request.memory_limits = required;
    const auto misfit = card_misfit(request, slice_of(share, card), card, {});
    const auto expected =
        required <= GetParam().expected ? std::nullopt : std::optional(Misfit::kMemoryLimits);
    EXPECT_EQ(misfit, expected) << "required: " << to_string(required);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, InModeTest,
    ::testing::Values(Rule{Means::kNone, Isolation::kMps, Means::kNone},
                      Rule{Means::kNone, Isolation::kTimeSlice, Means::kNone},
                      Rule{Means::kNone, Isolation::kNone, Means::kNone},
                      Rule{Means::kMps, Isolation::kMps, Means::kMps},
                      Rule{Means::kMps, Isolation::kTimeSlice, Means::kNone},
                      Rule{Means::kMps, Isolation::kNone, Means::kNone},
                      Rule{Means::kLibrary, Isolation::kMps, Means::kLibrary},
                      Rule{Means::kLibrary, Isolation::kTimeSlice, Means::kLibrary},
                      Rule{Means::kLibrary, Isolation::kNone, Means::kLibrary},
                      Rule{Means::kDriver, Isolation::kMps, Means::kDriver},
                      Rule{Means::kDriver, Isolation::kTimeSlice, Means::kDriver},
                      Rule{Means::kDriver, Isolation::kNone, Means::kDriver}));

TEST(MemoryLimitsTest, CardsThatDifferInThemAreNotOfOneMake) {
  Card mps = testing::card("a");
  mps.memory_limits = Means::kMps;
  Card library = testing::card("b");
  library.memory_limits = Means::kLibrary;
  EXPECT_FALSE(same_make(mps, library));
  const NodeState node = testing::node(testing::inventory("n", {mps, library}));
  EXPECT_FALSE(node.traits()[1].as_before);
  GpuRequest request = testing::request(testing::fraction(500));
  request.memory_limits = Means::kLibrary;
  const auto placement =
      place(request, node, [](const Slice&, std::uint32_t, const CardUse&) { return 0; });
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->front(), 1U);
}

TEST(MemoryLimitsTest, EvictionDoesNotHelpWhereTheyAreTooWeak) {
  EXPECT_FALSE(resolvable(Misfit::kMemoryLimits));
}

// ---- the cards annotation

struct CardsCase {
  std::string name;
  std::string members;
  Means expected;
};
void PrintTo(const CardsCase& row, std::ostream* out) { *out << row.name; }

class CardsMemoryLimitsTest : public ::testing::TestWithParam<CardsCase> {};

TEST_P(CardsMemoryLimitsTest, AreTheMeansOfTheCard) {
  const auto read = decode_cards(R"({"version":1,"cards":[{"id":"C","model":"T4","memMiB":1)" +
                                 GetParam().members + "}]}");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->front().memory_limits, GetParam().expected);
  EXPECT_EQ(*decode_cards(encode_cards(*read)), *read);
}

INSTANTIATE_TEST_SUITE_P(
    All, CardsMemoryLimitsTest,
    ::testing::Values(CardsCase{"None", R"(,"memoryLimits":"none")", Means::kNone},
                      CardsCase{"Mps", R"(,"memoryLimits":"mps")", Means::kMps},
                      CardsCase{"Library", R"(,"memoryLimits":"library")", Means::kLibrary},
                      CardsCase{"Driver", R"(,"memoryLimits":"driver")", Means::kDriver},
                      // An older agent limits memory by MPS wherever it offers that mode.
                      CardsCase{"AbsentWithMps", "", Means::kMps},
                      CardsCase{"NullIsAbsent", R"(,"memoryLimits":null)", Means::kMps},
                      CardsCase{"AbsentWithoutMps", R"(,"isolation":["time-slice"])", Means::kNone},
                      CardsCase{"AbsentOnMig", R"(,"kind":"mig")", Means::kNone},
                      CardsCase{"SaidBeforeTheModes", R"(,"memoryLimits":"library","isolation":[])",
                                Means::kLibrary},
                      CardsCase{"OfANewerAgent", R"(,"memoryLimits":"firmware")", Means::kNone}),
    [](const auto& row) { return row.param.name; });

// ---- grants

Grant grant_with(Means means) {
  Grant grant{.pod_uid = "u", .node = "n", .issued_at = "t", .containers = {}, .signature = {}};
  GrantedCard part = testing::shared("GPU-1", 8192, 100);
  part.memory_limits = means;
  grant.containers.push_back({.container = "main", .cards = {part}});
  return grant;
}

TEST(GrantMemoryLimitsTest, AreReadBack) {
  for (const Means means : kAllMemoryLimits) {
    const auto read = decode_grant(encode(grant_with(means)));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, grant_with(means));
  }
}

TEST(GrantMemoryLimitsTest, AreWrittenOnlyIfThereAreSome) {
  const std::string with = encode(grant_with(Means::kLibrary));
  EXPECT_NE(with.find(R"("whole":false,"memoryLimits":"library"})"), std::string::npos) << with;
  const std::string without = encode(grant_with(Means::kNone));
  EXPECT_EQ(without.find("memoryLimits"), std::string::npos) << without;
}

TEST(GrantMemoryLimitsTest, OfANewerProgramAreRefused) {
  std::string text = encode(grant_with(Means::kLibrary));
  text.replace(text.find("library"), 7, "firmware");
  const auto read = decode_grant(text);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("\"firmware\" is no means of memory limits"),
            std::string::npos)
      << read.error().message;
}

}  // namespace
}  // namespace tangram::model
