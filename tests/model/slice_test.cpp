#include "model/request.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tangram::model {
namespace {

using namespace tangram::literals;
using testing::card;
using testing::fraction;
using testing::memory;
using testing::whole;

Share limited(Share share, std::optional<Mebibytes> memory_limit,
              std::optional<MilliGpu> compute_limit) {
  share.memory_limit = memory_limit;
  share.compute_limit = compute_limit;
  return share;
}

Share with_compute(Share share, std::int64_t milli) {
  share.compute = MilliGpu(milli);
  return share;
}

Share bounded(int max_burst, Share share) {
  share.max_burst = max_burst;
  return share;
}

struct SliceCase {
  std::string name;
  Share share;
  std::int64_t card_mib;
  Slice slice;
};

class SliceTest : public ::testing::TestWithParam<SliceCase> {};

TEST_P(SliceTest, IsTheExactPartOfTheCard) {
  const Slice slice =
      slice_of(GetParam().share, card("GPU-1", "A100", Mebibytes(GetParam().card_mib)));
  EXPECT_EQ(slice.memory, GetParam().slice.memory);
  EXPECT_EQ(slice.compute, GetParam().slice.compute);
  EXPECT_EQ(slice.memory_limit, GetParam().slice.memory_limit);
  EXPECT_EQ(slice.compute_limit, GetParam().slice.compute_limit);
  EXPECT_EQ(slice.whole, GetParam().slice.whole);
}

INSTANTIATE_TEST_SUITE_P(
    All, SliceTest,
    ::testing::Values(
        SliceCase{"Whole", whole(), 81'920, {81'920_mib, 1000_mgpu, 81'920_mib, 1000_mgpu, true}},
        SliceCase{"Half", fraction(500), 81'920, {40'960_mib, 500_mgpu, 40'960_mib, 500_mgpu}},
        // 0.333 x 81920 = 27279.36
        SliceCase{"FractionRoundsDown",
                  fraction(333),
                  81'920,
                  {27'279_mib, 333_mgpu, 27'279_mib, 333_mgpu}},
        SliceCase{"FractionOfOneIsTheWholeCard",
                  fraction(1000),
                  81'920,
                  {81'920_mib, 1000_mgpu, 81'920_mib, 1000_mgpu, true}},
        SliceCase{"SmallestFractionOfASmallCard", fraction(1), 999, {0_mib, 1_mgpu, 0_mib, 1_mgpu}},
        // 1000 x 8192 / 81920
        SliceCase{"MemoryTakesComputeInProportion",
                  memory(8192),
                  81'920,
                  {8192_mib, 100_mgpu, 8192_mib, 100_mgpu}},
        // 1000 x 10000 / 81920 = 122.07
        SliceCase{"ProportionRoundsDown",
                  memory(10'000),
                  81'920,
                  {10'000_mib, 122_mgpu, 10'000_mib, 122_mgpu}},
        SliceCase{"AllMemoryIsNotTheWholeCard",
                  memory(81'920),
                  81'920,
                  {81'920_mib, 1000_mgpu, 81'920_mib, 1000_mgpu}},
        SliceCase{"ComputeAsAsked",
                  with_compute(memory(8192), 300),
                  81'920,
                  {8192_mib, 300_mgpu, 8192_mib, 300_mgpu}},
        SliceCase{"LimitsAboveTheShare",
                  limited(fraction(250), 40'960_mib, 750_mgpu),
                  81'920,
                  {20'480_mib, 250_mgpu, 40'960_mib, 750_mgpu}},
        SliceCase{"LimitsEndAtTheCard",
                  limited(fraction(250), 100'000_mib, 1000_mgpu),
                  81'920,
                  {20'480_mib, 250_mgpu, 81'920_mib, 1000_mgpu}},
        SliceCase{"LimitsEndAtTheBurst",
                  bounded(2, limited(fraction(250), 81'920_mib, 1000_mgpu)),
                  81'920,
                  {20'480_mib, 250_mgpu, 40'960_mib, 500_mgpu}},
        SliceCase{"NoBurst",
                  bounded(1, limited(memory(8192), 81'920_mib, 1000_mgpu)),
                  81'920,
                  {8192_mib, 100_mgpu, 8192_mib, 100_mgpu}},
        // So little memory has no compute in proportion, which would be best effort.
        SliceCase{"NoComputeIsNoBestEffortWithinABurst",
                  bounded(4, memory(1)),
                  81'920,
                  {1_mib, 0_mgpu, 1_mib, 1_mgpu}},
        SliceCase{"BestEffortWithoutTheRule",
                  with_compute(memory(1), 0),
                  81'920,
                  {1_mib, 0_mgpu, 1_mib, 1000_mgpu}},
        // Half of this card is more than the limit: the share is what counts.
        SliceCase{"LimitBelowTheShareMeansTheShare",
                  limited(fraction(500), 8192_mib, 500_mgpu),
                  81'920,
                  {40'960_mib, 500_mgpu, 40'960_mib, 500_mgpu}},
        // Too large for the card, which is for the fit to say: nothing is cut off here.
        SliceCase{"LargerThanTheCardStaysSo",
                  memory(16'384),
                  8192,
                  {16'384_mib, 2000_mgpu, 16'384_mib, 2000_mgpu}}),
    [](const auto& row) { return row.param.name; });

/// Random cards from 1 GiB to 1 TiB, of any odd size.
class SlicePropertyTest : public ::testing::Test {
 protected:
  Card random_card() { return card("GPU-1", "A100", Mebibytes(random_.between(1024, 1 << 20))); }

  const std::random_device::result_type seed_ = std::random_device{}();
  testing::Random random_{seed_};
};

TEST_F(SlicePropertyTest, EqualMemorySharesThatDivideACardFitItByCompute) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int i = 0; i < 5000; ++i) {
    const Card c = random_card();
    const std::int64_t sharers = random_.between(1, 1000);
    const Slice slice = slice_of(memory(c.memory.count() / sharers), c);
    EXPECT_LE(sharers * slice.memory.count(), c.memory.count()) << sharers << " on " << c.memory;
    EXPECT_LE(sharers * slice.compute.count(), c.compute.count()) << sharers << " on " << c.memory;
  }
}

TEST_F(SlicePropertyTest, UnequalMemorySharesThatFitByMemoryFitByCompute) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int i = 0; i < 2000; ++i) {
    const Card c = random_card();
    std::int64_t compute = 0;
    for (std::int64_t left = c.memory.count(); left > 0;) {
      const std::int64_t mib =
          random_.between(1, std::min<std::int64_t>(left, c.memory.count() / 4));
      compute += slice_of(memory(mib), c).compute.count();
      left -= mib;
    }
    EXPECT_LE(compute, c.compute.count()) << c.memory;
  }
}

TEST_F(SlicePropertyTest, FractionsThatAddUpToOneFitByMemory) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int i = 0; i < 5000; ++i) {
    const Card c = random_card();
    Mebibytes used;
    for (std::int64_t left = 1000; left > 0;) {
      const std::int64_t milli = random_.between(1, left);
      used += slice_of(fraction(milli), c).memory;
      left -= milli;
    }
    EXPECT_LE(used, c.memory);
    EXPECT_GT(used, c.memory - Mebibytes(1000)) << "a share loses less than one MiB";
  }
}

TEST_F(SlicePropertyTest, LimitsLieBetweenTheShareAndTheCard) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int i = 0; i < 5000; ++i) {
    const Card c = random_card();
    const Share share =
        limited(i % 2 == 0 ? fraction(random_.between(1, 1000))
                           : memory(random_.between(1, c.memory.count())),
                Mebibytes(random_.between(1, 2 << 20)), MilliGpu(random_.between(1, 1000)));
    const Slice slice = slice_of(share, c);
    EXPECT_LE(slice.memory, slice.memory_limit);
    EXPECT_LE(slice.memory_limit, c.memory);
    EXPECT_LE(slice.compute, slice.compute_limit);
    EXPECT_LE(slice.compute_limit, c.compute);

    const auto max_burst = static_cast<int>(random_.between(1, 1000));
    const Slice within = slice_of(bounded(max_burst, share), c);
    EXPECT_EQ(within.memory, slice.memory);
    EXPECT_EQ(within.compute, slice.compute);
    EXPECT_LE(within.memory, within.memory_limit);
    EXPECT_LE(within.compute, within.compute_limit);
    EXPECT_LE(within.memory_limit.count(),
              std::max<std::int64_t>(1, max_burst * slice.memory.count()));
    EXPECT_LE(within.compute_limit.count(),
              std::max<std::int64_t>(1, max_burst * slice.compute.count()));
    EXPECT_LE(within.memory_limit, slice.memory_limit);
    EXPECT_LE(within.compute_limit, slice.compute_limit);
  }
}

struct GlobCase {
  std::string name;
  std::vector<std::string> globs;
  std::string model;
  bool matches;
};

class ModelGlobTest : public ::testing::TestWithParam<GlobCase> {};

TEST_P(ModelGlobTest, MatchesWholeNames) {
  EXPECT_EQ(globs_match(GetParam().globs, GetParam().model), GetParam().matches);
}

INSTANTIATE_TEST_SUITE_P(
    All, ModelGlobTest,
    ::testing::Values(
        GlobCase{"NoGlobsMatchAll", {}, "T4", true}, GlobCase{"Exact", {"T4"}, "T4", true},
        GlobCase{"CaseMatters", {"t4"}, "T4", false},
        GlobCase{"NoPrefixMatch", {"A100"}, "A100-SXM4-80GB", false},
        GlobCase{"Star", {"A100*"}, "A100-SXM4-80GB", true},
        GlobCase{"StarMatchesNothing", {"A100*"}, "A100", true},
        GlobCase{"StarInside", {"A100*80GB"}, "A100-SXM4-80GB", true},
        GlobCase{"StarInsideWrongEnd", {"A100*80GB"}, "A100-SXM4-40GB", false},
        GlobCase{"StarGoesBack", {"*80*80GB"}, "A80-80-80GB", true},
        GlobCase{"Question", {"A?00"}, "A100", true},
        GlobCase{"QuestionNeedsOne", {"A100?"}, "A100", false},
        GlobCase{"OnlyStars", {"***"}, "", true}, GlobCase{"EmptyModel", {"?"}, "", false},
        GlobCase{"AnyOfSeveral", {"H100*", "T4"}, "T4", true},
        GlobCase{"NoneOfSeveral", {"H100*", "A100*"}, "T4", false},
        GlobCase{"Excluded", {"!T4"}, "T4", false}, GlobCase{"NotExcluded", {"!T4"}, "A100", true},
        GlobCase{"ExclusionBeatsInclusion", {"T*", "!T4"}, "T4", false},
        GlobCase{"IncludedAndNotExcluded", {"!T4", "T*"}, "T40", true},
        GlobCase{"NeitherIncludedNorExcluded", {"!T4", "T*"}, "A100", false},
        GlobCase{"ExcludeAll", {"!*"}, "A100", false}),
    [](const auto& row) { return row.param.name; });

TEST(ModelGlobTest, HostileGlobsEndSoon) {
  std::string stars;
  for (int i = 0; i < 64; ++i) stars += "*a";
  EXPECT_FALSE(globs_match({stars + "b"}, std::string(4096, 'a')));
}

}  // namespace
}  // namespace tangram::model
