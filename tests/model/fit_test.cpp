#include "model/fit.hpp"

#include "tests/testing/builders.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace tangram::model {
namespace {

using testing::card;
using testing::fraction;
using testing::inventory;
using testing::memory;
using testing::request;
using testing::whole;

constexpr auto kMps = static_cast<std::size_t>(Isolation::kMps);
constexpr auto kTimeSlice = static_cast<std::size_t>(Isolation::kTimeSlice);

/// What is on the card: so many MiB and mGPU, used by so many sharers in MPS and in time slices.
CardUse used(std::int64_t mib, std::int64_t milli, int mps, int time_slice = 0) {
  CardUse use;
  use.memory = Mebibytes(mib);
  use.compute = MilliGpu(milli);
  use.sharers[kMps] = mps;
  use.sharers[kTimeSlice] = time_slice;
  return use;
}

Card with(Card base, const std::function<void(Card&)>& change) {
  change(base);
  return base;
}

Share memory_and_compute(std::int64_t mib, std::int64_t milli) {
  Share share = memory(mib);
  share.compute = MilliGpu(milli);
  return share;
}

// The card has 1000 MiB, so that a thousandth of it is 1 MiB.
const Card& small_card() {
  static const Card kCard = testing::card("a", "T4", Mebibytes(1000));
  return kCard;
}

struct CardCase {
  std::string name;
  Share share;
  Card card = small_card();
  CardUse use = {};
  std::vector<std::string> models = {};
  std::vector<std::string> card_ids = {};
  MemoryLimits memory_limits = MemoryLimits::kNone;
  std::optional<Misfit> expected = {};  ///< nothing = fits
};
void PrintTo(const CardCase& row, std::ostream* out) { *out << row.name; }

class CardMisfitTest : public ::testing::TestWithParam<CardCase> {};

TEST_P(CardMisfitTest, NamesTheFirstThingInTheWay) {
  const CardCase& row = GetParam();
  GpuRequest wanted = request(row.share);
  wanted.models = row.models;
  wanted.card_ids = row.card_ids;
  wanted.memory_limits = row.memory_limits;
  EXPECT_EQ(card_misfit(wanted, slice_of(row.share, row.card), row.card, row.use), row.expected);
}

const auto kSick = [](Card& c) { c.healthy = false; };
const auto kCordoned = [](Card& c) { c.cordoned = true; };
const auto kNoMps = [](Card& c) { c.isolation = {Isolation::kTimeSlice, Isolation::kNone}; };
const auto kTwoSharers = [](Card& c) { c.max_sharers = 2; };

INSTANTIATE_TEST_SUITE_P(
    Cards, CardMisfitTest,
    ::testing::Values(
        CardCase{.name = "IdleCardTakesHalf", .share = fraction(500)},
        CardCase{.name = "IdleCardTakesAll", .share = fraction(1000)},
        CardCase{.name = "IdleCardTakesWhole", .share = whole()},
        CardCase{.name = "ExactRestFits", .share = fraction(400), .use = used(600, 600, 1)},
        CardCase{.name = "OneMilliTooMuch",
                 .share = fraction(401),  // 401 MiB and 401 mGPU of 400
                 .use = used(600, 600, 1),
                 .expected = Misfit::kRoom},
        CardCase{.name = "MemoryAloneTooLittle",
                 .share = memory_and_compute(401, 0),
                 .use = used(600, 0, 1),
                 .expected = Misfit::kRoom},
        CardCase{.name = "ComputeAloneTooLittle",
                 .share = memory_and_compute(1, 401),
                 .use = used(1, 600, 1),
                 .expected = Misfit::kRoom},
        CardCase{.name = "BestEffortComputeFitsAFullyComputedCard",
                 .share = memory_and_compute(400, 0),
                 .use = used(600, 1000, 1)},
        CardCase{.name = "OverGrantedCardHasNoRoom",
                 .share = fraction(1),
                 .use = used(1500, 1500, 2),
                 .expected = Misfit::kRoom},
        CardCase{.name = "OverGrantedComputeLeavesMemoryToBestEffort",
                 .share = memory_and_compute(500, 0),
                 .use = used(500, 1500, 2)},
        CardCase{.name = "WholeNeedsAnIdleCard",
                 .share = whole(),
                 .use = used(1, 0, 1),
                 .expected = Misfit::kRoom},
        CardCase{.name = "FractionOneNeedsAnIdleCardToo",
                 .share = fraction(1000),
                 .use = used(0, 0, 1),  // a holder of nothing still shares the card
                 .expected = Misfit::kRoom},
        CardCase{.name = "MoreMemoryThanTheCard",
                 .share = memory_and_compute(1001, 0),
                 .expected = Misfit::kTooLarge},
        CardCase{.name = "ModelNotAsked",
                 .share = fraction(1),
                 .models = {"A100*"},
                 .expected = Misfit::kModel},
        CardCase{.name = "ModelAsked", .share = fraction(1), .models = {"T?"}},
        CardCase{.name = "ModelExcluded",
                 .share = fraction(1),
                 .models = {"!T4"},
                 .expected = Misfit::kModel},
        CardCase{.name = "Unhealthy",
                 .share = fraction(1),
                 .card = with(small_card(), kSick),
                 .expected = Misfit::kUnavailable},
        CardCase{.name = "Cordoned",
                 .share = whole(),
                 .card = with(small_card(), kCordoned),
                 .expected = Misfit::kUnavailable},
        CardCase{.name = "ModeNotSupported",
                 .share = fraction(1),
                 .card = with(small_card(), kNoMps),
                 .expected = Misfit::kIsolationUnsupported},
        CardCase{
            .name = "WholeNeedsNoEnforcer", .share = whole(), .card = with(small_card(), kNoMps)},
        CardCase{.name = "OtherModeOnTheCard",
                 .share = fraction(1),
                 .use = used(1, 1, 0, 1),
                 .expected = Misfit::kIsolationBusy},
        CardCase{.name = "TwoModesOnTheCard",
                 .share = fraction(1),
                 .use = used(2, 2, 1, 1),
                 .expected = Misfit::kIsolationBusy},
        CardCase{.name = "LastSharer",
                 .share = fraction(1),
                 .card = with(small_card(), kTwoSharers),
                 .use = used(1, 1, 1)},
        CardCase{.name = "SharersFull",
                 .share = fraction(1),
                 .card = with(small_card(), kTwoSharers),
                 .use = used(2, 2, 2),
                 .expected = Misfit::kSharers},
        CardCase{.name = "IdAsked", .share = fraction(1), .card_ids = {"b", "a"}},
        CardCase{.name = "OtherIdAsked",
                 .share = fraction(1),
                 .card_ids = {"b*"},
                 .expected = Misfit::kCardId},
        CardCase{.name = "IdExcluded",
                 .share = fraction(1),
                 .card_ids = {"*", "!a"},
                 .expected = Misfit::kCardId},
        // Several things in the way: the earliest stage is named.
        CardCase{.name = "ModelBeforeId",
                 .share = fraction(1),
                 .models = {"A100"},
                 .card_ids = {"b"},
                 .expected = Misfit::kModel},
        CardCase{.name = "IdBeforeHealth",
                 .share = fraction(1),
                 .card = with(small_card(), kSick),
                 .card_ids = {"b"},
                 .expected = Misfit::kCardId},
        CardCase{.name = "ModelBeforeHealth",
                 .share = fraction(1),
                 .card = with(small_card(), kSick),
                 .models = {"A100"},
                 .expected = Misfit::kModel},
        CardCase{.name = "HealthBeforeIsolation",
                 .share = fraction(1),
                 .card = with(with(small_card(), kNoMps), kSick),
                 .expected = Misfit::kUnavailable},
        CardCase{.name = "MemoryLimitsTooWeak",
                 .share = fraction(1),
                 .memory_limits = MemoryLimits::kMps,
                 .expected = Misfit::kMemoryLimits},
        CardCase{.name = "SupportBeforeMemoryLimits",
                 .share = fraction(1),
                 .card = with(small_card(), kNoMps),
                 .memory_limits = MemoryLimits::kMps,
                 .expected = Misfit::kIsolationUnsupported},
        CardCase{.name = "MemoryLimitsBeforeSize",
                 .share = memory_and_compute(2000, 0),
                 .memory_limits = MemoryLimits::kMps,
                 .expected = Misfit::kMemoryLimits},
        CardCase{.name = "SupportBeforeSize",
                 .share = memory_and_compute(2000, 0),
                 .card = with(small_card(), kNoMps),
                 .expected = Misfit::kIsolationUnsupported},
        CardCase{.name = "SizeBeforeMode",
                 .share = memory_and_compute(2000, 0),
                 .use = used(1, 1, 0, 1),
                 .expected = Misfit::kTooLarge},
        CardCase{.name = "ModeBeforeSharers",
                 .share = fraction(1),
                 .card = with(small_card(), kTwoSharers),
                 .use = used(2, 2, 0, 2),
                 .expected = Misfit::kIsolationBusy},
        CardCase{.name = "SharersBeforeRoom",
                 .share = fraction(1),
                 .card = with(small_card(), kTwoSharers),
                 .use = used(1000, 1000, 2),
                 .expected = Misfit::kSharers}),
    [](const auto& row) { return row.param.name; });

TEST(RoomMisfitTest, LooksAtNeitherModelNorHealth) {
  Card unhealthy = small_card();
  unhealthy.healthy = false;
  unhealthy.isolation = {};
  const Slice half = slice_of(fraction(500), unhealthy);
  EXPECT_EQ(room_misfit(half, Isolation::kMps, unhealthy, {}), std::nullopt);
  EXPECT_EQ(room_misfit(half, Isolation::kMps, unhealthy, used(501, 0, 1)), Misfit::kRoom);
}

TEST(RoomMisfitTest, ASliceOfAnotherCardMayBeTooLarge) {
  const Slice large = slice_of(whole(), card("b", "A100", Mebibytes(1001)));
  EXPECT_EQ(room_misfit(large, Isolation::kMps, small_card(), {}), Misfit::kTooLarge);
}

struct Loaded {
  Card card;
  CardUse use;
};

struct NodeCase {
  std::string name;
  Share share;
  int count = 1;
  std::vector<Loaded> cards = {};
  Misfit expected{};
};
void PrintTo(const NodeCase& row, std::ostream* out) { *out << row.name; }

NodeState node_of(const std::vector<Loaded>& cards) {
  NodeInventory what = inventory("n", {});
  for (const Loaded& loaded : cards) what.cards.push_back(loaded.card);
  NodeState state = testing::node(what);
  for (std::size_t i = 0; i < cards.size(); ++i) state.use[i] = cards[i].use;
  return state;
}

class WhyNotTest : public ::testing::TestWithParam<NodeCase> {};

TEST_P(WhyNotTest, NamesTheStageThatTooFewCardsPass) {
  const NodeCase& row = GetParam();
  GpuRequest wanted = request(row.share, row.count);
  wanted.models = {"T4"};
  EXPECT_EQ(why_not(wanted, node_of(row.cards)), row.expected);
}

const Loaded kGood{small_card(), {}};
const Loaded kOtherModel{card("m", "A100"), {}};
const Loaded kBroken{with(small_card(), kSick), {}};
const Loaded kTooSmall{card("s", "T4", Mebibytes(10)), {}};
const Loaded kSliced{small_card(), used(1, 1, 0, 1)};
const Loaded kFull{small_card(), used(1000, 1000, 1)};
const Loaded kCrowded{with(small_card(), kTwoSharers), used(2, 2, 2)};

INSTANTIATE_TEST_SUITE_P(Nodes, WhyNotTest,
                         ::testing::Values(NodeCase{.name = "NoCardsAtAll",
                                                    .share = fraction(1),
                                                    .expected = Misfit::kNoCards},
                                           NodeCase{.name = "FewerCardsThanAsked",
                                                    .share = whole(),
                                                    .count = 2,
                                                    .cards = {kGood},
                                                    .expected = Misfit::kNoCards},
                                           NodeCase{.name = "OneOfTheModelTwoAsked",
                                                    .share = whole(),
                                                    .count = 2,
                                                    .cards = {kGood, kOtherModel},
                                                    .expected = Misfit::kModel},
                                           NodeCase{.name = "BrokenCard",
                                                    .share = fraction(1),
                                                    .cards = {kBroken, kOtherModel},
                                                    .expected = Misfit::kUnavailable},
                                           NodeCase{
                                               .name = "FurthestCardIsNamed",
                                               .share = memory(100),
                                               .cards = {kOtherModel, kBroken, kTooSmall, kFull},
                                               .expected = Misfit::kRoom},
                                           NodeCase{.name = "AllTooSmall",
                                                    .share = memory(100),
                                                    .cards = {kBroken, kTooSmall},
                                                    .expected = Misfit::kTooLarge},
                                           NodeCase{.name = "SecondCardStopsAtTheMode",
                                                    .share = memory(100),
                                                    .count = 2,
                                                    .cards = {kGood, kSliced, kTooSmall},
                                                    .expected = Misfit::kIsolationBusy},
                                           NodeCase{.name = "Crowded",
                                                    .share = memory(100),
                                                    .cards = {kCrowded},
                                                    .expected = Misfit::kSharers},
                                           NodeCase{.name = "Full",
                                                    .share = fraction(1),
                                                    .cards = {kFull, kFull},
                                                    .expected = Misfit::kRoom}),
                         [](const auto& row) { return row.param.name; });

TEST(WhyNotTest, ANodeThatIsNotThereHasNotReported) {
  NodeState gone = node_of({kGood});
  gone.present = false;
  EXPECT_EQ(why_not(request(fraction(1)), gone), Misfit::kUnknownNode);
}

TEST(WhyNotTest, ContainersThatFitAloneDoNotFitTogether) {
  GpuRequest wanted = request(fraction(600));
  wanted.containers.push_back({.container = "side", .share = fraction(600)});
  EXPECT_EQ(why_not(wanted, node_of({kGood})), Misfit::kTogether);
}

TEST(WhyNotTest, TheFirstContainerThatDoesNotFitIsNamed) {
  GpuRequest wanted = request(fraction(600));
  wanted.containers.push_back({.container = "side", .count = 2, .share = fraction(1)});
  EXPECT_EQ(why_not(wanted, node_of({kGood})), Misfit::kNoCards);
}

struct ReasonCase {
  Misfit misfit;
  bool resolvable;
};
void PrintTo(const ReasonCase& row, std::ostream* out) { *out << reason(row.misfit); }

class ReasonTest : public ::testing::TestWithParam<ReasonCase> {};

TEST_P(ReasonTest, SaysWhetherEvictionCouldHelp) {
  EXPECT_EQ(resolvable(GetParam().misfit), GetParam().resolvable);
}

// kube-scheduler retries a pod at its back-off rate when the message keeps changing.
TEST_P(ReasonTest, HasNoNumbers) {
  const std::string text(reason(GetParam().misfit));
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text.find_first_of("0123456789"), std::string::npos) << text;
}

const std::vector<ReasonCase>& all_reasons() {
  static const std::vector<ReasonCase> kRows{
      {Misfit::kUnknownNode, false},  {Misfit::kNoCards, false},
      {Misfit::kModel, false},        {Misfit::kUnavailable, false},
      {Misfit::kTooLarge, false},     {Misfit::kIsolationUnsupported, false},
      {Misfit::kIsolationBusy, true}, {Misfit::kSharers, true},
      {Misfit::kRoom, true},          {Misfit::kTogether, true},
      {Misfit::kCardId, false},       {Misfit::kNotTried, true},
      {Misfit::kMemoryLimits, false}, {Misfit::kTooSmall, false},
      {Misfit::kReplicas, false}};
  return kRows;
}

INSTANTIATE_TEST_SUITE_P(All, ReasonTest, ::testing::ValuesIn(all_reasons()));

TEST(ReasonTest, EveryMisfitHasItsOwnSentence) {
  std::set<std::string_view> sentences;
  for (const ReasonCase& row : all_reasons()) sentences.insert(reason(row.misfit));
  EXPECT_EQ(all_reasons().size(), kMisfits);
  EXPECT_EQ(sentences.size(), kMisfits);
}

}  // namespace
}  // namespace tangram::model
