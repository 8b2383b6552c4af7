#include "policies/choice_cache.hpp"

#include "tests/policies/cluster.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tangram::policies {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

/// Answers with the node's version, and counts how often it is asked.
class CountingPolicy final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "counting"; }
  bool alike = false;     ///< answers the same of all nodes
  mutable int asked = 0;  // tests call from one thread, or under the cache's lock of one shape

 private:
  [[nodiscard]] std::optional<Choice> do_choose(const model::PodDemand& /*demand*/,
                                                const model::NodeState& node,
                                                model::SearchBudget& budget,
                                                model::CardMemo* /*memo*/) const override {
    ++asked;
    if (node.cards().empty()) return std::nullopt;
    if (budget.spent()) {
      budget.skip_search();
      return std::nullopt;
    }
    budget.spend(1);
    return Choice{.score = alike ? 7 : static_cast<std::int64_t>(node.version), .placement = {}};
  }
};

model::NodeState version(std::uint64_t number, bool with_card = true) {
  model::NodeState state = with_card ? loaded_node({{0}}) : loaded_node({});
  state.version = number;
  return state;
}

constexpr model::Look kLook{.version = 1, .index = 0};

/// A node that looks like no other one.
model::ClusterSnapshot::Found found(model::NodeIndex index, const model::NodeState& state) {
  return {.index = index, .look = {.version = state.version, .index = index}, .node = &state};
}

class ChoiceCacheTest : public ::testing::Test {
 protected:
  /// Each time for another pod.
  std::int64_t score(const model::PodDemand& demand, model::NodeIndex index,
                     const model::NodeState& state) {
    return score_for(std::to_string(++pods_), demand, index, state);
  }
  std::int64_t score_for(std::string_view pod, const model::PodDemand& demand,
                         model::NodeIndex index, const model::NodeState& state) {
    model::SearchBudget no_limit;
    return cache_.open(policy_, demand, cluster_, no_limit, pod).judge(found(index, state)).score();
  }

  CountingPolicy policy_;
  const model::ClusterSnapshot cluster_{1,
                                        std::make_shared<const model::HashIndex>(),
                                        {std::make_shared<const model::NodeRun>()},
                                        model::kNodesPerRun + 5};
  model::SearchBudget budget_;
  std::atomic<int> pods_ = 0;
  ChoiceCache cache_{2};
  model::PodDemand small_ = pod(request(fraction(100)));
  model::PodDemand middle_ = pod(request(fraction(500)));
  model::PodDemand large_ = pod(request(whole()));
};

TEST(VerdictTest, TellsTheLowestScoreFromEveryMisfit) {
  EXPECT_TRUE(Verdict(Verdict::kLowestScore).fits());
  EXPECT_EQ(Verdict(Verdict::kLowestScore).score(), Verdict::kLowestScore);
  EXPECT_EQ(Verdict(Verdict::kLowestScore).misfit(), std::nullopt);
  for (std::size_t i = 0; i < model::kMisfits; ++i) {
    const auto misfit = static_cast<model::Misfit>(i);
    EXPECT_FALSE(Verdict(misfit).fits()) << i;
    EXPECT_EQ(Verdict(misfit).misfit(), misfit);
  }
}

TEST(VerdictTest, OrdersScoresAndBelowThemHowFarOthersGet) {
  EXPECT_LT(Verdict(1), Verdict(2));
  EXPECT_LT(Verdict(model::Misfit::kNotTried), Verdict(Verdict::kLowestScore));
  EXPECT_LT(Verdict(model::Misfit::kNoCards), Verdict(model::Misfit::kRoom));
}

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
  auto pass = cache_.open(policy_, small_, cluster_, budget_, "p");
  const model::NodeState empty = version(1, false);
  EXPECT_EQ(pass.judge(found(3, empty)).misfit(), model::Misfit::kNoCards);
  EXPECT_EQ(pass.judge(found(3, empty)).misfit(), model::Misfit::kNoCards);
  EXPECT_EQ(policy_.asked, 1);
}

TEST_F(ChoiceCacheTest, AsksAgainAboutANodeThatTheBudgetDidNotSufficeFor) {
  const model::NodeState first = version(1);
  const model::NodeState second = version(2);
  model::SearchBudget one_search(1);
  {
    auto pass = cache_.open(policy_, small_, cluster_, one_search, "p");
    EXPECT_EQ(pass.judge(found(1, first)).score(), 1);
    EXPECT_EQ(pass.judge(found(2, second)).misfit(), model::Misfit::kNotTried);
  }
  EXPECT_EQ(policy_.asked, 2);
  EXPECT_EQ(score(small_, 1, first), 1);
  EXPECT_EQ(policy_.asked, 2) << "what was found is remembered";
  EXPECT_EQ(score(small_, 2, second), 2);
  EXPECT_EQ(policy_.asked, 3);
}

TEST_F(ChoiceCacheTest, RemembersLooksBeyondTheNumberOfNodes) {
  const auto beyond = static_cast<model::NodeIndex>(cluster_.slots());
  ASSERT_LT(beyond, cluster_.look_places());
  EXPECT_EQ(score(small_, beyond, version(1)), 1);
  EXPECT_EQ(score(small_, beyond, version(1)), 1);
  EXPECT_EQ(policy_.asked, 1);
}

TEST_F(ChoiceCacheTest, SaysHowOftenThePolicyWasAsked) {
  const std::vector<model::NodeState> states{version(1), version(2), version(3)};
  std::vector<model::ClusterSnapshot::Found> nodes;
  for (const auto& state : states) {
    nodes.push_back(found(static_cast<model::NodeIndex>(nodes.size()), state));
  }
  nodes.push_back(nodes[2]);  // another node that looks like it
  std::vector<Verdict> verdicts(nodes.size());
  auto pass = cache_.open(policy_, small_, cluster_, budget_, "p");
  EXPECT_EQ(pass.judge(nodes[1]).score(), 2);
  EXPECT_EQ(pass.judge(nodes, verdicts), 2U);
  EXPECT_EQ(pass.judge(nodes, verdicts), 0U);
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
  EXPECT_EQ(cache_.open(other, small_, cluster_, budget_, "p").judge(found(0, state)).score(), 1);
  EXPECT_EQ(other.asked, 1);
}

TEST_F(ChoiceCacheTest, ForgetsTheLeastRecentlyUsedShape) {
  for (const auto* demand : {&small_, &small_, &middle_, &middle_}) {
    (void)score(*demand, 0, version(1));
  }
  (void)score(small_, 0, version(1));  // used again: middle_ is now the oldest
  (void)score(large_, 0, version(1));
  (void)score(large_, 0, version(1));  // pushes middle_ out
  EXPECT_EQ(policy_.asked, 3);
  (void)score(small_, 0, version(1));
  EXPECT_EQ(policy_.asked, 3);
  (void)score(middle_, 0, version(1));
  EXPECT_EQ(policy_.asked, 4);
}

TEST_F(ChoiceCacheTest, ShapesSeenOnceDoNotPushOutProvenOnes) {
  for (const auto* demand : {&small_, &small_, &middle_, &middle_}) {
    (void)score(*demand, 0, version(1));
  }
  for (int i = 1; i <= 20; ++i) (void)score(pod(request(fraction(i))), 0, version(1));
  EXPECT_EQ(policy_.asked, 22);
  (void)score(small_, 0, version(1));
  (void)score(middle_, 0, version(1));
  EXPECT_EQ(policy_.asked, 22);
}

TEST_F(ChoiceCacheTest, ShapesThatTakeTurnsAreProvenThoughTheirAnswersWereForgotten) {
  for (int turn = 0; turn < 5; ++turn) {
    (void)score(small_, 0, version(1));
    (void)score(middle_, 0, version(1));
  }
  EXPECT_EQ(policy_.asked, 3) << "one is on probation: it pushes out the answers of the other";
  EXPECT_EQ(cache_.shapes().size(), 2U);
  for (int i = 1; i <= 20; ++i) (void)score(pod(request(fraction(i))), 0, version(1));
  const int asked = policy_.asked;
  (void)score(small_, 0, version(1));
  EXPECT_EQ(policy_.asked, asked);
}

TEST_F(ChoiceCacheTest, OnePodThatAsksAgainProvesNoShape) {
  for (int i = 0; i < 3; ++i) (void)score_for("one", small_, 0, version(1));
  EXPECT_EQ(policy_.asked, 1);
  EXPECT_TRUE(cache_.shapes().empty());
  (void)score_for("another", small_, 0, version(1));
  EXPECT_EQ(cache_.shapes().size(), 1U);
}

TEST_F(ChoiceCacheTest, KeepsAPassAliveThatIsPushedOut) {
  auto pass = cache_.open(policy_, small_, cluster_, budget_, "p");
  (void)score(middle_, 0, version(1));
  (void)score(large_, 0, version(1));
  const model::NodeState state = version(4);
  EXPECT_EQ(pass.judge(found(0, state)).score(), 4);
}

TEST_F(ChoiceCacheTest, NeverRemembersANodeOutsideTheBooks) {
  EXPECT_EQ(score(small_, 0, version(0)), 0);
  EXPECT_EQ(score(small_, 0, version(0)), 0);
  EXPECT_EQ(policy_.asked, 2);
}

TEST_F(ChoiceCacheTest, JudgesNodesOfOneLookOnce) {
  policy_.alike = true;
  const std::vector<model::NodeState> equal{version(1), version(2), version(3)};
  model::NodeState used = version(4);
  used.use[0].compute = MilliGpu(1);
  model::SearchBudget budget;
  auto pass = cache_.open(policy_, small_, cluster_, budget, "p");
  for (model::NodeIndex i = 0; i < 3; ++i) {
    EXPECT_EQ(pass.judge({.index = i, .look = kLook, .node = &equal[i]}).score(), 7);
  }
  EXPECT_EQ(policy_.asked, 1);
  (void)pass.judge({.index = 3, .look = {.version = 2, .index = 1}, .node = &used});
  EXPECT_EQ(policy_.asked, 2);
}

TEST_F(ChoiceCacheTest, TellsNodesApartWhereCardsAreNamed) {
  policy_.alike = true;
  model::PodDemand picky = small_;
  picky.gpu.card_ids = {"g*"};
  const std::vector<model::NodeState> equal{version(1), version(2)};
  model::SearchBudget budget;
  auto pass = cache_.open(policy_, picky, cluster_, budget, "p");
  for (model::NodeIndex i = 0; i < 2; ++i) {
    (void)pass.judge({.index = i, .look = kLook, .node = &equal[i]});
  }
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
