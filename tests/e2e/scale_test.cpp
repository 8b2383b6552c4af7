// Many nodes, many pods, the shipped configuration: everything that fits is bound, with its grant.

#include "tests/e2e/fixture.hpp"

namespace tangram::e2e {
namespace {

class ScaleTest : public E2eTest {
 protected:
  void bind_all(const SchedulerOptions& scheduler_options, int nodes, int pods) {
    cluster_.add_nodes(mixed_nodes(nodes));
    PodWatcher watcher(*api_);
    ExtenderProcess extender({});
    extender.start_ready();
    SchedulerOptions options = scheduler_options;
    options.extender_url = extender.url();
    const Process scheduler = start_scheduler(options);

    const auto begin = TimePoint::clock::now();
    auto specs = mixed_pods(pods);
    for (int i = 0; i < kImpossible; ++i) specs.push_back(impossible_pod(i));
    cluster_.add_pods(specs);
    ASSERT_TRUE(watcher.wait_bound(pods, 5min)) << count_bound(watcher.pods()) << " of " << pods;
    const double took = seconds_between(begin, TimePoint::clock::now());
    ASSERT_TRUE(watcher.wait_calm(2s, 1min));

    expect_bound_with_grants(watcher.pods(), pods);
    expect_books_right(extender);
    const double bound = extender.metric("tangram_binds_total", "result=\"bound\"");
    const double refused = extender.metric("tangram_binds_total", "no_room");
    Figures(testing::UnitTest::GetInstance()->current_test_info()->name())
        .add("nodes", nodes)
        .add("cards", 8 * nodes)
        .add("pods", pods)
        .add("seconds", took)
        .add("pods_per_s", pods / took)
        .add("refused_binds_per_bound_pod", refused / bound);
  }

  static constexpr int kImpossible = 10;
  static PodSpec impossible_pod(int number) {
    PodSpec pod;
    pod.name = "impossible-" + std::to_string(number);
    pod.gpu = {{"gpu-count", "1"}, {"gpu-model", "No-Such-Card"}};
    return pod;
  }

  static void expect_bound_with_grants(const SeenPods& pods, int expected) {
    EXPECT_EQ(count_bound(pods), expected);
    for (const auto& [uid, pod] : pods) {
      if (pod.name.starts_with("impossible")) {
        EXPECT_EQ(pod.node, "") << pod.name;
      } else {
        EXPECT_TRUE(pod.bind_was_seen && pod.granted_in_bind)
            << pod.name << ": node and grant did not come in one event";
      }
    }
  }
};

TEST_F(ScaleTest, BindsAllThatFits) { bind_all({}, sized(1'000, 100), sized(3'000, 300)); }

TEST_F(ScaleTest, BindsAllThatFitsWithKubeScheduler128) {
  if (environment().scheduler_1_28.empty()) GTEST_SKIP() << "kube-scheduler 1.28 was not built";
  bind_all({.name = "kube-scheduler-1.28", .program = environment().scheduler_1_28}, sized(200, 50),
           sized(800, 150));
}

}  // namespace
}  // namespace tangram::e2e
