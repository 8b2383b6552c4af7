// Parts fail while pods start and end. Afterwards the ledger is correct and no pod is pending.

#include "tests/e2e/api_proxy.hpp"
#include "tests/e2e/survival.hpp"

#include <csignal>
#include <random>

namespace tangram::e2e {
namespace {

using testing::CallMatch;
using testing::Fault;
using testing::FaultRule;

/// The extender reaches the API server through a proxy that a test can break.
class FaultTest : public SurvivalTest {
 protected:
  FaultTest() {
    extender_.start_ready();
    scheduler_.emplace(start_scheduler({.extender_url = extender_.url()}));
  }

  ExtenderProcess& witness() override { return extender_; }

  static FaultRule rule(CallMatch match, Fault fault, double probability) {
    return {.match = std::move(match), .fault = fault, .probability = probability};
  }

  /// The proxy applies the rules for `time`.
  void misbehave(std::vector<FaultRule> rules, std::chrono::milliseconds time) {
    static std::uint64_t seed = std::random_device()();
    std::cout << "seed of the faults: " << ++seed << std::endl;
    proxy_.plan().set({.seed = seed, .rules = std::move(rules)});
    go_on(time);
    proxy_.plan().set({});
  }

  /// Runs a verb of scripts/e2e that stops and starts the API server.
  void control(const std::string& verb) {
    e2e::control(verb, [this] { go_on(50ms); });
    ASSERT_EQ(cluster_.get("/readyz"), "ok");
  }

  ApiProxy proxy_{"proxy"};
  ExtenderProcess extender_{{.kubeconfig = proxy_.kubeconfig()}};
  std::optional<Process> scheduler_;
};

TEST_F(FaultTest, ExtenderIsKilled) {
  survive("extender_killed", sized(30, 3), [&] {
    extender_.kill();
    extender_.start_ready();
  });
}

TEST_F(FaultTest, ApiServerStandsStill) {
  const int pid = apiserver_pid();
  survive("apiserver_still_5s", sized(6, 1), [&] {
    ::kill(pid, SIGSTOP);
    go_on(5s);
    ::kill(pid, SIGCONT);
  });
}

TEST_F(FaultTest, ApiServerIsKilled) {
  survive("apiserver_killed", sized(5, 1), [&] { control("restart-apiserver"); });
}

TEST_F(FaultTest, ApiServerCannotBeReached) {
  survive("apiserver_unreachable_5s", sized(6, 1), [&] {
    proxy_.server().pause();
    go_on(5s);
    ASSERT_TRUE(proxy_.server().resume());
  });
}

TEST_F(FaultTest, WatchesAreCut) {
  survive("watch_cut", sized(30, 3), [&] {
    for (int i = 0; i < 5; ++i) {
      proxy_.server().cut_watches();
      go_on(50ms);
    }
    misbehave({rule({.watch = true}, {.kind = Fault::Kind::kCutWatch, .frames = 7}, 0.5),
               rule({.watch = true}, {.kind = Fault::Kind::kExpireWatch, .frames = 7}, 1)},
              500ms);
    proxy_.server().cut_watches();
  });
}

TEST_F(FaultTest, AnswersAreLostOrComeTooLate) {
  // Later than bind.timeout_ms, 4 s; the write has taken effect by then.
  const Fault late{.kind = Fault::Kind::kDelayAnswer, .delay = 5s};
  survive("answer_late_or_lost", sized(10, 1), [&] {
    misbehave({rule(testing::any_binding(), late, 0.05),
               rule(testing::any_binding(), {.kind = Fault::Kind::kLoseAnswer}, 0.2),
               rule(testing::any_binding(), {.kind = Fault::Kind::kLoseBefore}, 0.2),
               rule({.method = kube::Method::kGet}, {.kind = Fault::Kind::kLoseAnswer}, 0.1)},
              7s);
  });
  // kube-scheduler gives up after 5 s. Some binds are still under way.
  const std::string name = "tangram_extender_request_duration_seconds";
  const std::string metrics = extender_.get("/metrics");
  EXPECT_EQ(metric_in(metrics, name + "_bucket", R"(verb="bind",le="5")"),
            metric_in(metrics, name + "_count", R"(verb="bind")"));
}

TEST_F(FaultTest, ApiServerRefuses) {
  const auto answer = [](int status) {
    return Fault{.kind = Fault::Kind::kAnswer, .status = status};
  };
  survive("status_409_429_500", sized(20, 2), [&] {
    misbehave({rule(testing::any_binding(), answer(409), 0.1),
               rule(testing::any_binding(), answer(429), 0.1),
               rule(testing::any_binding(), answer(500), 0.1),
               rule({.method = kube::Method::kGet}, answer(500), 0.3),
               rule({.watch = true}, answer(500), 0.3)},
              2s);
    proxy_.server().cut_watches();
  });
}

/// The API server loses what was written after the backup, and counts versions from there again:
/// they are older than those that the extender has seen.
TEST_F(FaultTest, EtcdIsRestored) {
  ExtenderProcess direct({.name = "extender-direct"});  // watches the API server without a proxy
  direct.start_ready();
  constexpr int kReplaced = kPods / 2;
  cluster_.add_pods(mixed_pods(kPods, "kept"));
  ASSERT_TRUE(watcher_.wait_bound(kPods, 1min));
  control("save-etcd");
  in_parallel(kReplaced, [&](int i) { cluster_.delete_pod("kept-" + std::to_string(i)); });
  cluster_.add_pods(mixed_pods(kReplaced, "lost"));
  const auto replaced = [](const SeenPods& pods) {
    return count_present(pods) == kPods && count_bound(pods) == kPods;
  };
  ASSERT_TRUE(watcher_.wait(replaced, 1min));
  expect_books_right_soon(direct);

  scheduler_.reset();  // as its operators must: its cache does not notice a restored backup either
  control("restore-etcd");
  const auto restored = TimePoint::clock::now();
  for (const ExtenderProcess* extender : {&extender_, &direct}) {
    SCOPED_TRACE(extender->log());
    expect_books_right_soon(*extender);
  }
  Figures("fault")
      .add("name", "etcd_restored")
      .add("recovered_after_s", seconds_between(restored, TimePoint::clock::now()));

  scheduler_.emplace(start_scheduler({.extender_url = extender_.url()}));
  PodWatcher watcher(*api_);  // watcher_ waits for a version that lies ahead
  cluster_.add_pods(mixed_pods(kReplaced, "new"));
  EXPECT_TRUE(watcher.wait_bound(kPods + kReplaced, 1min));
  expect_books_right_soon(extender_);
}

}  // namespace
}  // namespace tangram::e2e
