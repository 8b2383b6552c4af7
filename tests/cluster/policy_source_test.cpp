#include "cluster/policy_source.hpp"

#include "tests/testing/builders.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tangram::cluster {
namespace {

kube::Pod pod(const std::map<std::string, std::string>& annotations) {
  testing::PodText text;
  text.uid = "u";
  for (const auto& [key, value] : annotations) text.annotations["tangram.dev/" + key] = value;
  auto decoded = kube::decode_pod(testing::pod_json(text));
  if (!decoded) throw std::runtime_error(decoded.error().message);
  return std::move(*decoded);
}
kube::Pod half() { return pod({{"gpu-fraction", "0.5"}}); }
kube::Pod quarter() { return pod({{"gpu-fraction", "0.25"}}); }

void arrive(PolicySource& source, const kube::Pod& pod) { source.arrived(pod, source.plan(pod)); }

TEST(PolicySourceTest, PlansAPodByTheConfiguredPolicy) {
  PolicySettings settings;
  settings.default_policy = "spread";
  settings.requests.default_isolation = model::Isolation::kTimeSlice;
  const PolicySource source(settings);
  const auto plan = source.plan(half());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->policy->name(), "spread");
  EXPECT_EQ(plan->demand.gpu.isolation, model::Isolation::kTimeSlice);
  ASSERT_EQ(plan->demand.gpu.containers.size(), 1U);
  EXPECT_EQ(plan->demand.gpu.containers[0].share.fraction, MilliGpu(500));
  EXPECT_EQ(plan->demand.footprint.cpu, MilliCpu(1'000));
}

TEST(PolicySourceTest, PlansAPodByThePolicyItNames) {
  const PolicySource source{PolicySettings{}};
  for (const std::string_view name : policies::policy_names()) {
    const auto plan =
        source.plan(pod({{"gpu-fraction", "0.5"}, {"gpu-policy", std::string(name)}}));
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->policy->name(), name);
  }
}

TEST(PolicySourceTest, SaysWhichPoliciesThereAre) {
  const PolicySource source{PolicySettings{}};
  const auto plan = source.plan(pod({{"gpu-fraction", "0.5"}, {"gpu-policy", "luck"}}));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::kInvalidArgument);
  EXPECT_NE(plan.error().message.find("gpu-policy"), std::string::npos);
  for (const std::string_view name : policies::policy_names()) {
    EXPECT_NE(plan.error().message.find(name), std::string::npos) << plan.error().message;
  }
}

TEST(PolicySourceTest, PassesOnWhatIsWrongWithAPod) {
  const PolicySource source{PolicySettings{}};
  const auto plan = source.plan(pod({{"gpu-fraction", "2"}}));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::kInvalidArgument);
  EXPECT_NE(plan.error().message.find("tangram.dev/gpu-fraction"), std::string::npos);
}

TEST(PolicySourceTest, HoldsPodsToTheBurstThatTheClusterAllows) {
  PolicySettings settings;
  settings.requests.max_burst = 2;
  const PolicySource source(settings);
  const auto within = source.plan(pod({{"gpu-mem", "1Gi"}, {"gpu-mem-limit", "2Gi"}}));
  ASSERT_TRUE(within) << within.error().message;
  EXPECT_EQ(within->demand.gpu.containers.at(0).share.max_burst, 2);
  const auto above = source.plan(pod({{"gpu-mem", "1Gi"}, {"gpu-mem-limit", "3Gi"}}));
  ASSERT_FALSE(above);
  EXPECT_NE(above.error().message.find("2 times the request"), std::string::npos);
}

TEST(PolicySourceTest, APodThatRunsMayHaveBeenAllowedMore) {
  PolicySettings settings;
  settings.requests.max_burst = 2;
  kube::Pod bound = pod({{"gpu-mem", "1Gi"}, {"gpu-mem-limit", "3Gi"}});
  bound.node = "n";
  const auto plan = PolicySource(settings).plan(bound);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->demand.gpu.containers.at(0).share.max_burst, 2) << "if it is resized";
}

TEST(PolicySourceTest, LearnsTheWorkloadFromThePodsThatArrive) {
  PolicySource source{PolicySettings{}};
  EXPECT_EQ(source.workload()->total, 0);
  for (int i = 0; i < 24; ++i) arrive(source, half());
  EXPECT_EQ(source.workload()->total, 0);
  arrive(source, half());
  EXPECT_EQ(source.workload()->total, 25);
  ASSERT_EQ(source.workload()->classes.size(), 1U);
  EXPECT_EQ(source.workload()->classes[0].demand.gpu.containers.at(0).share.fraction,
            MilliGpu(500));
}

TEST(PolicySourceTest, LearnsAgainAtTwiceAsManyAndThenEverySoManyPods) {
  PolicySettings settings;
  settings.learning.relearn_every = 40;
  PolicySource source(settings);
  std::vector<std::size_t> relearned;  // at which arrival the workload changed
  std::shared_ptr<const policies::Workload> last = source.workload();
  for (std::size_t i = 1; i <= 180; ++i) {
    // Another size every time, so that what is learned always differs.
    arrive(source, pod({{"gpu-mem", std::to_string(i) + "Mi"}}));
    if (source.workload() != last) relearned.push_back(i);
    last = source.workload();
  }
  EXPECT_EQ(relearned, (std::vector<std::size_t>{25, 50, 90, 130, 170}));
}

TEST(PolicySourceTest, ForgetsPodsThatLeftTheWindow) {
  PolicySettings settings;
  settings.learning = {.window_pods = 30, .relearn_every = 25};
  PolicySource source(settings);
  for (int i = 0; i < 50; ++i) arrive(source, half());
  for (int i = 0; i < 50; ++i) arrive(source, quarter());
  ASSERT_EQ(source.workload()->classes.size(), 1U);
  EXPECT_EQ(source.workload()->classes[0].demand.gpu.containers.at(0).share.fraction,
            MilliGpu(250));
}

TEST(PolicySourceTest, KeepsThePoliciesWhileTheWorkloadHardlyChanges) {
  PolicySource source{PolicySettings{}};
  for (int i = 0; i < 25; ++i) arrive(source, half());
  const auto learned = source.plan(half())->policies;
  for (int i = 0; i < 24; ++i) arrive(source, half());
  arrive(source, quarter());  // at 50 it learns: 2 % differ
  EXPECT_EQ(source.plan(half())->policies, learned);
  for (int i = 0; i < 50; ++i) arrive(source, quarter());
  EXPECT_NE(source.plan(half())->policies, learned);
}

TEST(PolicySourceTest, LearnsPricesFromTheClusterEvenForAFixedWorkload) {
  testing::ManualClock clock;
  SharedLedger shared(clock);
  shared.apply([](model::Ledger& ledger) {
    ledger.put_node({.name = "n",
                     .cards = {testing::card("g")},
                     .cpu = MilliCpu(64'000),
                     .memory = Mebibytes(1'024)});
  });
  PolicySettings settings;
  settings.learn_workload = false;
  PolicySource source(settings, [&] { return shared.snapshot(); });
  EXPECT_EQ(*source.prices(), policies::Prices{});
  for (int i = 0; i < 25; ++i) arrive(source, half());
  EXPECT_EQ(source.prices()->cpu_per_card, 1'900);  // 95 % of one core for half a card
  EXPECT_EQ(source.workload()->total, 0);
}

TEST(PolicySourceTest, LearnsFromAListOnceItHasEnded) {
  PolicySource source{PolicySettings{}};
  const auto first = source.workload();
  source.listing(true);
  for (int i = 0; i < 60; ++i) arrive(source, half());
  EXPECT_EQ(source.workload(), first);
  source.listing(false);
  EXPECT_EQ(source.workload()->total, 60);
  source.listing(true);
  arrive(source, half());
  source.listing(false);
  EXPECT_EQ(source.workload()->total, 60) << "one more pod is no reason to learn anew";
}

TEST(PolicySourceTest, LearnsOnAThreadThatNobodyWaitsFor) {
  PolicySettings settings;
  settings.learn_at_once = false;
  PolicySource source(settings);
  for (int i = 0; i < 25; ++i) arrive(source, half());
  EXPECT_EQ(source.workload()->total, 0);
  const std::jthread learner([&](const std::stop_token& stop) { source.keep_learning(stop); });
  while (source.workload()->total == 0) std::this_thread::yield();
  EXPECT_EQ(source.workload()->total, 25);
  for (int i = 0; i < 25; ++i) arrive(source, quarter());
  while (source.workload()->total == 25) std::this_thread::yield();
  EXPECT_EQ(source.workload()->total, 50);
}

/// A pod of 16 containers, with sizes that no other pod has.
kube::Pod large_pod(int number) {
  testing::PodText text;
  text.uid = "u";
  text.annotations["tangram.dev/gpu-mem.main"] = std::to_string(1'000 + number) + "Mi";
  for (int i = 1; i < model::kMaxGpuContainers; ++i) {
    const std::string name = "container-with-a-long-name-" + std::to_string(i);
    text.more_containers.push_back(name);
    text.annotations["tangram.dev/gpu-mem." + name] = std::to_string(1'000 + number + i) + "Mi";
  }
  return *kube::decode_pod(testing::pod_json(text));
}

/// The longest that arrived() takes while the window is being learned from.
std::chrono::nanoseconds longest_arrival_while_learning(PolicySource& source) {
  using Watch = std::chrono::steady_clock;
  const kube::Pod next = half();
  const std::jthread learner([&](const std::stop_token& stop) { source.keep_learning(stop); });
  std::chrono::nanoseconds longest{};
  source.listing(false);
  while (source.workload()->total == 0) {
    const auto start = Watch::now();
    arrive(source, next);
    longest = std::max<std::chrono::nanoseconds>(longest, Watch::now() - start);
  }
  return longest;
}

TEST(PolicySourceTest, PodsDoNotWaitWhileTheWindowIsCounted) {
  constexpr int kWindow = 2'000;
  std::vector<kube::Pod> pods;
  policies::Arrivals demands;
  const PolicySource reader{PolicySettings{}};
  for (int i = 0; i < kWindow; ++i) {
    pods.push_back(large_pod(i));
    auto plan = reader.plan(pods.back());
    ASSERT_TRUE(plan);
    demands.push_back(std::make_shared<const model::PodDemand>(std::move(plan->demand)));
  }
  policies::ArrivalWindow window{{}};
  window.add(std::move(demands));
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(window.count().pods(), pods.size());
  const auto counting = std::chrono::steady_clock::now() - start;
  PolicySettings settings;
  settings.learn_at_once = false;
  settings.coverage_percent = 1;
  settings.learning = {.window_pods = kWindow, .relearn_every = kWindow};
  // Of several, because the machine may take the processor from a thread for a while.
  auto longest = std::chrono::nanoseconds::max();
  for (int attempt = 0; attempt < 10 && longest >= counting / 4; ++attempt) {
    PolicySource source(settings);
    source.listing(true);
    for (const kube::Pod& pod : pods) arrive(source, pod);
    longest = std::min(longest, longest_arrival_while_learning(source));
  }
  EXPECT_LT(longest, counting / 4);
}

TEST(PolicySourceTest, ScoresTheNodesAnewBeforeWhatItLearnedIsInForce) {
  testing::ManualClock clock;
  SharedLedger shared(clock);
  shared.apply([](model::Ledger& ledger) {
    ledger.put_node({.name = "n",
                     .cards = {testing::card("GPU-0")},
                     .cpu = MilliCpu(4'000),
                     .memory = Mebibytes(1'024)});
  });
  PolicySource source(PolicySettings{}, [&] { return shared.snapshot(); });
  const auto plan = source.plan(half());
  ASSERT_TRUE(plan);
  model::SearchBudget budget;
  for (const char* asking : {"one", "another"}) {
    (void)plan->policies->cache.open(*plan->policy, plan->demand, *shared.snapshot(), budget,
                                     asking);
  }
  for (int i = 0; i < 25; ++i) arrive(source, half());
  const auto next = source.plan(half());
  ASSERT_TRUE(next);
  ASSERT_NE(next->policies, plan->policies);
  const auto shapes = next->policies->cache.shapes();
  ASSERT_EQ(shapes.size(), 1U);
  EXPECT_EQ(shapes[0]->policy, next->policy);
}

TEST(PolicySourceTest, KeepsAFixedWorkload) {
  PolicySettings settings;
  settings.learn_workload = false;
  PolicySource source(settings);
  const auto fixed = source.workload();
  for (int i = 0; i < 100; ++i) arrive(source, half());
  EXPECT_EQ(source.workload(), fixed);
}

TEST(PolicySourceTest, LearnsNothingFromPodsWithMistakes) {
  PolicySource source{PolicySettings{}};
  for (int i = 0; i < 100; ++i) arrive(source, pod({{"gpu-fraction", "2"}}));
  EXPECT_EQ(source.workload()->total, 0);
}

TEST(PolicySourceTest, LearnsNothingFromPodsOfAPolicyThatThereIsNot) {
  PolicySource source{PolicySettings{}};
  for (int i = 0; i < 100; ++i)
    arrive(source, pod({{"gpu-fraction", "0.5"}, {"gpu-policy", "luck"}}));
  EXPECT_EQ(source.workload()->total, 0);
}

// After a restart with a lower limit the workload is that of the pods that run.
TEST(PolicySourceTest, LearnsFromPodsThatRunWithMoreBurstThanIsAllowedNow) {
  PolicySettings settings;
  settings.requests.max_burst = 2;
  PolicySource source(settings);
  kube::Pod large = pod({{"gpu-mem", "1Gi"}, {"gpu-mem-limit", "3Gi"}});
  for (int i = 0; i < 25; ++i) arrive(source, large);
  EXPECT_EQ(source.workload()->total, 0) << "they wait, and are refused";
  large.node = "n";
  for (int i = 0; i < 25; ++i) arrive(source, large);
  EXPECT_EQ(source.workload()->total, 25);
}

TEST(PolicySourceTest, KeepsAPlansPolicyAliveWhileItLearnsAnew) {
  PolicySource source{PolicySettings{}};
  const auto plan = source.plan(half());
  ASSERT_TRUE(plan);
  const std::weak_ptr<const PoliciesInForce> old = plan->policies;
  std::jthread learner([&] {
    for (int i = 0; i < 60; ++i) arrive(source, half());
  });
  for (int i = 0; i < 60; ++i) {
    const auto other = source.plan(half());
    ASSERT_TRUE(other);
    EXPECT_EQ(other->policy->name(), policies::kDefaultPolicy);
  }
  learner.join();
  EXPECT_FALSE(old.expired());
  EXPECT_EQ(plan->policy->name(), policies::kDefaultPolicy);
  EXPECT_NE(source.plan(half())->policies, plan->policies);
}

}  // namespace
}  // namespace tangram::cluster
