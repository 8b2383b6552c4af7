// Random nodes and requests, for what must hold whatever the policy.

#include "base/clock.hpp"
#include "model/fit.hpp"
#include "model/ledger.hpp"
#include "model/placement.hpp"
#include "policies/choice_cache.hpp"
#include "policies/registry.hpp"
#include "tests/model/random_cluster.hpp"
#include "tests/policies/cluster.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <iostream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tangram::policies {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr int kRounds = 3000;

model::Share random_share(Random& random) {
  switch (random.between(0, 3)) {
    case 0:
      return whole();
    case 1:
      return memory(random.between(1, 90'000));
    default:
      return fraction(random.between(1, 10) * 100);
  }
}

model::PodDemand random_pod(Random& random) {
  model::GpuRequest gpu;
  const auto containers = random.between(0, 3);
  for (std::int64_t i = 0; i < containers; ++i) {
    gpu.containers.push_back({.container = "c" + std::to_string(i),
                              .count = static_cast<int>(random.between(1, 2)),
                              .share = random_share(random)});
  }
  if (random.one_in(4)) gpu.models = {random.one_in(2) ? "A100*" : "!T4"};
  if (random.one_in(6)) gpu.card_ids = {random.one_in(2) ? "g1" : "!g?"};
  gpu.isolation = random.one_in(3) ? model::Isolation::kNone : model::Isolation::kMps;
  return pod(gpu, random.between(0, 20) * 1000, random.between(0, 1000));
}

model::NodeState random_node(Random& random) {
  std::vector<model::Card> cards;
  const auto count = random.between(0, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    cards.push_back(card("g" + std::to_string(i), random.one_in(3) ? "T4" : "A100",
                         Mebibytes(random.one_in(3) ? 16'384 : 81'920)));
    cards.back().healthy = !random.one_in(10);
    cards.back().max_sharers = static_cast<int>(random.between(1, 4));
  }
  model::NodeState state = node(inventory("n", std::move(cards)));
  for (std::size_t i = 0; i < state.use.size(); ++i) {
    state.use[i] = used(state.cards()[i], {random.between(0, 10) * 100, 1});
  }
  state.requested.cpu = MilliCpu(random.between(0, 70) * 1000);
  state.present = !random.one_in(20);
  return state;
}

class PoliciesPropertyTest : public ::testing::Test {
 protected:
  PoliciesPropertyTest() {
    RecordProperty("seed", static_cast<int>(seed_));
    std::cout << "seed " << seed_ << std::endl;  // at once: a sanitizer ends the program
    WorkloadCounter counter;
    for (int i = 0; i < 50; ++i) counter.add(random_pod(random_));
    options_.workload = std::make_shared<const Workload>(counter.top(kCoveragePercent));
    model::Ledger ledger(clock_);
    for (int i = 0; i < 10; ++i) {
      model::NodeInventory what = *random_node(random_).inventory;
      what.name = "n" + std::to_string(i);
      ledger.put_node(std::move(what));
    }
    options_.prices =
        std::make_shared<const Prices>(learn_prices(counter.top(kAllPods), *ledger.snapshot()));
  }

  SystemClock clock_;
  unsigned seed_ = std::random_device{}();
  Random random_{seed_};
  PolicyOptions options_;
};

/// Every card of the placement can take its slice, one after the other.
::testing::AssertionResult is_placeable(const model::PodDemand& demand,
                                        const model::NodeState& node,
                                        const model::Placement& placement) {
  int wanted = 0;
  for (const model::ContainerRequest& container : demand.gpu.containers) wanted += container.count;
  if (placement.size() != static_cast<std::size_t>(wanted)) {
    return ::testing::AssertionFailure() << placement.size() << " cards";
  }
  std::vector<model::CardUse> use = node.use;
  std::size_t next = 0;
  for (const auto& container : demand.gpu.containers) {
    for (int i = 0; i < container.count; ++i) {
      const auto at = placement[next++];
      const auto slice = slice_of(container.share, node.cards()[at]);
      if (card_misfit(demand.gpu, slice, node.cards()[at], use[at])) {
        return ::testing::AssertionFailure() << "card " << at;
      }
      model::charge(use[at], slice, demand.gpu.isolation);
    }
  }
  return ::testing::AssertionSuccess();
}

TEST_F(PoliciesPropertyTest, ChooseExactlyWhereThePodFits) {
  const PolicySet set(options_);
  int fitting = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto demand = random_pod(random_);
    const auto state = random_node(random_);
    const bool fits =
        model::place(demand.gpu, state, [](auto&&...) { return std::int64_t{0}; }).has_value();
    fitting += fits ? 1 : 0;
    for (const std::string_view name : policy_names()) {
      const auto choice = set.find(name)->choose(demand, state);
      ASSERT_EQ(choice.has_value(), fits) << name << ", round " << round;
      if (choice) {
        EXPECT_TRUE(is_placeable(demand, state, choice->placement)) << name << ", round " << round;
      }
    }
  }
  EXPECT_GT(fitting, kRounds / 20) << "too few requests fit for this test to mean anything";
  EXPECT_LT(fitting, kRounds * 19 / 20);
}

TEST_F(PoliciesPropertyTest, AnswerTheSameThroughTheCache) {
  constexpr model::NodeIndex kNodes = 10;
  const PolicySet set(options_);
  ChoiceCache cache(8);
  const model::ClusterSnapshot cluster(1, std::make_shared<const model::HashIndex>(),
                                       {std::make_shared<const model::NodeRun>()},
                                       std::size_t{2} * kNodes);
  std::vector<model::PodDemand> demands;
  demands.reserve(12);
  for (int i = 0; i < 12; ++i) demands.push_back(random_pod(random_));
  model::NodeLooks looks;
  std::uint64_t version = 0;
  const auto put = [&](model::ClusterSnapshot::Found& found, model::NodeState state) {
    state.version = ++version;
    auto node = std::make_shared<const model::NodeState>(std::move(state));
    const model::Look look = looks.join(node);
    if (found.look.version != 0) looks.leave(found.look);
    found = {.index = found.index, .look = look, .node = node.get()};
    return node;
  };
  std::vector<model::ClusterSnapshot::Found> found(kNodes);
  std::vector<model::NodePtr> nodes(kNodes);
  for (model::NodeIndex i = 0; i < kNodes; ++i) {
    found[i].index = i;
    nodes[i] = put(found[i], random_node(random_));
  }
  for (int round = 0; round < kRounds; ++round) {
    const auto changed = static_cast<std::size_t>(random_.between(0, kNodes - 1));
    // A copy of another one often: of nodes of one look one is asked about.
    const auto other = static_cast<std::size_t>(random_.between(0, kNodes - 1));
    nodes[changed] = put(found[changed], random_.chance(50) ? *nodes[other] : random_node(random_));
    const auto& demand = demands[static_cast<std::size_t>(random_.between(0, 11))];
    const auto name = policy_names()[static_cast<std::size_t>(random_.between(0, 3))];
    model::SearchBudget no_limit;
    auto pass = cache.open(*set.find(name), demand, cluster, no_limit, "");
    for (model::NodeIndex i = 0; i < kNodes; ++i) {
      const auto fresh = set.find(name)->choose(demand, *nodes[i]);
      const Verdict cached = pass.judge(found[i]);
      ASSERT_EQ(cached.fits(), fresh.has_value()) << name << ", round " << round;
      if (fresh) {
        EXPECT_EQ(cached.score(), fresh->score) << name << ", round " << round;
      } else {
        EXPECT_EQ(*cached.misfit(), model::why_not(demand.gpu, *nodes[i]))
            << name << ", round " << round;
      }
    }
  }
}

model::Replicas random_replicas(Random& random) {
  model::Replicas replicas;
  replicas.count = static_cast<int>(random.between(1, 4));
  if (random.one_in(2)) replicas.isolation = model::Isolation::kMps;
  replicas.one_each = random.one_in(4);
  return replicas;
}

/// Of up to ten cards, as a rule of one kind: most have briefs.
model::NodeState random_even_node(Random& random, const std::string& name) {
  model::NodeInventory what = model::random_inventory(random, name);
  if (!what.cards.empty() && !random.one_in(5)) {
    what.cards.front().replicas = random_replicas(random);
    what.cards.assign(static_cast<std::size_t>(random.between(1, 10)), what.cards.front());
    for (std::size_t i = 0; i < what.cards.size(); ++i) {
      what.cards[i].id = model::card_id(name, static_cast<std::int64_t>(i));
    }
  }
  model::NodeState state = node(std::move(what));
  for (std::size_t i = 0; i < state.use.size(); ++i) {
    if (random.one_in(3)) continue;
    state.use[i] = used(state.cards()[i], {random.between(0, 10) * 100, 1});
    if (random.one_in(10)) state.use[i].whole = 1;
    if (random.one_in(10)) state.use[i].sharers = {0, 1, 0};
    if (random.one_in(20)) state.use[i].compute = MilliGpu(5000);
  }
  state.requested.cpu = MilliCpu(random.between(0, 20'000));
  return state;
}

/// Of one container as a rule.
model::PodDemand random_demand(Random& random) {
  model::GpuRequest gpu = model::random_request(random);
  if (!random.one_in(10)) gpu.containers.resize(1);
  if (random.one_in(5)) {
    gpu.containers.resize(1);
    gpu.containers.front().share = {};
    gpu.containers.front().share.form = model::ShareForm::kReplica;
  }
  if (!random.one_in(3)) gpu.card_ids.clear();
  return pod(std::move(gpu), random.between(0, 10'000));
}

/// A cluster that changes, a cache of what a policy said of it, and how much that was needed.
class BriefsTest : public PoliciesPropertyTest {
 protected:
  static constexpr int kNodes = 60;

  BriefsTest() {
    for (int i = 0; i < kNodes; ++i) put("n" + std::to_string(i));
    for (int i = 0; i < 20; ++i) demands_.push_back(random_demand(random_));
  }
  void put(const std::string& name) { table_.put(random_even_node(random_, name)); }

  /// Two threads with a scorer each judge all nodes, some of them as the pod sees them.
  void expect_verdicts_of_nodes(const model::PodDemand& demand, const Policy& policy,
                                const model::ClusterSnapshot& cluster) {
    auto nodes = cluster.present();
    std::vector<model::NodeState> made_up;
    made_up.reserve(nodes.size());
    for (auto& found : nodes) {
      if (!random_.one_in(10)) continue;
      made_up.push_back(random_even_node(random_, found.node->name));
      found = {.node = &made_up.back()};
    }
    model::SearchBudget no_limit;
    auto pass = cache_.open(policy, demand, cluster, no_limit, "");
    std::vector<Verdict> verdicts(nodes.size());
    const std::size_t half = nodes.size() / 2;
    const auto judge_first = [&] {
      pass.judge(std::span(nodes).first(half), std::span(verdicts).first(half));
    };
    const auto judge_others = [&] {
      ChoiceCache::Pass::Walk walk;
      pass.judge(std::span(nodes).subspan(half), std::span(verdicts).subspan(half), walk);
    };
    if (pass.may_be_shared()) {
      const std::jthread other(judge_others);
      judge_first();
    } else {
      judge_first();
      judge_others();
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto choice = policy.choose(demand, *nodes[i].node);
      const Verdict expected =
          choice ? Verdict(choice->score) : Verdict(model::why_not(demand.gpu, *nodes[i].node));
      ASSERT_EQ(verdicts[i], expected) << policy.name() << ", node " << nodes[i].node->name;
    }
  }

  model::NodeTable table_;
  std::vector<model::PodDemand> demands_;
  ChoiceCache cache_{16};
};

TEST_F(BriefsTest, GiveTheVerdictsOfNodes) {
  const PolicySet set(options_);
  std::shared_ptr<const model::ClusterSnapshot> before = table_.publish();
  for (int round = 0; round < kRounds / 5; ++round) {
    for (int i = 0; i < 5; ++i) put("n" + std::to_string(random_.below(kNodes)));
    const auto now = table_.publish();
    const auto name = random_.one_in(5) ? random_.one_of(policy_names()) : kDefaultPolicy;
    const model::PodDemand& demand = random_.one_of(demands_);
    // A reader may be late.
    const auto& cluster = random_.one_in(4) ? before : now;
    ASSERT_NO_FATAL_FAILURE(expect_verdicts_of_nodes(demand, *set.find(name), *cluster))
        << "round " << round;
    before = now;
  }
}

/// That it is the briefs which give them: a scorer of its own agrees, with nodes that fit and not.
TEST_F(BriefsTest, SufficeForMostNodesAndRequestsOfOneContainer) {
  const PolicySet set(options_);
  const Policy& policy = *set.find(kDefaultPolicy);
  const auto cluster = table_.publish();
  int scorers = 0;
  std::array<int, 2> judged{};  // that do not fit, and that do
  for (const model::PodDemand& demand : demands_) {
    const auto scorer = policy.brief_scorer(demand);
    const bool one = demand.gpu.containers.size() == 1 && demand.gpu.card_ids.empty();
    EXPECT_EQ(scorer != nullptr, one);
    if (!scorer) continue;
    ++scorers;
    for (const auto& found : cluster->present()) {
      const model::NodeBrief& brief = cluster->brief(found.index);
      if (brief.make == nullptr) continue;
      const auto choice = policy.choose(demand, *found.node);
      ++judged.at(choice ? 1 : 0);
      EXPECT_EQ(scorer->judge(brief),
                choice ? Verdict(choice->score) : Verdict(model::why_not(demand.gpu, *found.node)));
    }
  }
  EXPECT_GT(scorers, 0);
  EXPECT_GT(judged[0] + judged[1], scorers * kNodes / 3);
  EXPECT_GT(judged[1], 0);
}

}  // namespace
}  // namespace tangram::policies
