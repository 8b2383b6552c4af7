#include "bench/replay/http.hpp"

#include "bench/cluster_calls.hpp"
#include "bench/replay/audit.hpp"
#include "bench/replay/inprocess.hpp"
#include "bench/replay/replay.hpp"
#include "bench/replay/report.hpp"
#include "bench/replay/simulation_report.hpp"
#include "bench/synthetic_api.hpp"
#include "cluster/allocations.hpp"
#include "kube/client.hpp"
#include "policies/registry.hpp"
#include "source_dir.hpp"
#include "tests/bench/replay/pods.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::bench {
namespace {

/// The first pods of the example trace: enough to fill some nodes, few enough for sanitizers.
Trace example() {
  const std::string data = std::string(TANGRAM_SOURCE_DIR) + "/bench/data/";
  auto trace = read_trace({.nodes = data + "nodes.csv",
                           .arrivals = data + "example-7.csv",
                           .order = data + "example-7.order.csv",
                           .workload = {}});
  EXPECT_TRUE(trace);
  return std::move(*trace);
}

std::string log_of(const Trace& trace, Scheduler& scheduler) {
  const auto outcome = replay(trace, scheduler, {});
  EXPECT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome->violation) << *outcome->violation;
  return placement_log(trace, *outcome);
}

class ReplayViaHttpTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(ReplayViaHttpTest, PlacesExactlyAsInProcess) {
  const Trace trace = example();
  policies::PolicyOptions options;
  options.workload = std::make_shared<policies::Workload>(
      policies::workload_of(trace.workload, model::Isolation::kNone));
  auto direct = InProcessScheduler::create(trace.nodes, std::string(GetParam()), options);
  ASSERT_TRUE(direct) << direct.error().message;
  auto http = HttpScheduler::create(trace, {.policy = std::string(GetParam()), .audits = 5});
  ASSERT_TRUE(http) << http.error().message;
  EXPECT_EQ(log_of(trace, **http), log_of(trace, **direct));
  EXPECT_NE((*http)->remarks().find("5 rebuilds from the API server gave the same ledger"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Policies, ReplayViaHttpTest,
                         ::testing::Values("least-waste", "fragmentation", "bestfit", "binpack",
                                           "spread"),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::erase(name, '-');
                           return name;
                         });

TEST(ReplayViaHttpTest, AWeightThatTheInTreeScoresCannotReachChangesNothing) {
  const Trace trace = example();
  auto one = HttpScheduler::create(trace, {.policy = "bestfit", .short_list = 1});
  auto eight = HttpScheduler::create(trace, {.policy = "bestfit", .short_list = 8, .weight = 121});
  ASSERT_TRUE(one && eight);
  EXPECT_EQ(log_of(trace, **eight), log_of(trace, **one));
}

/// A small cluster under load, on which pods preempt others, come in groups and lose cards.
class SimulationViaHttpTest : public ::testing::Test {
 protected:
  SimulationViaHttpTest() : trace_(cluster_of({4, 2, 2, 1})) {
    for (const std::int64_t milli : {300, 450, 600, 1000}) {
      trace_.arrivals.push_back(pod_of(1, milli));
    }
    trace_.arrivals.push_back(pod_of(2, 1000));
    trace_.arrivals.push_back(pod_of(0, 0));
    events_.arrivals = arrivals_of(trace_, {.load_percent = 120,
                                            .pods = 250,
                                            .urgent_percent = 10,
                                            .grouped_percent = 10,
                                            .group_size = 2});
    events_.failures = failures_of(trace_, {.card_days = 1, .node_days = 1, .repair_minutes = 30},
                                   events_.arrivals.back().arrives);
  }
  [[nodiscard]] SimulationOutcome outcome_of(Scheduler& scheduler) const {
    auto outcome = simulate(trace_, events_, {}, scheduler, nullptr);
    EXPECT_TRUE(outcome) << outcome.error().message;
    EXPECT_FALSE(outcome->violation) << *outcome->violation;
    return std::move(*outcome);
  }

  Trace trace_;
  Events events_;
};

TEST_F(SimulationViaHttpTest, HappensExactlyAsInProcess) {
  auto direct = InProcessScheduler::create(trace_.nodes, "least-waste", {});
  ASSERT_TRUE(direct) << direct.error().message;
  auto http = HttpScheduler::create(trace_, {.policy = "least-waste", .audits = 2});
  ASSERT_TRUE(http) << http.error().message;
  const SimulationOutcome in_process = outcome_of(**direct);
  EXPECT_GT(in_process.preempted, 0U);
  EXPECT_GT(in_process.failed, 0U);
  const auto json = [](SimulationOutcome outcome) {
    return simulation_json({.policy = "least-waste", .via = "", .outcome = std::move(outcome)});
  };
  EXPECT_EQ(json(outcome_of(**http)), json(in_process));
  EXPECT_NE((*http)->remarks().find("2 rebuilds"), std::string::npos);
}

TEST_F(SimulationViaHttpTest, PodsAreNotMoved) {
  auto http = HttpScheduler::create(trace_, {.policy = "least-waste"});
  ASSERT_TRUE(http) << http.error().message;
  const auto moved = (*http)->move({{.number = 0, .pod = pod_of(1, 300), .to = {}}});
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, Errc::kInvalidArgument);
  EXPECT_NE(moved.error().message.find("write --via inproc"), std::string::npos);
}

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() : api_(clock_) {
    model::Card card;
    card.id = "GPU-0";
    card.model = "T4";
    card.memory = Mebibytes(1000);
    inventory_ = {.name = "n0", .cards = {card}, .cpu = MilliCpu(1000), .memory = Mebibytes(1000)};
    EXPECT_TRUE(create_node(api_, inventory_));
  }
  void run_pod(bool slot) {
    EXPECT_TRUE(create_pod(api_, "ml",
                           pod_json({.ns = "ml",
                                     .name = "p",
                                     .annotations = {},
                                     .cpu = {},
                                     .memory = {},
                                     .slot = slot,
                                     .node = "n0"})));
  }

  testing::ManualClock clock_;
  kube::LocalApi api_;
  model::NodeInventory inventory_;
};

TEST_F(AuditTest, PassesWhenTheLedgerMatchesTheServer) {
  model::Ledger ledger(clock_);
  ledger.put_node(inventory_);
  EXPECT_TRUE(audit(api_, clock_, *ledger.snapshot()));
}

TEST_F(AuditTest, FindsAnAllocationThatTheServerDoesNotHave) {
  model::Ledger ledger(clock_);
  ledger.put_node(inventory_);
  model::Allocation lost;
  lost.pod_uid = "u1";
  lost.node = "n0";
  ledger.observe(lost);
  const auto audited = audit(api_, clock_, *ledger.snapshot());
  ASSERT_FALSE(audited);
  EXPECT_NE(audited.error().message.find("node n0 differs"), std::string::npos);
}

TEST_F(AuditTest, FindsAPodThatIsBoundWithoutItsGrant) {
  run_pod(true);
  model::Ledger ledger(clock_);
  ledger.put_node(inventory_);
  const auto pod = kube::decode_pod(api_.call({.method = kube::Method::kGet,
                                               .path = kube::pod_path("ml", "p"),
                                               .query = {},
                                               .body = {}})
                                        ->body);
  ASSERT_TRUE(pod);
  ledger.observe(cluster::recorded_allocation(*pod, {}).allocation);
  const auto audited = audit(api_, clock_, *ledger.snapshot());
  ASSERT_FALSE(audited);
  EXPECT_EQ(audited.error().message, "pod ml/p is bound without a grant");
}

TEST(SyntheticApiTest, RefusesMorePodsThanThereIsRoomFor) {
  const ClusterSize full{
      .nodes = 20, .cards_per_node = 2, .pods = 190, .pod_milli = 200, .used_nodes = 0.95};
  EXPECT_EQ(full.room(), 190);
  EXPECT_NO_THROW(SyntheticApi{full});
  ClusterSize over = full;
  over.pods = 191;
  EXPECT_THROW(SyntheticApi{over}, std::invalid_argument);
  over.pod_milli = 0;  // without cards
  EXPECT_NO_THROW(SyntheticApi{over});
}

TEST(SyntheticApiTest, KnowsWhereAPodAndTheOneThatReplacesItFitTogether) {
  const SyntheticApi api({.nodes = 1, .cards_per_node = 2, .pods = 5, .pod_milli = 300});
  EXPECT_FALSE(api.has_room_for_another(4)) << "three pods on the first card";
  EXPECT_FALSE(api.has_room_for_another(0));
  EXPECT_TRUE(api.has_room_for_another(1)) << "two pods on the second card";
  EXPECT_TRUE(SyntheticApi({.nodes = 1, .pods = 5, .pod_milli = 0}).has_room_for_another(4));
}

TEST(SyntheticApiTest, PodsAreReadAsTheyWereMeant) {
  const SyntheticApi api({.nodes = 2, .cards_per_node = 2, .pods = 6, .pod_bytes = 5'000});
  const std::string text = api.running_pod(5);
  EXPECT_NEAR(static_cast<double>(text.size()), 5'000, 100);
  const auto pod = kube::decode_pod(text);
  ASSERT_TRUE(pod) << pod.error().message;
  const auto recorded = cluster::recorded_allocation(*pod, {});
  EXPECT_EQ(recorded.grant_problem, "");
  EXPECT_EQ(recorded.allocation.node, "gpu-node-00001");
  ASSERT_EQ(recorded.allocation.containers.size(), 1U);
  EXPECT_EQ(recorded.allocation.containers[0].cards[0].uuid, "GPU-1-0");
  EXPECT_EQ(recorded.allocation.containers[0].cards[0].compute, MilliGpu(200));
  EXPECT_TRUE(kube::decode_pod(pending_pod(7, 200, true).json));
}

}  // namespace
}  // namespace tangram::bench
