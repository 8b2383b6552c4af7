// Filters that several threads share.

#include "extender/scheduling/decide.hpp"
#include "model/ledger.hpp"
#include "policies/registry.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tangram::extender {
namespace {

using policies::ChoiceCache;

/// 2,600 nodes of two cards, hardly any two of them alike. On every other one the cards are of two
/// models, so that it has no brief.
class SharedFilterTest : public ::testing::Test {
 protected:
  static constexpr int kNodes = 2'600;

  SharedFilterTest() {
    names_.reserve(kNodes);
    for (int i = 0; i < kNodes; ++i) add_node("node-" + std::to_string(i));
    for (int i = 0; i < 10; ++i) names_.push_back("unknown-" + std::to_string(i));
    for (std::size_t i = names_.size(); i > 1; --i) {
      std::swap(names_[i - 1],
                names_[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(i)))]);
    }
    cluster_ = ledger_.snapshot();
  }

  /// Each card is used, so no pod that wants a whole one fits.
  void add_node(const std::string& name) {
    const std::string other = names_.size() % 2 == 0 ? "A100" : "H100";
    const auto cards = {testing::card(name + "-0", "A100"), testing::card(name + "-1", other)};
    ledger_.put_node(testing::inventory(name, cards));
    for (const model::Card& card : cards) {
      auto pod = testing::allocation(
          "on-" + card.id, name,
          {testing::granted(card.id, random_.between(1, 70'000), random_.between(1, 900))});
      pod.priority = static_cast<int>(random_.below(3));
      ledger_.observe(std::move(pod));
    }
    names_.push_back(name);
  }

  struct Answer {
    std::vector<std::uint32_t> kept;
    std::vector<std::pair<std::string_view, std::string_view>> failed;
    std::vector<std::pair<std::string_view, std::string_view>> unresolvable;
    bool more_fit;
    std::optional<model::Misfit> nearest;
    friend bool operator==(const Answer&, const Answer&) = default;
  };
  static Answer comparable(const FilterResult& result) {
    Answer answer{result.kept, {}, {}, result.more_fit, result.nearest};
    for (const auto& node : result.failed) answer.failed.emplace_back(node.name, node.reason);
    for (const auto& node : result.unresolvable) {
      answer.unresolvable.emplace_back(node.name, node.reason);
    }
    return answer;
  }

  /// @param helpers  0 = a filter of one thread
  Answer filter_with(std::size_t helpers, const model::PodDemand& demand, ChoiceCache& cache,
                     std::size_t short_list = 3) {
    const std::vector<std::string_view> names(names_.begin(), names_.end());
    PodView view(*cluster_);
    for (const std::string& name : emptied_)
      view.replace(without_leaving(*cluster_->find(name), {"on-" + name + "-0"}));
    model::SearchBudget budget;
    auto pass = cache.open(*policy_, demand, *cluster_, budget, "pod");
    const FilterQuestion question{.names = names,
                                  .demand = demand,
                                  .refused = refused_,
                                  .short_list = short_list,
                                  .priority = 1};
    const Judge own = [&](auto nodes, auto verdicts) { return pass.judge(nodes, verdicts); };
    if (helpers == 0) return comparable(filter(question, view, own));
    judges_ = 0;
    ParallelLoops threads(helpers);
    const auto for_thread = [&]() -> Judge {
      ++judges_;
      return [&pass, walk = std::make_shared<ChoiceCache::Pass::Walk>()](
                 auto nodes, auto verdicts) { return pass.judge(nodes, verdicts, *walk); };
    };
    return comparable(filter(question, view, SharedJudge{own, for_thread, threads}));
  }

  testing::Random random_{7};
  testing::ManualClock clock_;
  model::Ledger ledger_{clock_};
  std::vector<std::string> names_;
  std::shared_ptr<const model::ClusterSnapshot> cluster_;
  std::unique_ptr<const policies::Policy> policy_ = *policies::make_policy("least-waste", {});
  NodeSet refused_;
  NodeSet emptied_;  ///< nodes whose first card counts as free
  int judges_ = 0;   ///< made for the helpers of the last filter
};

TEST_F(SharedFilterTest, AnswersAsOneThreadDoes) {
  refused_ = {"node-1", "node-2", "node-3"};
  for (const std::int64_t milli : {1, 200, 930}) {
    const model::PodDemand demand{.gpu = testing::request(testing::fraction(milli)),
                                  .footprint = {}};
    for (const std::size_t short_list : {0U, 8U}) {
      SCOPED_TRACE(std::to_string(milli) + " " + std::to_string(short_list));
      ChoiceCache alone(4);
      ChoiceCache shared(4);
      const Answer expected = filter_with(0, demand, alone, short_list);
      EXPECT_FALSE(expected.kept.empty());
      EXPECT_EQ(filter_with(3, demand, shared, short_list), expected);
      EXPECT_EQ(judges_, 3);
      EXPECT_EQ(filter_with(3, demand, shared, short_list), expected) << "by what is remembered";
      EXPECT_EQ(judges_, 0) << "nothing is left to share";
    }
  }
}

TEST_F(SharedFilterTest, GivesReasonsInTheOrderAsked) {
  const model::PodDemand demand{.gpu = testing::request(testing::whole()), .footprint = {}};
  ChoiceCache alone(4);
  ChoiceCache shared(4);
  const Answer expected = filter_with(0, demand, alone);
  EXPECT_FALSE(expected.failed.empty());
  EXPECT_FALSE(expected.unresolvable.empty());
  EXPECT_EQ(expected.failed.size() + expected.unresolvable.size(), names_.size());
  EXPECT_EQ(filter_with(2, demand, shared), expected);
  EXPECT_EQ(judges_, 2);
}

TEST_F(SharedFilterTest, StaysWithOneThreadForFewNodes) {
  names_.resize(1'000);
  const model::PodDemand demand{.gpu = testing::request(testing::fraction(200)), .footprint = {}};
  ChoiceCache alone(4);
  ChoiceCache shared(4);
  EXPECT_EQ(filter_with(3, demand, shared), filter_with(0, demand, alone));
  EXPECT_EQ(judges_, 0);
}

TEST_F(SharedFilterTest, StaysWithOneThreadWhereNodesLookAlike) {
  model::Ledger ledger(clock_);
  for (const std::string& name : names_) {
    ledger.put_node(testing::inventory(name, {testing::card(name + "-0")}));
  }
  cluster_ = ledger.snapshot();
  const model::PodDemand demand{.gpu = testing::request(testing::fraction(200)), .footprint = {}};
  ChoiceCache shared(4);
  EXPECT_EQ(filter_with(3, demand, shared).kept.size(), 3U);
  EXPECT_EQ(judges_, 0);
}

TEST_F(SharedFilterTest, AnswersAsOneThreadDoesOfNodesThatThePodSeesOtherwise) {
  for (int i = 0; i < 5; ++i) emptied_.insert("node-" + std::to_string(500 * i));
  model::PodDemand picky{.gpu = testing::request(testing::fraction(100)), .footprint = {}};
  picky.gpu.card_ids = {"node-500-0", "node-1001-1", "node-2002-0"};
  const std::vector<model::PodDemand> demands{
      {.gpu = testing::request(testing::whole()), .footprint = {}}, picky, {}};
  for (const model::PodDemand& demand : demands) {
    ChoiceCache alone(4);
    ChoiceCache shared(4);
    const Answer expected = filter_with(0, demand, alone);
    EXPECT_FALSE(expected.kept.empty());
    EXPECT_EQ(filter_with(3, demand, shared), expected);
    EXPECT_EQ(filter_with(3, demand, shared), expected);
  }
}

}  // namespace
}  // namespace tangram::extender
