#include "extender/scheduling/preemption.hpp"

#include "model/ledger.hpp"
#include "policies/registry.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::allocation;
using testing::card;
using testing::fraction;
using testing::granted;
using testing::inventory;
using testing::request;

/// A node with two cards A and B, pods on them, and a pod that wants in.
class PreemptionTest : public ::testing::Test {
 protected:
  PreemptionTest() {
    auto node = inventory("n", {card("A"), card("B")});
    node.cpu = MilliCpu(8'000);
    node.memory = Mebibytes(16'384);
    node.slots = 32;
    ledger_.put_node(node);
    pod_.uid = "preemptor";
    pod_.priority = 100;
  }

  struct Resident {
    std::string uid;
    std::string on;  ///< the card
    std::int64_t milli = 500;
    int priority = 0;
    model::Labels labels = {};
    std::int64_t cpu = 0;
    bool terminating = false;
  };
  void add(const Resident& what) {
    model::Allocation pod = allocation(what.uid, "n", {granted(what.on, what.milli, what.milli)});
    pod.priority = what.priority;
    pod.labels = what.labels;
    pod.footprint.cpu = MilliCpu(what.cpu);
    pod.footprint.slots = 1;
    pod.terminating = what.terminating;
    ledger_.observe(std::move(pod));
  }

  std::optional<Victims> victims(const Victims& proposed = {}) {
    const auto policy = policies::make_policy("binpack", {});
    const auto cluster = ledger_.snapshot();
    return choose_victims({.pod = pod_,
                           .demand = demand_,
                           .policy = **policy,
                           .spared = spared_,
                           .budgets = budgets_known_ ? &budgets_ : nullptr,
                           .searches = searches_,
                           .tries = tries_},
                          *cluster->find("n"), proposed);
  }
  static std::vector<std::string> uids(const std::optional<Victims>& victims) {
    return victims ? victims->uids : std::vector<std::string>{"(none)"};
  }
  using Uids = std::vector<std::string>;

  testing::ManualClock clock_;
  model::Ledger ledger_{clock_};
  kube::Pod pod_;
  model::PodDemand demand_{.gpu = request(fraction(500)), .footprint = {}};
  model::Ledger::Uids spared_;
  cluster::BudgetList budgets_;
  bool budgets_known_ = true;
  model::SearchBudget searches_;
  model::SearchBudget tries_;
};

TEST_F(PreemptionTest, KeepsAProposalThatMakesRoomOnACard) {
  for (const char* uid : {"a1", "a2"}) add({.uid = uid, .on = "A"});
  for (const char* uid : {"b1", "b2"}) add({.uid = uid, .on = "B"});
  const auto chosen = victims({.uids = {"b2"}, .pdb_violations = 3});
  EXPECT_EQ(uids(chosen), Uids{"b2"});
  EXPECT_EQ(chosen->pdb_violations, 3);
}

TEST_F(PreemptionTest, ReplacesAProposalThatIsSpreadOverCards) {
  for (const char* uid : {"a1", "a2", "a3", "a4"}) add({.uid = uid, .on = "A", .milli = 250});
  for (const char* uid : {"b1", "b2"}) add({.uid = uid, .on = "B", .priority = 5});
  add({.uid = "b0", .on = "B", .milli = 0});
  // The aggregates would do, but a quarter of A and a half of nothing is no half card.
  EXPECT_EQ(uids(victims({.uids = {"a1", "b0"}})), (Uids{"a3", "a4"}));
}

TEST_F(PreemptionTest, SparesPodsOfEqualOrHigherPriority) {
  add({.uid = "a1", .on = "A", .milli = 1000, .priority = 100});
  add({.uid = "b1", .on = "B", .milli = 1000, .priority = 101});
  EXPECT_EQ(uids(victims()), Uids{"(none)"});
}

TEST_F(PreemptionTest, NamesNoPodThatKubeSchedulerMayNotHaveThere) {
  add({.uid = "a1", .on = "A", .milli = 1000});
  add({.uid = "b1", .on = "B", .milli = 1000, .priority = 50});
  spared_ = {"a1"};
  EXPECT_EQ(uids(victims()), Uids{"b1"});
  spared_ = {"a1", "b1"};
  EXPECT_EQ(uids(victims()), Uids{"(none)"});
}

TEST_F(PreemptionTest, TakesNoProposalWithSuchAPod) {
  add({.uid = "a1", .on = "A", .milli = 1000});
  add({.uid = "b1", .on = "B", .milli = 1000});
  spared_ = {"b1"};
  EXPECT_EQ(uids(victims({.uids = {"b1"}})), Uids{"a1"});
  EXPECT_EQ(uids(victims({.uids = {"a1", "b1"}})), Uids{"a1"});
  spared_ = {"a1", "b1"};
  EXPECT_EQ(uids(victims({.uids = {"b1"}})), Uids{"(none)"});
}

TEST_F(PreemptionTest, PrefersTheCardWhosePodsMatterLeast) {
  add({.uid = "a1", .on = "A", .milli = 1000, .priority = 50});
  add({.uid = "b1", .on = "B", .milli = 600, .priority = 10});
  add({.uid = "b2", .on = "B", .milli = 400, .priority = 20});
  EXPECT_EQ(uids(victims()), Uids{"b1"});
}

TEST_F(PreemptionTest, PrefersFewVictimsAmongEquals) {
  for (const char* uid : {"a1", "a2", "a3", "a4"}) add({.uid = uid, .on = "A", .milli = 250});
  add({.uid = "b1", .on = "B", .milli = 1000});
  EXPECT_EQ(uids(victims()), Uids{"b1"});
}

TEST_F(PreemptionTest, HonoursDisruptionBudgets) {
  kube::DisruptionBudget budget;
  budget.ns = "ml";
  budget.name = "db";
  budget.selector.terms.push_back({.key = "app", .values = {"db"}});
  budgets_.push_back(std::make_shared<const kube::DisruptionBudget>(budget));
  add({.uid = "a1", .on = "A", .milli = 1000, .priority = 1, .labels = {{"app", "db"}}});
  add({.uid = "b1", .on = "B", .milli = 1000, .priority = 50, .labels = {{"app", "web"}}});
  EXPECT_EQ(uids(victims()), Uids{"b1"});  // dearer, but no budget protects it
  add({.uid = "b2", .on = "B", .milli = 0, .priority = 100});
  pod_.priority = 50;
  const auto guarded = victims();
  EXPECT_EQ(uids(guarded), Uids{"a1"});
  EXPECT_EQ(guarded->pdb_violations, 1);
}

TEST_F(PreemptionTest, DoesNotChooseWhileBudgetsAreUnknown) {
  budgets_known_ = false;
  for (const char* uid : {"a1", "a2"}) add({.uid = uid, .on = "A", .milli = 250});
  add({.uid = "a3", .on = "A"});
  add({.uid = "b1", .on = "B", .milli = 1000});
  EXPECT_EQ(uids(victims({.uids = {"a1"}})), Uids{"(none)"});
  EXPECT_EQ(uids(victims({.uids = {"a3"}})), Uids{"a3"});
}

TEST_F(PreemptionTest, NeverEvictsForAPodThatNeverPreempts) {
  add({.uid = "a1", .on = "A", .milli = 1000});
  add({.uid = "b1", .on = "B", .milli = 1000});
  pod_.never_preempts = true;
  EXPECT_EQ(uids(victims({.uids = {"a1"}})), Uids{"(none)"});
}

TEST_F(PreemptionTest, AddsToAProposalWhoseReasonItCannotSee) {
  // Both cards have room in sum, so that what kube-scheduler lacks is something else, a port say.
  for (const char* on : {"A", "B"}) {
    add({.uid = std::string("big-") + on,
         .on = on,
         .milli = 500,
         .priority = on[0] == 'A' ? 1 : 2});
    add({.uid = std::string("small-") + on, .on = on, .milli = 150, .priority = 3});
  }
  add({.uid = "port", .on = "A", .milli = 0});
  EXPECT_EQ(uids(victims({.uids = {"port"}})), (Uids{"port", "big-A"}));
}

TEST_F(PreemptionTest, FreesCpuToo) {
  demand_.footprint.cpu = MilliCpu(4'000);
  add({.uid = "a1", .on = "A", .milli = 1000, .priority = 1, .cpu = 1'000});
  add({.uid = "b1", .on = "B", .milli = 1000, .priority = 2, .cpu = 7'000});
  EXPECT_EQ(uids(victims()), Uids{"b1"});
}

TEST_F(PreemptionTest, TakesSeveralCardsFromTheNode) {
  demand_.gpu = request(testing::whole(), 2);
  add({.uid = "a1", .on = "A", .milli = 100});
  add({.uid = "b1", .on = "B", .milli = 100});
  EXPECT_EQ(uids(victims()), (Uids{"a1", "b1"}));
}

// `kubectl tangram autoscaler headroom`.
TEST_F(PreemptionTest, TakesOneCardOfANodeThatHeadroomKeepsFree) {
  model::Allocation headroom =
      allocation("h", "n", {granted("A", 81'920, 1'000), granted("B", 81'920, 1'000)});
  headroom.isolation = model::Isolation::kNone;
  headroom.priority = -1;
  headroom.footprint.slots = 1;
  ledger_.observe(std::move(headroom));
  pod_.priority = 0;
  demand_.gpu.isolation = model::Isolation::kMps;
  EXPECT_EQ(uids(victims({.uids = {"h"}})), Uids{"h"});
}

TEST_F(PreemptionTest, LeavesTerminatingAndHeldPodsAlone) {
  add({.uid = "a1", .on = "A", .milli = 1000, .terminating = true});
  add({.uid = "b1", .on = "B", .milli = 600});
  ASSERT_TRUE(
      ledger_.reserve(allocation("b2", "n", {granted("B", 400, 400)}), std::chrono::seconds(1)));
  EXPECT_EQ(uids(victims()), Uids{"b1"});
}

TEST_F(PreemptionTest, DropsNodesThatNoVictimHelps) {
  const auto policy = policies::make_policy("binpack", {});
  add({.uid = "a1", .on = "A", .milli = 1000, .priority = 200});
  add({.uid = "b1", .on = "B", .milli = 1000});
  ledger_.put_node(inventory("m", {card("M")}));
  demand_.gpu = request(fraction(500), 1);
  const auto snapshot = ledger_.snapshot();
  const auto possible = preempt({{"n", {{"b1"}, 0}}, {"unknown", {{"x"}, 0}}},
                                {.pod = pod_,
                                 .demand = demand_,
                                 .policy = **policy,
                                 .spared = spared_,
                                 .budgets = &budgets_,
                                 .searches = searches_,
                                 .tries = tries_},
                                *snapshot);
  ASSERT_EQ(possible.size(), 1U);
  EXPECT_EQ(possible.at("n").uids, Uids{"b1"});
}

TEST_F(PreemptionTest, LeavesOutNodesThatTheBudgetOfSearchesDoesNotSufficeFor) {
  const auto policy = policies::make_policy("binpack", {});
  add({.uid = "a1", .on = "A", .milli = 1000});
  add({.uid = "b1", .on = "B", .milli = 1000});
  demand_.gpu = request(fraction(500), 1);
  demand_.gpu.containers.push_back({.container = "side", .share = fraction(400)});
  const auto snapshot = ledger_.snapshot();
  const auto possible = [&](model::SearchBudget budget) {
    const PreemptRequest preemptor{.pod = pod_,
                                   .demand = demand_,
                                   .policy = **policy,
                                   .spared = spared_,
                                   .budgets = &budgets_,
                                   .searches = budget,
                                   .tries = tries_};
    return preempt({{"n", {{"b1"}, 0}}}, preemptor, *snapshot).size();
  };
  EXPECT_EQ(possible(model::SearchBudget()), 1U);
  EXPECT_EQ(possible(model::SearchBudget(0)), 0U);
}

TEST_F(PreemptionTest, PassesNodesItDoesNotKnowForPodsWithoutCards) {
  const auto policy = policies::make_policy("binpack", {});
  demand_.gpu = {};
  const auto snapshot = ledger_.snapshot();
  EXPECT_EQ(preempt({{"unknown", {{"x"}, 0}}},
                    {.pod = pod_,
                     .demand = demand_,
                     .policy = **policy,
                     .spared = spared_,
                     .budgets = &budgets_,
                     .searches = searches_,
                     .tries = tries_},
                    *snapshot)
                .size(),
            1U);
}

}  // namespace
}  // namespace tangram::extender
