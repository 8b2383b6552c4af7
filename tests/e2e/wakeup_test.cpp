// One pod waits, and its room appears while the extender's watch is behind kube-scheduler's. Any
// other event would wake the pod, so there is none: one card, one pod on it, one that waits.

#include "tests/e2e/api_proxy.hpp"
#include "tests/e2e/fixture.hpp"

#include <algorithm>

namespace tangram::e2e {
namespace {

class WakeupTest : public E2eTest {
 protected:
  WakeupTest() {
    auto node = node_with_cards("node", 1);
    node.slots = 64;
    cluster_.add_nodes({node});
  }

  /// A pod takes the card, and the next one waits until it was refused.
  void add(int number) { cluster_.add_pods({fraction_pod(name(number), "1")}); }

  /// Ends the pod on the card `times` times. @returns how long the next one waited each time, in
  /// seconds; stops at the first one that waits longer than `patience`
  std::vector<double> waits(int times, std::chrono::seconds patience) {
    std::vector<double> found;
    add(0);
    EXPECT_TRUE(watcher_.wait_pod_bound(name(0), 30s));
    for (int i = 0; i < times; ++i) {
      add(i + 1);
      // Refused, and out of kube-scheduler's back-off.
      watcher_.wait([](const SeenPods&) { return false; },
                    1200ms + std::chrono::milliseconds(i % 10 * 37));
      const auto begin = TimePoint::clock::now();
      cluster_.delete_pod(name(i));
      const auto next = watcher_.wait_pod_bound(name(i + 1), patience);
      if (!next) break;
      found.push_back(seconds_between(begin, next->bound));
    }
    return found;
  }

  static void report(const std::string& how, const std::vector<double>& found, double wakes) {
    Figures("wakeup")
        .add("watch", how)
        .add("wakes", static_cast<int>(wakes))
        .spread("wait_s", found);
  }

  /// Every event of the pods' watch comes late: a round has about four. A watch that is cut would
  /// be no such case, because the extender knows of it.
  static void delay_watches(ApiProxy& proxy) {
    proxy.plan().add({.match = {.path_ends = "/pods", .watch = true},
                      .fault = {.kind = testing::Fault::Kind::kDelayFrames, .delay = 250ms}});
  }

  static std::string name(int number) { return "pod-" + std::to_string(number); }

  PodWatcher watcher_{*api_};
};

TEST_F(WakeupTest, APodTakesItsRoomWithinTwoSeconds) {
  ExtenderProcess extender({});
  extender.start_ready();
  const Process scheduler = start_scheduler({.extender_url = extender.url()});
  const int times = sized(300, 15);
  const auto found = waits(times, 30s);
  report("steady", found, extender.metric("tangram_wakes_total", "sent"));
  ASSERT_EQ(found.size(), static_cast<std::size_t>(times)) << "a pod did not take its room";
  EXPECT_LE(percentile(found, 99), 2);
  EXPECT_LE(percentile(found, 100), 5);
  expect_books_right(extender);
}

/// The extender's API server and kube-scheduler's are two: one may be behind the other.
class WakeupApartTest : public WakeupTest, public ::testing::WithParamInterface<const char*> {
 protected:
  WakeupApartTest() { control("second-apiserver"); }
  ~WakeupApartTest() override { control("stop-second-apiserver"); }
  static void control(const std::string& verb) {
    e2e::control(verb, [] { std::this_thread::sleep_for(20ms); });
  }
};

TEST_P(WakeupApartTest, APodTakesItsRoomWithinTwoSeconds) {
  const std::string program = scheduler_of(GetParam());
  if (program.empty()) GTEST_SKIP() << "kube-scheduler " << GetParam() << " was not built";
  ExtenderProcess extender({.kubeconfig = environment().state / "tangram-extender-2.kubeconfig"});
  extender.start_ready();
  const Process scheduler = start_scheduler({.name = std::string("kube-scheduler-") + GetParam(),
                                             .program = program,
                                             .extender_url = extender.url()});
  const int times = sized(1000, 15);
  const auto found = waits(times, 30s);
  report(std::string("another API server, kube-scheduler ") + GetParam(), found,
         extender.metric("tangram_wakes_total", "sent"));
  ASSERT_EQ(found.size(), static_cast<std::size_t>(times)) << "a pod did not take its room";
  EXPECT_LE(percentile(found, 99), 2);
  EXPECT_LE(percentile(found, 100), 5);
  expect_books_right_soon(extender);
}

INSTANTIATE_TEST_SUITE_P(Scheduler, WakeupApartTest, ::testing::Values("1.28", "current", "1.37"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::erase(name, '.');
                           return name;
                         });

TEST_F(WakeupTest, APodTakesItsRoomThoughTheWatchIsBehind) {
  ApiProxy proxy("behind");
  delay_watches(proxy);
  ExtenderProcess extender({.kubeconfig = proxy.kubeconfig()});
  extender.start_ready();
  const Process scheduler = start_scheduler({.extender_url = extender.url()});
  const int times = sized(300, 15);
  const auto found = waits(times, 30s);
  const double wakes = extender.metric("tangram_wakes_total", "sent") - 3;  // the term's
  report("each event 0.25 s late", found, wakes);
  ASSERT_EQ(found.size(), static_cast<std::size_t>(times)) << "a pod did not take its room";
  EXPECT_LE(percentile(found, 100), 5);
  EXPECT_GE(wakes, times / 4.0) << "the watch was not behind";
}

// After each event the watch is cut, and opened again 0.8 s later. The extender says so.
TEST_F(WakeupTest, APodTakesItsRoomThoughTheWatchIsCut) {
  ApiProxy proxy("cut");
  proxy.plan().add({.match = {.path_ends = "/pods", .watch = true},
                    .fault = {.kind = testing::Fault::Kind::kCutWatch, .frames = 1}});
  ExtenderProcess extender({.kubeconfig = proxy.kubeconfig()});
  extender.start_ready();
  const Process scheduler = start_scheduler({.extender_url = extender.url()});
  const int times = sized(300, 5);
  const auto found = waits(times, 30s);
  report("cut after each event", found, extender.metric("tangram_wakes_total", "sent"));
  ASSERT_EQ(found.size(), static_cast<std::size_t>(times)) << "a pod did not take its room";
}

// What the write is for.
TEST_F(WakeupTest, WithoutTheWriteAPodWaitsBesideFreeRoom) {
  ApiProxy proxy("asleep");
  delay_watches(proxy);
  ExtenderProcess extender(
      {.kubeconfig = proxy.kubeconfig(), .settings = {"scheduler.wake=false"}});
  extender.start_ready();
  const Process scheduler = start_scheduler({.extender_url = extender.url()});
  constexpr int kTimes = 10;
  const auto found = waits(kTimes, 20s);
  report("each event 0.25 s late, scheduler.wake=false", found, 0);
  EXPECT_LT(found.size(), static_cast<std::size_t>(kTimes))
      << "no pod waited: the test is too kind";
}

}  // namespace
}  // namespace tangram::e2e
