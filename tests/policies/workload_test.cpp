#include "policies/workload.hpp"

#include "tests/policies/cluster.hpp"

#include <gtest/gtest.h>

namespace tangram::policies {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

void add(WorkloadCounter& counter, const model::PodDemand& demand, int times) {
  for (int i = 0; i < times; ++i) counter.add(demand);
}

TEST(WorkloadTest, KeepsClassesUpToTheOneThatReachesTheCoverage) {
  WorkloadCounter counter;
  add(counter, pod(request(fraction(100)), 1000), 4);
  add(counter, pod(request(fraction(200)), 1000), 90);
  add(counter, pod(request(fraction(300)), 1000), 5);
  add(counter, pod(request(fraction(400)), 1000), 1);
  const Workload workload = counter.top(95);  // 90, then 90 + 5 = 95 reaches 95 of 100
  ASSERT_EQ(workload.classes.size(), 2U);
  EXPECT_EQ(workload.classes[0].demand.gpu.containers[0].share.fraction, MilliGpu(200));
  EXPECT_EQ(workload.classes[0].count, 90);
  EXPECT_EQ(workload.classes[1].demand.gpu.containers[0].share.fraction, MilliGpu(300));
  EXPECT_EQ(workload.total, 95);
  EXPECT_EQ(counter.pods(), 100U);
}

TEST(WorkloadTest, RanksEquallyFrequentClassesByFirstAppearance) {
  WorkloadCounter counter;
  add(counter, cpu_pod(3000), 1);
  add(counter, cpu_pod(1000), 1);
  add(counter, cpu_pod(2000), 1);
  add(counter, cpu_pod(1000), 1);
  const Workload workload = counter.top(100);
  ASSERT_EQ(workload.classes.size(), 3U);
  EXPECT_EQ(workload.classes[0].demand.footprint.cpu, MilliCpu(1000));
  EXPECT_EQ(workload.classes[1].demand.footprint.cpu, MilliCpu(3000));
  EXPECT_EQ(workload.classes[2].demand.footprint.cpu, MilliCpu(2000));
}

TEST(WorkloadTest, CountsPodsThatDifferInNamesMemoryLimitsAndCardIdsAsOneClass) {
  model::PodDemand first = pod(request(fraction(500)), 1000, 4096);
  model::PodDemand second = pod(request(fraction(500)), 1000, 8192);
  second.gpu.containers[0].container = "other";
  second.gpu.containers[0].share.compute_limit = MilliGpu(900);
  second.gpu.policy = "spread";
  second.gpu.card_ids = {"GPU-1"};
  WorkloadCounter counter;
  counter.add(first);
  counter.add(second);
  const Workload workload = counter.top(100);
  ASSERT_EQ(workload.classes.size(), 1U);
  EXPECT_EQ(workload.classes[0].count, 2);
  EXPECT_EQ(workload.classes[0].demand.footprint.memory, Mebibytes{});
}

TEST(WorkloadTest, TellsApartPodsThatDifferInCpuModelOrIsolation) {
  const model::PodDemand base = pod(request(fraction(500)), 1000);
  model::PodDemand more_cpu = base;
  more_cpu.footprint.cpu = MilliCpu(2000);
  model::PodDemand picky = base;
  picky.gpu.models = {"A100"};
  model::PodDemand alone = base;
  alone.gpu.isolation = model::Isolation::kNone;
  WorkloadCounter counter;
  for (const auto& demand : {base, more_cpu, picky, alone}) counter.add(demand);
  EXPECT_EQ(counter.top(100).classes.size(), 4U);
}

TEST(WorkloadTest, IsEmptyWhenNoPodWasSeen) {
  const Workload workload = WorkloadCounter().top(95);
  EXPECT_TRUE(workload.classes.empty());
  EXPECT_EQ(workload.total, 0);
}

}  // namespace
}  // namespace tangram::policies
