#include "model/compute_chunks.hpp"

#include "model/fit.hpp"
#include "model/request.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tangram::model {
namespace {

using namespace tangram::literals;
using testing::fraction;
using testing::memory;

Card card_of(int chunks) {
  Card card = testing::card("GPU-1", "A100", 81'920_mib);
  card.compute_chunks = chunks;
  return card;
}

Share by_mps(Share share) {
  share.by_mps = true;
  return share;
}

TEST(ComputeChunksTest, AShareHasWholeChunksAndNoMore) {
  // An A100 has 27 chunks of 4 multiprocessors: half of them is 13, booked as 13/27.
  const Slice half = slice_of(by_mps(fraction(500)), card_of(27));
  EXPECT_EQ(half.compute, 481_mgpu);
  EXPECT_EQ(half.memory, 40'960_mib) << "of compute only";
  EXPECT_EQ(slice_of(by_mps(fraction(500)), card_of(16)).compute, 500_mgpu);
  Share burst = by_mps(fraction(250));
  burst.compute_limit = 1000_mgpu;
  EXPECT_EQ(slice_of(burst, card_of(16)).compute_limit, 250_mgpu);
}

TEST(ComputeChunksTest, OnlyMpsGivesThem) {
  EXPECT_EQ(slice_of(fraction(500), card_of(27)).compute, 500_mgpu);
  Share best_effort = memory(8192);
  best_effort.compute = 0_mgpu;
  EXPECT_EQ(slice_of(best_effort, card_of(27)).compute_limit, kWholeGpu);
}

TEST(ComputeChunksTest, AShareBelowOneDoesNotFit) {
  GpuRequest request;
  const auto fits = [&](const Share& share) {
    request.isolation = share.by_mps ? Isolation::kMps : Isolation::kTimeSlice;
    return card_misfit(request, slice_of(share, card_of(16)), card_of(16), {});
  };
  Share best_effort = memory(8192);
  best_effort.compute = 0_mgpu;
  EXPECT_EQ(fits(by_mps(fraction(62))), Misfit::kTooSmall);  // of 62.5
  EXPECT_EQ(fits(by_mps(best_effort)), Misfit::kTooSmall);
  EXPECT_EQ(fits(by_mps(fraction(63))), std::nullopt);
  EXPECT_EQ(fits(fraction(1)), std::nullopt);
  EXPECT_EQ(fits(best_effort), std::nullopt);
}

TEST(ComputeChunksTest, AWholeCardIsNotDivided) {
  const Slice slice = slice_of(by_mps(fraction(1000)), card_of(16));
  EXPECT_TRUE(slice.whole);
  EXPECT_EQ(slice.compute, kWholeGpu);
  EXPECT_EQ(slice_of(testing::whole(), card_of(16)).compute, kWholeGpu);
}

TEST(ComputeChunksTest, BookedAmountsSayHowManyChunksTheyAre) {
  for (int chunks = 1; chunks <= kMaxComputeChunks; ++chunks) {
    for (std::int64_t count = 0; count <= chunks; ++count) {
      EXPECT_EQ(booked_chunks(booked_for(count, chunks), chunks), count) << "of " << chunks;
    }
  }
}

class ComputeChunksPropertyTest : public ::testing::Test {
 protected:
  const std::random_device::result_type seed_ = std::random_device{}();
  testing::Random random_{seed_};
};

TEST_F(ComputeChunksPropertyTest, AmountsThatFitACardAreNoMoreChunksThanItHas) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int round = 0; round < 20'000; ++round) {
    const auto chunks = static_cast<int>(random_.between(1, kMaxComputeChunks));
    const Card card = card_of(chunks);
    MilliGpu booked;
    std::int64_t taken = 0;
    for (int sharers = 0; sharers < most_sharers(chunks); ++sharers) {
      const std::int64_t most = random_.chance(50) ? 999 : 30;
      const MilliGpu compute = slice_of(by_mps(fraction(random_.between(1, most))), card).compute;
      if (booked + compute > kWholeGpu) continue;
      booked += compute;
      taken += booked_chunks(compute, chunks);
    }
    ASSERT_LE(taken, chunks) << booked;
  }
}

TEST_F(ComputeChunksPropertyTest, SharesThatAddUpToACardFitIt) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int round = 0; round < 5000; ++round) {
    const auto chunks = static_cast<int>(random_.between(1, 100));
    MilliGpu booked;
    for (std::int64_t left = 1000; left > 0;) {
      const std::int64_t milli = random_.between(1, std::min<std::int64_t>(left, 999));
      booked += slice_of(by_mps(fraction(milli)), card_of(chunks)).compute;
      left -= milli;
    }
    ASSERT_LE(booked, kWholeGpu) << chunks;
  }
}

}  // namespace
}  // namespace tangram::model
