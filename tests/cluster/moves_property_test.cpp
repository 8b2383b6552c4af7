// Plans of moves on random clusters, against a checker and an exhaustive search in plain numbers
// that share no code with the planner.

#include "policies/registry.hpp"
#include "tests/cluster/plain_cluster.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>

namespace tangram::testing {
namespace {

TEST(MovesPropertyTest, KeepAllRulesOnRandomClusters) {
  int with_moves = 0;
  int with_several_arrivals = 0;
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    Random random(seed);
    const PlainCluster cluster = random_cluster(random, 24);
    const std::string policy(random.one_of(policies::policy_names()));
    const auto plan = plan_for(cluster, policy);
    ASSERT_EQ(mistake_in(cluster, plan), "") << "seed " << seed << ", policy " << policy;
    with_moves += plan.moves.empty() ? 0 : 1;
    with_several_arrivals += plan.arrivals.size() > 1 ? 1 : 0;
  }
  std::cout << with_moves << " plans with moves, " << with_several_arrivals
            << " with several arrivals\n";
  EXPECT_GE(with_moves, 1'000);
  EXPECT_GE(with_several_arrivals, 50);
}

TEST(MovesPropertyTest, StayRightWhereTheStepsDoNotSuffice) {
  int with_moves = 0;
  for (std::uint64_t seed = 0; seed < 1'500; ++seed) {
    Random random(seed);
    const PlainCluster cluster = random_cluster(random, 24);
    const auto plan = plan_for(
        cluster, "binpack",
        cluster::MoveLimits{
            .moves = cluster.most_moves, .steps = random.below(60), .searches = random.below(200)});
    ASSERT_EQ(mistake_in(cluster, plan), "") << "seed " << seed;
    with_moves += plan.moves.empty() ? 0 : 1;
  }
  EXPECT_GE(with_moves, 100);
}

TEST(MovesPropertyTest, AreFoundWhereAnExhaustiveSearchFindsTwoAndAreHardlyMore) {
  int possible = 0;
  int found = 0;
  int fewest = 0;
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    Random random(seed);
    PlainCluster cluster = random_cluster(random, 12);
    cluster.wanted.resize(1);
    cluster.most_moves = 6;
    const auto least = fewest_moves(cluster, 2);
    if (!least) continue;
    const auto plan = plan_for(cluster);
    ++possible;
    if (plan.moves.empty()) {
      if (possible - found < 12) std::cout << "none found for seed " << seed << "\n";
      continue;
    }
    ++found;
    fewest += plan.moves.size() == *least ? 1 : 0;
    ASSERT_LE(plan.moves.size(), 2 * *least) << "seed " << seed;
    ASSERT_GE(plan.moves.size(), *least) << "seed " << seed;
  }
  std::cout << "found " << found << " of " << possible << ", with fewest moves " << fewest << "\n";
  EXPECT_GE(possible, 500);
  EXPECT_GE(100 * found, 95 * possible);
  EXPECT_GE(100 * fewest, 95 * found);
}

}  // namespace
}  // namespace tangram::testing
