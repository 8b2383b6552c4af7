#include "model/placement.hpp"

#include "model/ledger.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace tangram::model {
namespace {

using testing::card;
using testing::fraction;
using testing::inventory;
using testing::memory;
using testing::request;
using testing::slice;
using testing::whole;

/// Cards of 1000 MiB of which so many thousandths are taken, each by one MPS sharer.
NodeState loaded(const std::vector<std::int64_t>& taken) {
  NodeInventory what = inventory("n", {});
  for (std::size_t i = 0; i < taken.size(); ++i) {
    what.cards.push_back(card("GPU-" + std::to_string(i), "A100", Mebibytes(1000)));
  }
  NodeState state = testing::node(what);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (taken[i] == 0) continue;
    charge(state.use[i], slice(taken[i], taken[i]), Isolation::kMps);
  }
  return state;
}

NodeState change_cards(const NodeState& node,
                       const std::function<void(std::vector<Card>&)>& change) {
  NodeInventory what = *node.inventory;
  change(what.cards);
  NodeState changed = node;
  changed.equip(std::move(what));
  return changed;
}

GpuRequest containers(const std::vector<ContainerRequest>& all) {
  GpuRequest asked;
  asked.isolation = Isolation::kMps;
  asked.containers = all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    asked.containers[i].container = "c" + std::to_string(i);
  }
  return asked;
}

ContainerRequest one(Share share, int count = 1) { return {"", count, share}; }

std::int64_t no_preference(const Slice& /*slice*/, std::uint32_t /*card*/, const CardUse& /*use*/) {
  return 0;
}
std::int64_t fullest(const Slice& /*slice*/, std::uint32_t /*card*/, const CardUse& use) {
  return use.compute.count();
}
std::int64_t emptiest(const Slice& /*slice*/, std::uint32_t /*card*/, const CardUse& use) {
  return -use.compute.count();
}

struct PlaceCase {
  std::string name;
  std::vector<ContainerRequest> asked = {};
  std::vector<std::int64_t> taken = {};  ///< thousandths of each card
  CardPreference preference = no_preference;
  std::optional<Placement> expected = {};  ///< nothing = does not fit
};
void PrintTo(const PlaceCase& row, std::ostream* out) { *out << row.name; }

class PlaceTest : public ::testing::TestWithParam<PlaceCase> {};

TEST_P(PlaceTest, PicksTheseCards) {
  const PlaceCase& row = GetParam();
  EXPECT_EQ(place(containers(row.asked), loaded(row.taken), row.preference), row.expected);
}

INSTANTIATE_TEST_SUITE_P(
    OneContainer, PlaceTest,
    ::testing::Values(
        PlaceCase{.name = "NothingAskedNothingGiven", .taken = {0}, .expected = Placement{}},
        PlaceCase{.name = "LowestIndexOnATie",
                  .asked = {one(fraction(500))},
                  .taken = {0, 0, 0},
                  .expected = Placement{0}},
        PlaceCase{.name = "FirstThatFits",
                  .asked = {one(fraction(500))},
                  .taken = {501, 500, 0},
                  .expected = Placement{1}},
        PlaceCase{.name = "MostPreferred",
                  .asked = {one(fraction(100))},
                  .taken = {0, 300, 900, 950},
                  .preference = fullest,
                  .expected = Placement{2}},
        PlaceCase{.name = "NegativePreferencesCompareToo",
                  .asked = {one(fraction(100))},
                  .taken = {300, 200, 100},
                  .preference = emptiest,
                  .expected = Placement{2}},
        PlaceCase{.name = "PreferredTieGoesToTheLowestIndex",
                  .asked = {one(fraction(100))},
                  .taken = {0, 300, 300},
                  .preference = fullest,
                  .expected = Placement{1}},
        PlaceCase{.name = "SeveralCardsInOrderOfPreference",
                  .asked = {one(fraction(100), 3)},
                  .taken = {100, 0, 900, 950, 100},
                  .preference = fullest,
                  .expected = Placement{2, 0, 4}},
        PlaceCase{.name = "SeveralSharesNeedDifferentCards",
                  .asked = {one(fraction(100), 2)},
                  .taken = {0, 950},
                  .expected = std::nullopt},
        PlaceCase{.name = "WholeCardsSkipSharedOnes",
                  .asked = {one(whole(), 2)},
                  .taken = {0, 1, 0},
                  .expected = Placement{0, 2}},
        PlaceCase{.name = "WholeCardsTooFew",
                  .asked = {one(whole(), 3)},
                  .taken = {0, 1, 0},
                  .expected = std::nullopt},
        PlaceCase{.name = "NoCards", .asked = {one(fraction(1))}, .expected = std::nullopt}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    ManyContainers, PlaceTest,
    ::testing::Values(
        PlaceCase{.name = "ShareOneCard",
                  .asked = {one(fraction(400)), one(fraction(600))},
                  .taken = {0},
                  .expected = Placement{0, 0}},
        PlaceCase{.name = "CardsInTheContainersOrder",  // the larger one is placed first
                  .asked = {one(fraction(400)), one(fraction(600), 2)},
                  .taken = {700, 0, 0, 900},
                  .preference = emptiest,
                  .expected = Placement{1, 1, 2}},
        PlaceCase{.name = "LaterContainersSeeEarlierOnes",
                  .asked = {one(fraction(500)), one(fraction(500))},
                  .taken = {0, 0},
                  .preference = emptiest,
                  .expected = Placement{0, 1}},
        // 500 prefers the card that the two 300 need together.
        PlaceCase{.name = "GreedyTakesTheWrongCard",
                  .asked = {one(fraction(500)), one(fraction(300)), one(fraction(300))},
                  .taken = {400, 500},  // free: 600, 500
                  .preference = emptiest,
                  .expected = Placement{1, 0, 0}},
        // The pair prefers cards 0 and 1, which would leave places for two of the three 450 only.
        PlaceCase{.name = "CountsBacktrackToo",
                  .asked = {one(fraction(500), 2), one(fraction(450)), one(fraction(450)),
                            one(fraction(450))},
                  .taken = {0, 100, 500},  // free: 1000, 900, 500
                  .preference = emptiest,
                  .expected = Placement{0, 2, 1, 0, 1}},
        PlaceCase{.name = "SmallFractionAfterLargeMemory",
                  .asked = {one(fraction(10)), one(memory(995))},
                  .taken = {0, 985},
                  .expected = Placement{1, 0}},
        PlaceCase{.name = "WholeBesideAShare",
                  .asked = {one(fraction(100)), one(whole())},
                  .taken = {0, 0},
                  .expected = Placement{1, 0}},
        PlaceCase{.name = "WholeAndAShareNeedTwoCards",
                  .asked = {one(fraction(100)), one(whole())},
                  .taken = {0, 950},
                  .expected = std::nullopt},
        PlaceCase{.name = "ThreeSixTenthsNeedThreeCards",
                  .asked = {one(fraction(600)), one(fraction(600)), one(fraction(600))},
                  .taken = {0, 0},
                  .expected = std::nullopt}),
    [](const auto& row) { return row.param.name; });

TEST(PlaceTest, ANodeThatIsNotThereTakesNothing) {
  NodeState gone = loaded({0});
  gone.present = false;
  EXPECT_EQ(place(request(fraction(1)), gone, no_preference), std::nullopt);
  EXPECT_EQ(place(GpuRequest{}, gone, no_preference), std::nullopt);
}

TEST(PlaceTest, FirstSharerSetsTheMode) {
  GpuRequest asked = request(fraction(100));
  asked.isolation = Isolation::kTimeSlice;
  EXPECT_EQ(place(asked, loaded({1, 0}), fullest), Placement{1});
  EXPECT_EQ(place(asked, loaded({1, 1}), fullest), std::nullopt);
}

TEST(PlaceTest, ModeMustBeSupportedUnlessTheCardIsWhole) {
  const NodeState node = change_cards(loaded({0, 0}), [](std::vector<Card>& cards) {
    cards[0].isolation = {Isolation::kTimeSlice};
  });
  EXPECT_EQ(place(request(fraction(100)), node, no_preference), Placement{1});
  EXPECT_EQ(place(request(whole()), node, no_preference), Placement{0});
}

TEST(PlaceTest, ContainersOfOnePodCountAsSharers) {
  const NodeState node =
      change_cards(loaded({0, 0}), [](std::vector<Card>& cards) { cards[0].max_sharers = 2; });
  const GpuRequest three = containers({one(fraction(10)), one(fraction(10)), one(fraction(10))});
  EXPECT_EQ(place(three, node, no_preference), (Placement{0, 0, 1}));
}

TEST(PlaceTest, PreferenceSeesWhatTheRequestPutThereAlready) {
  std::vector<CardUse> seen;
  const auto record = [&](const Slice& /*slice*/, std::uint32_t /*card*/, const CardUse& use) {
    seen.push_back(use);
    return std::int64_t{0};
  };
  ASSERT_TRUE(place(containers({one(fraction(600)), one(fraction(400))}), loaded({0}), record));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(seen[0].idle());
  EXPECT_EQ(seen[1].compute, MilliGpu(600));
  EXPECT_EQ(seen[1].memory, Mebibytes(600));
}

/// Counts how often the search asks for a preference: its work, whatever the machine.
struct CountedCalls {
  int calls = 0;
  CardPreference preference() {
    return [this](const Slice& /*slice*/, std::uint32_t card, const CardUse& /*use*/) {
      ++calls;
      return -std::int64_t{card};
    };
  }
};

TEST(PlaceTest, CardsThatLookAlikeAreTriedOnce) {
  // 16 of 600 on 15 idle cards: 15! orders, but they are all the same one.
  const std::vector<ContainerRequest> asked(kMaxGpuContainers, one(fraction(600)));
  CountedCalls counted;
  const std::vector<std::int64_t> idle(15, 0);
  EXPECT_EQ(place(containers(asked), loaded(idle), counted.preference()), std::nullopt);
  EXPECT_LE(counted.calls, 16 * 15);
}

TEST(PlaceTest, OneHopelessContainerEndsTheSearchAtOnce) {
  std::vector<ContainerRequest> asked(10, one(fraction(50)));
  asked.push_back(one(fraction(20), 3));
  CountedCalls counted;
  EXPECT_EQ(place(containers(asked), loaded({100, 200, 990}), counted.preference()), std::nullopt);
  EXPECT_EQ(counted.calls, 0);
}

TEST(PlaceTest, TooFewPlacesAreFoundWithoutASearch) {
  // 16 of 500 on 15 cards that all differ, each with a place for one: there are 15! orders.
  const std::vector<ContainerRequest> asked(kMaxGpuContainers, one(fraction(500)));
  std::vector<std::int64_t> taken;
  for (std::int64_t i = 0; i < 15; ++i) taken.push_back(100 + i);
  CountedCalls counted;
  EXPECT_EQ(place(containers(asked), loaded(taken), counted.preference()), std::nullopt);
  EXPECT_EQ(counted.calls, 0);
}

TEST(PlaceTest, TooFewPlacesForTheLargestAreFoundWithoutASearch) {
  // Two cards have a place for one of 600; for six of 100 there are places enough.
  std::vector<ContainerRequest> asked(3, one(fraction(600)));
  asked.resize(6, one(fraction(100)));
  CountedCalls counted;
  EXPECT_EQ(place(containers(asked), loaded({50, 60, 480}), counted.preference()), std::nullopt);
  EXPECT_EQ(counted.calls, 0);
}

TEST(PlaceTest, TooLargeASumIsFoundWithoutASearch) {
  // 2,820 of 2,697; by number, one of the large and one of the small go onto each card.
  std::vector<ContainerRequest> asked(3, one(fraction(500)));
  asked.resize(6, one(fraction(440)));
  CountedCalls counted;
  EXPECT_EQ(place(containers(asked), loaded({100, 101, 102}), counted.preference()), std::nullopt);
  EXPECT_EQ(counted.calls, 0);
}

TEST(PlaceTest, GivesUpAfterTheStepLimit) {
  // A card has a place for three only if at most one of them is of 340, so at most six of those
  // find one. By number and sum all would go.
  std::vector<ContainerRequest> asked(7, one(fraction(340)));
  asked.resize(14, one(fraction(328)));
  CountedCalls counted;
  EXPECT_EQ(place(containers(asked), loaded({0, 1, 2, 3, 4}), counted.preference()), std::nullopt);
  EXPECT_GT(counted.calls, kMaxSearchSteps / 100);  // it did try; full cards cost a step, no call
  EXPECT_LE(counted.calls, kMaxSearchSteps);
}

TEST(PlaceTest, ASearchThatTheBudgetDoesNotPayForIsSkipped) {
  const GpuRequest two = containers({one(fraction(600)), one(fraction(600))});
  SearchBudget budget(1);
  EXPECT_NE(place(two, loaded({0, 0}), no_preference, budget), std::nullopt);
  EXPECT_TRUE(budget.spent());
  EXPECT_EQ(budget.skipped(), 0);
  EXPECT_EQ(place(two, loaded({0, 0}), no_preference, budget), std::nullopt);
  EXPECT_EQ(budget.skipped(), 1);
}

TEST(PlaceTest, WhatNeedsNoSearchNeedsNoBudget) {
  SearchBudget budget(0);
  const GpuRequest two = containers({one(fraction(600)), one(fraction(600))});
  EXPECT_EQ(place(two, loaded({0, 500}), no_preference, budget), std::nullopt);
  EXPECT_EQ(place(request(fraction(600)), loaded({500, 0}), no_preference, budget), Placement{1});
  EXPECT_EQ(budget.skipped(), 0);
}

TEST(PlaceTest, ADearPreferenceSpendsMore) {
  const GpuRequest two = containers({one(fraction(600)), one(fraction(600))});
  SearchBudget budget(30);  // twice two looks, and two cards taken: 6
  EXPECT_NE(place(two, loaded({0, 0}), no_preference, budget), std::nullopt);
  EXPECT_FALSE(budget.spent());
  EXPECT_NE(place(two, loaded({0, 0}), no_preference, budget, 10), std::nullopt);
  EXPECT_TRUE(budget.spent());
}

/// Is there any way at all? Tries every card for every piece.
bool any_way(const GpuRequest& asked, const NodeState& node, std::vector<CardUse> use,
             std::size_t container = 0, int placed = 0, std::uint32_t from = 0) {
  if (container == asked.containers.size()) return true;
  if (placed == asked.containers[container].count) {
    return any_way(asked, node, std::move(use), container + 1);
  }
  for (std::uint32_t card = from; card < use.size(); ++card) {
    const Slice piece = slice_of(asked.containers[container].share, node.traits()[card]);
    if (room_misfit(piece, asked.isolation, node.traits()[card], use[card])) continue;
    std::vector<CardUse> then = use;
    charge(then[card], piece, asked.isolation);
    if (any_way(asked, node, std::move(then), container, placed + 1, card + 1)) return true;
  }
  return false;
}

/// Sizes that fill cards to the last thousandth often.
Share random_share(testing::Random& random) {
  switch (random.below(5)) {
    case 0:
      return whole();
    case 1: {
      Share share = memory(random.between(1, 10) * 100);
      if (random.chance(70)) share.compute = MilliGpu(random.below(5) * 250);
      return share;
    }
    default:
      return fraction(random.between(1, 20) * 50);
  }
}

NodeState random_node(testing::Random& random) {
  std::vector<std::int64_t> taken(static_cast<std::size_t>(random.between(1, 4)));
  for (std::int64_t& part : taken) part = random.chance(40) ? 0 : random.below(20) * 50;
  return change_cards(loaded(taken), [&](std::vector<Card>& cards) {
    for (Card& card : cards) {
      if (random.chance(30)) card.max_sharers = static_cast<int>(random.below(4));
      if (random.chance(20)) card.memory = Mebibytes(500);
    }
  });
}

TEST(PlaceTest, FindsAPlaceIfThereIsOne) {
  constexpr int kRounds = 20'000;
  constexpr std::uint64_t kSeed = 20'261'123;
  testing::Random random(kSeed);
  int placed = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<ContainerRequest> asked;
    const std::int64_t several = random.between(2, 4);
    for (std::int64_t i = 0; i < several; ++i) {
      asked.push_back(one(random_share(random), static_cast<int>(random.between(1, 2))));
    }
    const NodeState node = random_node(random);
    const GpuRequest request = containers(asked);
    const bool found = place(request, node, no_preference).has_value();
    ASSERT_EQ(found, any_way(request, node, node.use)) << "seed " << kSeed << ", round " << round;
    if (found) ++placed;
  }
  EXPECT_GT(placed, kRounds / 10);  // both answers are common
  EXPECT_LT(placed, kRounds * 9 / 10);
}

TEST(PlaceTest, SixteenContainersOnSixteenDifferentCardsArePlaced) {
  std::vector<ContainerRequest> asked;
  std::vector<std::int64_t> taken;
  for (std::int64_t i = 0; i < kMaxGpuContainers; ++i) {
    asked.push_back(one(fraction(500 + i)));
    taken.push_back(500 - i);  // free: 500 + i, so each has exactly one card in the end
  }
  EXPECT_NE(place(containers(asked), loaded(taken), emptiest), std::nullopt);
}

/// One container, of all kinds that a memo treats in its own way.
GpuRequest random_single(testing::Random& random) {
  GpuRequest asked = request(random_share(random), static_cast<int>(random.between(1, 2)));
  if (random.chance(20)) asked.models = {"H*"};
  if (random.chance(10)) asked.card_ids = {"GPU-1"};
  return asked;
}

TEST(PlaceTest, AMemoChangesNothing) {
  constexpr int kRequests = 100;
  constexpr int kNodes = 300;  // of more makes than are remembered
  constexpr std::uint64_t kSeed = 20'261'127;
  testing::Random random(kSeed);
  int placed = 0;
  for (int i = 0; i < kRequests; ++i) {
    const GpuRequest request = random_single(random);
    CardMemo memo;
    NodeState node;
    for (int j = 0; j < kNodes; ++j) {
      if (j == 0 || random.chance(50)) node = random_node(random);
      if (random.chance(30)) {
        node = change_cards(node, [&](std::vector<Card>& cards) { cards.back().model = "H100"; });
      }
      SearchBudget no_limit;
      const auto wanted = place(request, node, fullest);
      ASSERT_EQ(place(request, node, fullest, no_limit, 1, &memo), wanted)
          << "seed " << kSeed << ", request " << i << ", node " << j;
      if (wanted) ++placed;
    }
  }
  EXPECT_GT(placed, kRequests * kNodes / 10);
  EXPECT_LT(placed, kRequests * kNodes * 9 / 10);
}

TEST(PlaceTest, AMemoKnowsTheCardsOfSeveralMakes) {
  constexpr int kNodes = 2'000;
  constexpr int kUses = 100;
  testing::Random random(20'261'127);
  std::vector<NodeState> of_make;
  for (const int memory : {1'000, 2'000, 3'000}) {
    of_make.push_back(change_cards(loaded({0, 0, 0, 0}), [&](std::vector<Card>& cards) {
      for (Card& card : cards) card.memory = Mebibytes(memory);
    }));
  }
  const GpuRequest asked = request(fraction(100));
  CardMemo memo;
  SearchBudget no_limit;
  int calls = 0;
  const auto counted = [&](const Slice&, std::uint32_t, const CardUse& use) {
    ++calls;
    return use.compute.count();
  };
  for (int i = 0; i < kNodes; ++i) {
    NodeState node = random.one_of(of_make);
    for (CardUse& use : node.use) {
      const std::int64_t part = random.below(kUses);
      charge(use, slice(part, part), Isolation::kMps);
    }
    (void)place(asked, node, counted, no_limit, 1, &memo);
  }
  // Each of them once, and those that share a place now and then.
  EXPECT_LT(calls, 4 * kNodes / 5) << "a fifth of the cards";
}

TEST(PlaceTest, AMemoIsAskedOfCardsThatItHasNotSeen) {
  const GpuRequest asked = request(fraction(100));
  int calls = 0;
  const auto counted = [&](const Slice&, std::uint32_t, const CardUse& use) {
    ++calls;
    return use.compute.count();
  };
  const NodeState first = loaded({100, 200, 300, 300});
  NodeState second = loaded({300, 100, 200, 200});
  second.make = first.make;  // as the ledger has it
  CardMemo memo;
  SearchBudget no_limit;
  EXPECT_EQ(place(asked, first, counted, no_limit, 1, &memo), Placement{2});
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(place(asked, second, counted, no_limit, 1, &memo), Placement{0});
  EXPECT_EQ(calls, 3);
  second.use[3].compute += MilliGpu(150);
  EXPECT_EQ(place(asked, second, counted, no_limit, 1, &memo), Placement{3});
  EXPECT_EQ(calls, 4);
}

TEST(UseAfterTest, AddsWhatThePlacementTakes) {
  const NodeState node = loaded({100, 0});
  const GpuRequest asked = containers({one(fraction(200), 2), one(memory(300))});
  const std::vector<CardUse> use = use_after(asked, node, {1, 0, 1});
  ASSERT_EQ(use.size(), 2U);
  EXPECT_EQ(use[0].memory, Mebibytes(300));
  EXPECT_EQ(use[0].sharer_count(), 2);
  EXPECT_EQ(use[1].memory, Mebibytes(500));
  EXPECT_EQ(use[1].compute, MilliGpu(500));
  EXPECT_EQ(use[1].sharers[static_cast<std::size_t>(Isolation::kMps)], 2);
  EXPECT_TRUE(node.use[1].idle());
}

TEST(GrantsOfTest, NamesTheCardsPerContainer) {
  GpuRequest asked = containers({one(fraction(200), 2), one(memory(300))});
  asked.containers[1].share.memory_limit = Mebibytes(400);
  asked.containers[1].share.compute_limit = MilliGpu(700);
  const std::vector<ContainerGrant> grants = grants_of(asked, loaded({0, 0}), {1, 0, 1});
  ASSERT_EQ(grants.size(), 2U);
  EXPECT_EQ(grants[0].container, "c0");
  EXPECT_EQ(grants[0].cards,
            (std::vector{testing::shared("GPU-1", 200, 200), testing::shared("GPU-0", 200, 200)}));
  GrantedCard burst = testing::shared("GPU-1", 300, 300);
  burst.memory_limit = Mebibytes(400);
  burst.compute_limit = MilliGpu(700);
  EXPECT_EQ(grants[1], (ContainerGrant{.container = "c1", .cards = {burst}}));
}

/// Assumes `n` + 1 pods of the same request, one after the other. @returns how many fitted
int assume_equal_shares(Mebibytes card_memory, const Share& share, int n) {
  const testing::ManualClock clock;
  Ledger ledger(clock);
  Card only = card("GPU-0", "A100", card_memory);
  only.max_sharers = n;
  ledger.put_node(inventory("n", {only}));
  int assumed = 0;
  for (int i = 0; i <= n; ++i) {
    const auto snapshot = ledger.snapshot();
    const NodeState& node = *snapshot->find("n");
    const auto placement = place(request(share), node, no_preference);
    if (!placement) continue;
    Allocation pod = testing::allocation("pod-" + std::to_string(i), "n", {});
    pod.containers = grants_of(request(share), node, *placement);
    if (ledger.assume(pod, std::chrono::seconds(1))) ++assumed;
  }
  return assumed;
}

class EqualSharesTest : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(EqualSharesTest, MemorySharesThatDivideTheCardAllFit) {
  const std::int64_t card_memory = GetParam();
  int divisors = 0;
  for (int n = 1; n <= Card::kDefaultMaxSharers; ++n) {
    if (card_memory % n != 0) continue;
    ++divisors;
    EXPECT_EQ(assume_equal_shares(Mebibytes(card_memory), memory(card_memory / n), n), n)
        << n << " shares of " << card_memory / n << " MiB";
  }
  EXPECT_GT(divisors, 0);
}

TEST_P(EqualSharesTest, FractionsThatAddUpToOneAllFit) {
  for (const int n : {1, 2, 4, 5, 8, 10, 20, 25, 40}) {
    EXPECT_EQ(assume_equal_shares(Mebibytes(GetParam()), fraction(1000 / n), n), n) << n;
  }
}

// Real cards less what the driver keeps, powers of two, primes and highly composite numbers.
INSTANTIATE_TEST_SUITE_P(CardMemory, EqualSharesTest,
                         ::testing::Values(1, 2, 7, 97, 128, 720, 1000, 4864, 5040, 9728, 11'441,
                                           15'109, 15'360, 16'384, 22'731, 24'564, 32'768, 40'960,
                                           46'068, 81'559, 81'920, 143'771, 196'608, 720'720));

}  // namespace
}  // namespace tangram::model
