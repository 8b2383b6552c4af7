#include "bench/replay/small_clusters.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::bench {
namespace {

TEST(SmallClustersTest, RequestsNoMoreThanTheLoad) {
  for (const SmallCluster& cluster : small_clusters()) {
    const Trace trace = generate(cluster, 7);
    std::int64_t requested = 0;
    for (const TracePod& pod : trace.arrivals) requested += pod.total_milli();
    EXPECT_LE(100 * requested, cluster.load_percent * trace.capacity_milli());
    EXPECT_EQ(trace.nodes.size(), static_cast<std::size_t>(cluster.nodes));
  }
}

TEST(SmallClustersTest, PutsWholeCardsWhereTheClassSays) {
  const auto is_whole = [](const TracePod& pod) { return pod.gpu_milli == 1000; };
  SmallCluster cluster{.nodes = 8, .whole = WholePods::kFirst};
  const auto first = generate(cluster, 1).arrivals;
  EXPECT_TRUE(std::is_partitioned(first.begin(), first.end(), is_whole));
  cluster.whole = WholePods::kLast;
  const auto last = generate(cluster, 1).arrivals;
  EXPECT_TRUE(std::is_partitioned(last.rbegin(), last.rend(), is_whole));
  EXPECT_TRUE(is_whole(last.back()));
}

/// Shares of arbitrary size, then whole cards, with room for all: no share may open a card that a
/// pod after it needs whole.
TEST(SmallClustersTest, LeastWasteKeepsCardsWholeAsWellAsABestFit) {
  // Enough to tell the two apart; tangram-small-clusters replays many more.
  constexpr std::uint64_t kSeeds = 10;
  for (const WholePods whole : {WholePods::kLast, WholePods::kMixed}) {
    double waiting = 0;
    double waiting_best_fit = 0;
    double idle = 0;
    double idle_best_fit = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Trace trace =
          generate({.nodes = 3, .sizes = 0, .load_percent = 80, .whole = whole}, seed);
      const auto mine = pack(trace, "least-waste");
      const auto other = pack(trace, "bestfit");
      ASSERT_TRUE(mine.has_value()) << mine.error().message;
      ASSERT_TRUE(other.has_value()) << other.error().message;
      waiting += mine->waiting;
      waiting_best_fit += other->waiting;
      idle += mine->idle;
      idle_best_fit += other->idle;
    }
    EXPECT_LE(waiting, 1.05 * waiting_best_fit) << name_of(whole);
    EXPECT_GE(idle, 0.95 * idle_best_fit) << name_of(whole);
  }
}

}  // namespace
}  // namespace tangram::bench
