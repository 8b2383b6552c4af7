#include "extender/scheduling/decide.hpp"

#include "model/fit.hpp"
#include "model/ledger.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace tangram::extender {
namespace {

using testing::allocation;
using testing::card;
using testing::fraction;
using testing::granted;
using testing::inventory;
using testing::request;

/// Fits like any policy; scores nodes by the table.
class ScoreTable final : public policies::Policy {
 public:
  explicit ScoreTable(std::map<std::string, std::int64_t> scores) : scores_(std::move(scores)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "table"; }

 private:
  [[nodiscard]] std::optional<policies::Choice> do_choose(
      const model::PodDemand& demand, const model::NodeState& node, model::SearchBudget& budget,
      model::CardMemo* /*memo*/) const override {
    if (!model::place(
            demand.gpu, node, [](auto&&...) { return std::int64_t{0}; }, budget)) {
      return std::nullopt;
    }
    const auto score = scores_.find(node.name);
    return policies::Choice{.score = score == scores_.end() ? 0 : score->second, .placement = {}};
  }

  std::map<std::string, std::int64_t> scores_;
};

/// A cluster, a pod, and the answers to it.
class DecideTest : public ::testing::Test {
 protected:
  void add_node(const std::string& name, std::vector<model::Card> cards) {
    ledger_.put_node(inventory(name, std::move(cards)));
  }
  void add_free(const std::string& name) { add_node(name, {card("GPU-" + name)}); }
  void add_full(const std::string& name) {
    add_free(name);
    ledger_.observe(allocation("on-" + name, name, {granted("GPU-" + name, 81'920, 1000)}));
  }

  FilterResult filter_all(std::size_t short_list = 0) {
    return filter_all(*ledger_.snapshot(), short_list);
  }
  FilterResult filter_all(const PodView& view, std::size_t short_list = 0) {
    return filter({.names = names_,
                   .demand = demand_,
                   .refused = refused_,
                   .short_list = short_list,
                   .priority = priority_,
                   .nominated_node = nominated_},
                  view, judge());
  }
  std::vector<HostScore> prioritize_all() {
    return prioritize(names_, *ledger_.snapshot(), judge(), refused_);
  }

  /// The names of what was kept, in order.
  std::vector<std::string_view> kept(const FilterResult& result) const {
    std::vector<std::string_view> names;
    for (const std::uint32_t index : result.kept) names.push_back(names_.at(index));
    return names;
  }
  static std::vector<std::int64_t> scores_of(const std::vector<HostScore>& hosts) {
    std::vector<std::int64_t> scores;
    scores.reserve(hosts.size());
    for (const HostScore& host : hosts) scores.push_back(host.score);
    return scores;
  }

  testing::ManualClock clock_;
  model::Ledger ledger_{clock_};
  std::vector<std::string_view> names_;
  model::PodDemand demand_{.gpu = request(fraction(500)), .footprint = {}};
  NodeSet refused_;
  int priority_ = 1;
  std::string_view nominated_;
  std::map<std::string, std::int64_t> scores_;

 private:
  Judge judge() {
    policy_ = std::make_unique<ScoreTable>(scores_);
    return [this](auto nodes, auto verdicts) {
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].node != nullptr) verdicts[i] = verdict_on(*nodes[i].node);
      }
      return nodes.size();
    };
  }
  policies::Verdict verdict_on(const model::NodeState& node) const {
    const auto choice = policy_->choose(demand_, node);
    if (choice) return policies::Verdict(choice->score);
    return policies::Verdict(model::why_not(demand_.gpu, node));
  }
  std::unique_ptr<ScoreTable> policy_;
};

using Names = std::vector<std::string_view>;

TEST_F(DecideTest, OffersTheBestNodeFirst) {
  for (const char* name : {"a", "b", "c"}) add_free(name);
  scores_ = {{"a", -2}, {"b", 5}, {"c", 7}};
  names_ = {"a", "b", "c"};
  EXPECT_EQ(kept(filter_all(3)), (Names{"c", "b", "a"}));
  EXPECT_EQ(kept(filter_all()), (Names{"c", "a", "b"})) << "of all, the others as they were asked";
}

TEST_F(DecideTest, OffersNodesOfOneScoreInTheOrderAsked) {
  for (const char* name : {"a", "b", "c"}) add_free(name);
  names_ = {"b", "c", "a"};
  EXPECT_EQ(kept(filter_all()), names_);
  EXPECT_EQ(kept(filter_all(2)), (Names{"b", "c"}));
}

TEST_F(DecideTest, KeepsTheShortListAndSaysNothingOfTheRest) {
  for (const char* name : {"a", "b", "c", "d"}) add_free(name);
  scores_ = {{"a", 1}, {"b", 4}, {"c", 3}, {"d", 2}};
  names_ = {"a", "b", "c", "d"};
  const FilterResult result = filter_all(2);
  EXPECT_EQ(kept(result), (Names{"b", "c"}));
  EXPECT_TRUE(result.failed.empty());
  EXPECT_TRUE(result.unresolvable.empty());
}

TEST_F(DecideTest, SplitsReasonsByWhetherEvictionCouldHelp) {
  add_full("full");
  add_node("bare", {});
  model::Card sick = card("GPU-sick");
  sick.healthy = false;
  add_node("sick", {sick});
  names_ = {"gone", "full", "bare", "sick"};
  const FilterResult result = filter_all();
  EXPECT_TRUE(result.kept.empty());
  ASSERT_EQ(result.failed.size(), 1U);
  EXPECT_EQ(result.failed[0].name, "full");
  EXPECT_EQ(result.failed[0].reason, model::reason(model::Misfit::kRoom));
  ASSERT_EQ(result.unresolvable.size(), 3U);
  EXPECT_EQ(result.unresolvable[0].name, "gone");
  EXPECT_EQ(result.unresolvable[0].reason, model::reason(model::Misfit::kUnknownNode));
  EXPECT_EQ(result.unresolvable[1].name, "bare");
  EXPECT_EQ(result.unresolvable[1].reason, model::reason(model::Misfit::kNoCards));
  EXPECT_EQ(result.unresolvable[2].name, "sick");
  EXPECT_EQ(result.unresolvable[2].reason, model::reason(model::Misfit::kUnavailable));
}

TEST_F(DecideTest, AnEvictionCouldHelpByThePodsThatANodeIsSeenWith) {
  add_free("a");
  const auto snapshot = ledger_.snapshot();
  PodView view(*snapshot);
  view.replace(
      model::with_pod(*view.find("a"), allocation("on-a", "a", {granted("GPU-a", 81'920, 1000)})));
  names_ = {"a"};
  EXPECT_EQ(filter_all(view).failed.size(), 1U);
}

TEST_F(DecideTest, SaysNothingOfOtherNodesWhereOneFits) {
  add_free("free");
  add_full("full");
  names_ = {"gone", "full", "free"};
  const FilterResult result = filter_all();
  EXPECT_EQ(kept(result), Names{"free"});
  EXPECT_TRUE(result.failed.empty());
  EXPECT_TRUE(result.unresolvable.empty());
}

TEST_F(DecideTest, ANodeWithoutLessImportantPodsIsUnresolvable) {
  for (const char* name : {"less", "equal", "both", "cpu"}) add_free(name);
  const auto put = [&](const std::string& uid, const std::string& node, int priority, int milli) {
    model::Allocation pod =
        allocation(uid, node, {granted("GPU-" + node, std::int64_t{milli} * 80, milli)});
    pod.priority = priority;
    if (milli == 0) pod.containers.clear();
    ledger_.observe(pod);
  };
  put("l", "less", 4, 900);
  put("e", "equal", 5, 900);
  put("b1", "both", 4, 300);
  put("b2", "both", 9, 600);
  put("c1", "cpu", 0, 0);  // it has no card to give
  put("c2", "cpu", 5, 900);
  names_ = {"less", "equal", "both", "cpu"};
  priority_ = 5;
  const auto failed = [&] {
    Names names;
    for (const FailedNode& node : filter_all().failed) names.push_back(node.name);
    return names;
  };
  EXPECT_EQ(failed(), (Names{"less", "both"}));
  EXPECT_EQ(filter_all().unresolvable.size(), 2U);
  nominated_ = "equal";  // its victims are gone, and others were faster
  EXPECT_EQ(failed(), (Names{"less", "equal", "both"}));
  names_.emplace_back("elsewhere");  // not known; perhaps it was a moment ago
  nominated_ = "elsewhere";
  EXPECT_EQ(failed(), (Names{"less", "both", "elsewhere"}));
  names_.pop_back();
  nominated_ = "";
  ledger_.release("b1");
  EXPECT_EQ(failed(), Names{"less"});
}

TEST_F(DecideTest, CallsNoNodeUnresolvableThatIsBeingEmptied) {
  model::Card sick = card("GPU-sick");
  sick.healthy = false;
  add_node("sick", {sick});
  model::Allocation victim = allocation("v", "sick", {granted("GPU-sick", 80, 1)});
  victim.priority = 4;
  names_ = {"sick"};
  priority_ = 5;
  ledger_.observe(victim);
  EXPECT_EQ(filter_all().unresolvable.size(), 1U);
  victim.terminating = true;
  ledger_.observe(victim);
  EXPECT_EQ(filter_all().failed.size(), 1U);
  priority_ = 4;
  EXPECT_EQ(filter_all().unresolvable.size(), 1U) << "it was not evicted for this pod";
}

TEST_F(DecideTest, RanksRefusedNodesLastButStillOffersThem) {
  for (const char* name : {"a", "b", "c"}) add_free(name);
  scores_ = {{"a", 9}, {"b", 1}, {"c", 2}};
  names_ = {"a", "b", "c"};
  refused_ = {"a"};
  EXPECT_EQ(kept(filter_all(3)), (Names{"c", "b", "a"}));
  EXPECT_EQ(kept(filter_all(1)), Names{"c"});
  EXPECT_EQ(kept(filter_all()), (Names{"c", "b", "a"}));
  refused_ = {"a", "b", "c"};
  EXPECT_EQ(kept(filter_all(1)), Names{"a"});
}

TEST_F(DecideTest, TakesAnyNodeForAPodWithoutCards) {
  add_full("full");
  demand_.gpu = {};
  names_ = {"unknown", "full"};
  const FilterResult result = filter_all();
  EXPECT_EQ(kept(result), (Names{"full", "unknown"}));  // what is known goes first
  EXPECT_TRUE(result.failed.empty());
  EXPECT_TRUE(result.unresolvable.empty());
}

TEST_F(DecideTest, AnswersNothingToNoNodes) {
  const FilterResult result = filter_all(8);
  EXPECT_TRUE(result.kept.empty() && result.failed.empty() && result.unresolvable.empty());
  EXPECT_TRUE(prioritize_all().empty());
}

TEST_F(DecideTest, TreatsANodeThatLeftAsUnknown) {
  add_full("left");
  ledger_.remove_node("left");
  names_ = {"left"};
  const FilterResult result = filter_all();
  EXPECT_TRUE(result.kept.empty());
  ASSERT_EQ(result.unresolvable.size(), 1U);
  EXPECT_EQ(result.unresolvable[0].reason, model::reason(model::Misfit::kUnknownNode));
}

// ---- prioritize

TEST_F(DecideTest, GivesTheBestNodeAloneTen) {
  for (const char* name : {"a", "b", "c"}) add_free(name);
  names_ = {"a", "b", "c"};
  EXPECT_EQ(scores_of(prioritize_all()), (std::vector<std::int64_t>{10, 9, 9}));
  // 0..100 becomes 0..9: floor(9 * 60 / 100) = 5.
  scores_ = {{"a", 0}, {"b", 60}, {"c", 100}};
  EXPECT_EQ(scores_of(prioritize_all()), (std::vector<std::int64_t>{0, 5, 10}));
}

TEST_F(DecideTest, GivesNodesThatDoNotFitOrWereRefusedZero) {
  for (const char* name : {"a", "b"}) add_free(name);
  add_full("full");
  scores_ = {{"a", 1}, {"b", 9}};
  names_ = {"a", "b", "full", "unknown"};
  refused_ = {"b"};
  EXPECT_EQ(scores_of(prioritize_all()), (std::vector<std::int64_t>{10, 0, 0, 0}));
  refused_ = {"a", "b"};
  EXPECT_EQ(scores_of(prioritize_all()), (std::vector<std::int64_t>{0, 0, 0, 0}));
}

TEST_F(DecideTest, SpreadsTheLargestScoresThereAre) {
  for (const char* name : {"a", "b", "c"}) add_free(name);
  constexpr std::int64_t kHuge = std::int64_t{1} << 61;
  scores_ = {{"a", -kHuge}, {"b", 0}, {"c", kHuge}};
  names_ = {"a", "b", "c"};
  EXPECT_EQ(scores_of(prioritize_all()), (std::vector<std::int64_t>{0, 4, 10}));
}

// ---- Random clusters beside the plainest reading of the rules.

enum class Sort { kFree, kFull, kUnknown };

struct Wanted {
  std::vector<std::string_view> kept;
  std::set<std::string_view> failed;
  std::set<std::string_view> unresolvable;
};

class RandomDecideTest : public DecideTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  void build(std::mt19937& random) {
    const auto count = random() % (random() % 3 == 0 ? 300 : 40);
    texts_.clear();
    for (std::size_t i = 0; i < count; ++i) texts_.push_back("n" + std::to_string(i));
    std::shuffle(texts_.begin(), texts_.end(), random);
    for (const std::string& name : texts_) {
      sorts_[name] = static_cast<Sort>(random() % 3);
      if (sorts_[name] == Sort::kFree) add_free(name);
      if (sorts_[name] == Sort::kFull) add_full(name);
      scores_[name] = static_cast<std::int64_t>(random() % 7) - 3;  // few values: many ties
      if (random() % 4 == 0) refused_.insert(name);
      names_.push_back(name);
    }
  }

  void put_in_order(std::vector<std::string_view>& kept, std::size_t short_list) const {
    const auto better = [&](auto a, auto b) {
      if (refused_.contains(a) != refused_.contains(b)) return refused_.contains(b);
      return scores_.at(std::string(a)) > scores_.at(std::string(b));
    };
    if (short_list > 0) {
      std::ranges::stable_sort(kept, better);
    } else if (!kept.empty()) {
      const std::string_view best = *std::ranges::min_element(kept, better);
      std::ranges::stable_sort(kept, {}, [&](std::string_view name) {
        return name == best ? 0 : 1 + static_cast<int>(refused_.contains(name));
      });
    }
  }

  Wanted wanted(std::size_t short_list) const {
    Wanted all;
    for (const std::string_view name : names_) {
      const Sort sort = sorts_.at(std::string(name));
      if (sort == Sort::kFree) all.kept.push_back(name);
      if (sort == Sort::kFull) all.failed.insert(name);
      if (sort == Sort::kUnknown) all.unresolvable.insert(name);
    }
    put_in_order(all.kept, short_list);
    if (!all.kept.empty()) all.failed.clear();
    if (!all.kept.empty()) all.unresolvable.clear();
    if (short_list != 0 && all.kept.size() > short_list) all.kept.resize(short_list);
    return all;
  }

  std::vector<std::string> texts_;
  std::map<std::string, Sort> sorts_;
};

TEST_P(RandomDecideTest, FiltersByTheRules) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937 random(GetParam());
  build(random);
  for (const std::size_t short_list : {0U, 1U, 3U, 8U, 100U}) {
    const FilterResult result = filter_all(short_list);
    const Wanted want = wanted(short_list);
    EXPECT_EQ(kept(result), want.kept) << "short list " << short_list;
    std::set<std::string_view> failed;
    std::set<std::string_view> unresolvable;
    for (const FailedNode& node : result.failed) EXPECT_TRUE(failed.insert(node.name).second);
    for (const FailedNode& node : result.unresolvable) {
      EXPECT_TRUE(unresolvable.insert(node.name).second);
    }
    EXPECT_EQ(failed, want.failed);
    EXPECT_EQ(unresolvable, want.unresolvable);
  }
}

TEST_P(RandomDecideTest, ScoresByTheRules) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937 random(GetParam());
  build(random);
  const auto hosts = prioritize_all();
  ASSERT_EQ(hosts.size(), names_.size());
  std::vector<std::string_view> best = wanted(0).kept;
  std::erase_if(best, [&](std::string_view name) { return refused_.contains(name); });
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    EXPECT_EQ(hosts[i].host, names_[i]);
    const bool fits = std::find(best.begin(), best.end(), hosts[i].host) != best.end();
    if (!fits) {
      EXPECT_EQ(hosts[i].score, 0);
    } else if (hosts[i].host == best.front()) {
      EXPECT_EQ(hosts[i].score, 10);
    } else {
      EXPECT_GE(hosts[i].score, 0);
      EXPECT_LE(hosts[i].score, 9);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomDecideTest, ::testing::Range(0U, 50U));

}  // namespace
}  // namespace tangram::extender
