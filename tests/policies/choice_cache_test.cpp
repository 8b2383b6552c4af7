#include "policies/choice_cache.hpp"

#include "tests/policies/cluster.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tangram::policies {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

/// Answers with the node's version, and counts how often it is asked.
class CountingPolicy final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "counting"; }
  [[nodiscard]] std::optional<Choice> choose(const model::PodDemand& /*demand*/,
                                             const model::NodeState& node) const override {
    ++asked;
    if (node.cards().empty()) return std::nullopt;
    return Choice{.score = static_cast<std::int64_t>(node.version), .placement = {}};
  }
  mutable int asked = 0;  // tests call from one thread, or under the cache's lock of one shape
};

model::NodeState version(std::uint64_t number, bool with_card = true) {
  model::NodeState state = with_card ? loaded_node({{0}}) : loaded_node({});
  state.version = number;
  return state;
}

class ChoiceCacheTest : public ::testing::Test {
 protected:
  std::int64_t score(const model::PodDemand& demand, model::NodeIndex index,
                     const model::NodeState& state) {
    return cache_.open(policy_, demand, cluster_).judge({index, state.version, &state}).score;
  }

  CountingPolicy policy_;
  const model::ClusterSnapshot cluster_;
  ChoiceCache cache_{2};
  model::PodDemand small_ = pod(request(fraction(100)));
  model::PodDemand middle_ = pod(request(fraction(500)));
  model::PodDemand large_ = pod(request(whole()));
};

TEST_F(ChoiceCacheTest, AsksOncePerNodeVersion) {
  EXPECT_EQ(score(small_, 7, version(1)), 1);
  EXPECT_EQ(score(small_, 7, version(1)), 1);
  EXPECT_EQ(policy_.asked, 1);
  EXPECT_EQ(score(small_, 7, version(2)), 2);
  EXPECT_EQ(policy_.asked, 2);
}

TEST_F(ChoiceCacheTest, AnswersAnOlderSnapshotByThatSnapshot) {
  EXPECT_EQ(score(small_, 0, version(2)), 2);
  EXPECT_EQ(score(small_, 0, version(1)), 1);
  EXPECT_EQ(policy_.asked, 2);
}

TEST_F(ChoiceCacheTest, RemembersThatNothingFits) {
  auto pass = cache_.open(policy_, small_, cluster_);
  const model::NodeState empty = version(1, false);
  EXPECT_EQ(pass.judge({3, 1, &empty}).misfit, model::Misfit::kNoCards);
  EXPECT_EQ(pass.judge({3, 1, &empty}).misfit, model::Misfit::kNoCards);
  EXPECT_EQ(policy_.asked, 1);
}

TEST_F(ChoiceCacheTest, SharesAnswersBetweenPodsThatDifferInNamesOnly) {
  model::PodDemand twin = small_;
  twin.gpu.containers[0].container = "other";
  twin.gpu.policy = "counting";
  twin.gpu.containers[0].share.memory_limit = Mebibytes(80'000);
  EXPECT_EQ(score(small_, 0, version(1)), 1);
  EXPECT_EQ(score(twin, 0, version(1)), 1);
  EXPECT_EQ(policy_.asked, 1);
}

TEST_F(ChoiceCacheTest, KeepsShapesPoliciesAndNodesApart) {
  const CountingPolicy other;
  EXPECT_EQ(score(small_, 0, version(1)), 1);
  EXPECT_EQ(score(middle_, 0, version(1)), 1);
  EXPECT_EQ(score(small_, 1, version(5)), 5);
  EXPECT_EQ(policy_.asked, 3);
  model::PodDemand picky = small_;
  picky.gpu.card_ids = {"GPU-1"};
  EXPECT_EQ(score(picky, 0, version(1)), 1);
  EXPECT_EQ(policy_.asked, 4);
  const model::NodeState state = version(1);
  EXPECT_EQ(cache_.open(other, small_, cluster_).judge({0, 1, &state}).score, 1);
  EXPECT_EQ(other.asked, 1);
}

TEST_F(ChoiceCacheTest, ForgetsTheLeastRecentlyUsedShape) {
  (void)score(small_, 0, version(1));
  (void)score(middle_, 0, version(1));
  (void)score(small_, 0, version(1));  // used again: middle_ is now the oldest
  (void)score(large_, 0, version(1));  // pushes middle_ out
  EXPECT_EQ(policy_.asked, 3);
  (void)score(small_, 0, version(1));
  EXPECT_EQ(policy_.asked, 3);
  (void)score(middle_, 0, version(1));
  EXPECT_EQ(policy_.asked, 4);
}

TEST_F(ChoiceCacheTest, KeepsAPassAliveThatIsPushedOut) {
  auto pass = cache_.open(policy_, small_, cluster_);
  (void)score(middle_, 0, version(1));
  (void)score(large_, 0, version(1));
  const model::NodeState state = version(4);
  EXPECT_EQ(pass.judge({0, 4, &state}).score, 4);
}

TEST_F(ChoiceCacheTest, NeverRemembersANodeOutsideTheBooks) {
  EXPECT_EQ(score(small_, 0, version(0)), 0);
  EXPECT_EQ(score(small_, 0, version(0)), 0);
  EXPECT_EQ(policy_.asked, 2);
}

TEST_F(ChoiceCacheTest, ServesManyThreads) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kNodes = 50;
  std::vector<std::thread> threads;
  std::vector<int> wrong(kThreads, 0);
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t, &wrong] {
      for (std::uint64_t i = 1; i <= kNodes; ++i) {
        const auto expected = static_cast<std::int64_t>(i);
        if (score(small_, static_cast<model::NodeIndex>(i), version(i)) != expected) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
  EXPECT_EQ(policy_.asked, static_cast<int>(kNodes));
}

}  // namespace
}  // namespace tangram::policies
