// The victims of a preemption, against an exhaustive search that shares no code with it.

#include "cluster/victims.hpp"

#include "model/ledger.hpp"
#include "policies/registry.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace tangram::cluster {
namespace {

using testing::card;
using testing::granted;

constexpr int kCardMilli = 1000;
constexpr int kPreemptorPriority = 20;

struct Resident {
  int card = 0;
  int milli = 0;
  int priority = 0;
  int team = 0;  ///< each has a budget
};
struct Site {
  int cards = 1;
  std::vector<Resident> pods;
};
struct World {
  std::vector<Site> nodes;
  std::vector<int> allowed;  ///< by team
  int share = 0;
  int count = 1;
};

World random_world(testing::Random& random, std::size_t most_pods) {
  const auto one_of = [&](std::vector<int> values) { return random.one_of(values); };
  World world;
  world.share = one_of({200, 400, 500, 700, 800, 1000});
  world.count = one_of({1, 1, 1, 2});
  for (int team = 0; team < 3; ++team) world.allowed.push_back(one_of({0, 1, 1, 2, 9}));
  for (auto nodes = random.between(1, 3); nodes > 0; --nodes) {
    Site site{.cards = one_of({1, 2, 3}), .pods = {}};
    std::vector<int> used(static_cast<std::size_t>(site.cards), 0);
    for (int tries = 0; tries < 40 && site.pods.size() < most_pods; ++tries) {
      const Resident pod{.card = static_cast<int>(random.below(site.cards)),
                         .milli = one_of({100, 100, 150, 200, 250, 300, 400, 500, 600}),
                         .priority = one_of({0, 0, 5, 10, 10, 19, 20, 30}),
                         .team = one_of({0, 1, 2})};
      int& on_card = used[static_cast<std::size_t>(pod.card)];
      if (on_card + pod.milli > kCardMilli) continue;
      on_card += pod.milli;
      site.pods.push_back(pod);
    }
    world.nodes.push_back(std::move(site));
  }
  return world;
}

using Cost = std::tuple<std::int64_t, std::int64_t, std::size_t>;  ///< highest, sum, pods

bool has_room(const World& world, const Site& site, std::uint32_t leaving) {
  std::vector<int> used(static_cast<std::size_t>(site.cards), 0);
  for (std::size_t i = 0; i < site.pods.size(); ++i) {
    if ((leaving >> i & 1U) == 0) {
      used[static_cast<std::size_t>(site.pods[i].card)] += site.pods[i].milli;
    }
  }
  const auto free =
      std::ranges::count_if(used, [&](int milli) { return milli + world.share <= kCardMilli; });
  return free >= world.count;
}

/// The cost of the cheapest of all sets that break no budget; nothing = there is none.
std::optional<Cost> exhaustive(const World& world, const Site& site) {
  std::optional<Cost> best;
  for (std::uint32_t leaving = 1; leaving < 1U << site.pods.size(); ++leaving) {
    Cost cost{INT64_MIN, 0, static_cast<std::size_t>(std::popcount(leaving))};
    std::vector<int> allowed = world.allowed;
    bool good = true;
    for (std::size_t i = 0; i < site.pods.size(); ++i) {
      if ((leaving >> i & 1U) == 0) continue;
      const Resident& pod = site.pods[i];
      good = good && pod.priority < kPreemptorPriority &&
             --allowed[static_cast<std::size_t>(pod.team)] >= 0;
      std::get<0>(cost) = std::max<std::int64_t>(std::get<0>(cost), pod.priority);
      std::get<1>(cost) += (std::int64_t{1} << 31) + pod.priority;
    }
    if (good && has_room(world, site, leaving) && (!best || cost < *best)) best = cost;
  }
  return best;
}

/// The same world in a ledger, and a preemptor.
class Fixture {
 public:
  explicit Fixture(const World& world) {
    for (std::size_t n = 0; n < world.nodes.size(); ++n) add_node(n, world.nodes[n]);
    for (std::size_t team = 0; team < world.allowed.size(); ++team) {
      kube::DisruptionBudget budget;
      budget.ns = "ml";
      budget.name = "team-" + std::to_string(team);
      budget.selector.terms.push_back({.key = "team", .values = {std::to_string(team)}});
      budget.allowed = world.allowed[team];
      budgets_.push_back(std::make_shared<const kube::DisruptionBudget>(budget));
    }
    demand_.gpu = testing::request(testing::fraction(world.share), world.count);
    snapshot_ = ledger_.snapshot();
  }
  [[nodiscard]] Preemptor preemptor() {
    return {.demand = demand_,
            .policy = *policy_,
            .priority = kPreemptorPriority,
            .spared = spared_,
            .budgets = budgets_,
            .searches = searches_,
            .tries = tries_};
  }
  [[nodiscard]] std::vector<const model::NodeState*> nodes() const {
    return snapshot_->sorted_nodes();
  }
  void limit_tries(std::int64_t steps) { tries_ = model::SearchBudget(steps); }

 private:
  void add_node(std::size_t n, const Site& site) {
    const std::string name = "n" + std::to_string(n);
    const auto id = [&](int index) { return name + "-" + std::to_string(index); };
    std::vector<model::Card> cards;
    for (int i = 0; i < site.cards; ++i) cards.push_back(card(id(i), "A100", Mebibytes(1000)));
    ledger_.put_node(testing::inventory(name, std::move(cards)));
    for (std::size_t i = 0; i < site.pods.size(); ++i) {
      const Resident& pod = site.pods[i];
      model::Allocation allocation = testing::allocation(
          name + "-pod-" + std::to_string(i), name, {granted(id(pod.card), pod.milli, pod.milli)});
      allocation.priority = pod.priority;
      allocation.labels = {{"team", std::to_string(pod.team)}};
      ledger_.observe(std::move(allocation));
    }
  }

  testing::ManualClock clock_;
  model::Ledger ledger_{clock_};
  BudgetList budgets_;
  model::PodDemand demand_;
  model::Ledger::Uids spared_;
  model::SearchBudget searches_;
  model::SearchBudget tries_;
  std::shared_ptr<const policies::Policy> policy_ = *policies::make_policy("binpack", {});
  std::shared_ptr<const model::ClusterSnapshot> snapshot_;
};

Cost cost_of(const VictimSet& victims) {
  const auto [broken, highest, sum, pods] = victims.cost();
  EXPECT_EQ(broken, 0);
  return {highest, sum, pods};
}

std::vector<std::string> uids_but(const VictimSet& victims, const std::string& one) {
  auto uids = victims.uids();
  std::erase(uids, one);
  return uids;
}

TEST(VictimsPropertyTest, AreTheCheapestOfAllSetsOfAllNodes) {
  int with_victims = 0;
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    testing::Random random(seed);
    const World world = random_world(random, 10);
    const bool fits = std::ranges::any_of(
        world.nodes, [&](const Site& site) { return has_room(world, site, 0); });
    if (fits) continue;
    std::optional<Cost> cheapest;
    for (const Site& site : world.nodes) {
      const auto here = exhaustive(world, site);
      if (here && (!cheapest || *here < *cheapest)) cheapest = here;
    }
    Fixture fixture(world);
    const auto chosen = cheapest_preemption(fixture.preemptor(), fixture.nodes());
    ASSERT_EQ(chosen.has_value(), cheapest.has_value()) << "seed " << seed;
    if (!chosen) continue;
    ++with_victims;
    ASSERT_EQ(cost_of(chosen->victims), *cheapest) << "seed " << seed;
  }
  EXPECT_GE(with_victims, 1'000);
}

TEST(VictimsPropertyTest, HaveNobodyWhoCouldStayEvenWhereNotAllSetsAreTried) {
  int with_victims = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    testing::Random random(seed);
    const World world = random_world(random, 30);
    Fixture fixture(world);
    fixture.limit_tries(random.below(5));
    const Preemptor preemptor = fixture.preemptor();
    for (const model::NodeState* node : fixture.nodes()) {
      const auto victims = cheapest_victims(preemptor, *node);
      if (!victims) continue;
      ++with_victims;
      EXPECT_TRUE(fits(preemptor, model::without_pods(*node, victims->uids())));
      for (const auto& pod : victims->pods) {
        EXPECT_FALSE(fits(preemptor, model::without_pods(*node, uids_but(*victims, pod->pod_uid))))
            << "seed " << seed << ": " << pod->pod_uid << " could stay";
      }
    }
  }
  EXPECT_GE(with_victims, 50);
}

// A whole card each of four, whose pods came in any order: the greedy first choice would spare the
// large pods and evict the many small ones.
TEST(VictimsTest, AreFewWhereSeveralCardsAreNeeded) {
  World world{.nodes = {{.cards = 8, .pods = {}}}, .allowed = {99}, .share = 1000, .count = 4};
  for (int i = 0; i < 8; ++i) {
    const int pods = i % 2 == 0 ? 1 : 10;
    for (int p = 0; p < pods; ++p) {
      world.nodes[0].pods.push_back({.card = i, .milli = kCardMilli / pods, .priority = 0});
    }
  }
  Fixture fixture(world);
  fixture.limit_tries(kVictimTries);
  const auto chosen = cheapest_preemption(fixture.preemptor(), fixture.nodes());
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->victims.pods.size(), 4U);
}

}  // namespace
}  // namespace tangram::cluster
