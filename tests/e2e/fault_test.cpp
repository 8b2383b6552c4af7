// Parts fail while pods come and go. Afterwards the books are right and nobody waits.

#include "tests/e2e/fixture.hpp"
#include "tests/e2e/load.hpp"
#include "tests/testing/api_server.hpp"
#include "tests/testing/fault_api.hpp"

#include <sys/wait.h>

#include <fstream>
#include <random>

namespace tangram::e2e {
namespace {

using testing::ApiServer;
using testing::CallMatch;
using testing::Fault;
using testing::FaultApi;
using testing::FaultRule;

/// A small cluster, half full, under load; the extender reaches the API server through a proxy that
/// breaks what a test tells it to.
class FaultTest : public E2eTest {
 protected:
  FaultTest() {
    cluster_.add_nodes(mixed_nodes(kNodes));
    auto server = ApiServer::start(faults_);
    if (!server) throw std::runtime_error(server.error().message);
    server_ = std::move(*server);
    const auto kubeconfig = environment().state / "proxy.kubeconfig";
    std::ofstream(kubeconfig) << "{apiVersion: v1, kind: Config, current-context: e2e, "
                                 "contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}], "
                                 "clusters: [{name: e2e, cluster: {server: \""
                              << server_->url() << "\"}}], users: [{name: e2e, user: {}}]}\n";
    extender_.emplace(ExtenderProcess::Options{.kubeconfig = kubeconfig.string()});
    extender_->start_ready();
    scheduler_.emplace(start_scheduler({.extender_url = extender_->url()}));
  }

  /// Again and again: load, the fault in its midst, quiet, a look at the books.
  void survive(const std::string& name, int times, const std::function<void()>& fault) {
    Load load(cluster_, watcher_, kPods);
    std::vector<double> recovered;
    for (int i = 0; i < times; ++i) {
      const auto begin = TimePoint::clock::now();
      ASSERT_TRUE(
          watcher_.wait([&](const auto& pods) { return bound_since(pods, begin) >= kPods; }, 1min))
          << name << ": no progress before round " << i;
      fault();
      const auto end = TimePoint::clock::now();
      load.pause();
      ASSERT_TRUE(watcher_.wait(
          [](const SeenPods& pods) { return count_bound(pods) == count_present(pods); }, 1min))
          << name << ": a pod is stuck in round " << i << "\n"
          << waiting();
      recovered.push_back(seconds_between(end, TimePoint::clock::now()));
      expect_books_right_soon(*extender_);
      if (HasFailure()) {
        for (const auto& [uid, pod] : watcher_.pods()) {
          std::cout << uid << " " << pod.name << " on \"" << pod.node << "\""
                    << (pod.deleted ? " deleted" : "") << "\n";
        }
        return;
      }
      load.resume();
    }
    Figures("fault")
        .add("name", name)
        .add("times", times)
        .add("pods_bound", bound_since(watcher_.pods(), TimePoint()))
        .spread("recovered_after_s", recovered);
  }

  static int bound_since(const SeenPods& pods, TimePoint begin) {
    return static_cast<int>(std::ranges::count_if(pods, [&](const auto& entry) {
      return entry.second.bind_was_seen && entry.second.bound > begin;
    }));
  }

  std::string waiting() {
    std::string text;
    for (const auto& [uid, pod] : watcher_.pods()) {
      if (pod.deleted || !pod.node.empty()) continue;
      text += pod.name + " " + uid + "\n" +
              extender_->get("/api/v1/explain?namespace=default&pod=" + pod.name).substr(0, 600);
    }
    return text;
  }

  FaultRule rule(CallMatch match, Fault fault, double probability) {
    return {.match = std::move(match), .fault = fault, .probability = probability};
  }

  /// The proxy misbehaves so for a while.
  void misbehave(std::vector<FaultRule> rules, std::chrono::milliseconds time) {
    static std::uint64_t seed = std::random_device()();
    std::cout << "seed of the faults: " << ++seed << std::endl;
    faults_.plan().set({.seed = seed, .rules = std::move(rules)});
    // Nothing tells when enough has gone wrong; the load runs on meanwhile.
    watcher_.wait([](const SeenPods&) { return false; }, time);
    faults_.plan().set({});
  }

  static constexpr int kNodes = 24;  // 192 cards
  static constexpr int kPods = 60;   // 12 kinds that take about 0.8 cards each
  std::unique_ptr<kube::KubeApi> extender_api_ = open_api(environment().extender_kubeconfig);
  FaultApi faults_{*extender_api_, FaultApi::Record::kNothing};
  std::unique_ptr<ApiServer> server_;
  PodWatcher watcher_{*api_};
  std::optional<ExtenderProcess> extender_;
  std::optional<Process> scheduler_;
};

TEST_F(FaultTest, ExtenderIsKilled) {
  survive("extender_killed", sized(30, 3), [&] {
    extender_->kill();
    extender_->start_ready();
  });
}

TEST_F(FaultTest, ApiServerStandsStill) {
  const int pid = apiserver_pid();
  survive("apiserver_still_5s", sized(6, 1), [&] {
    ::kill(pid, SIGSTOP);
    watcher_.wait([](const SeenPods&) { return false; }, 5s);
    ::kill(pid, SIGCONT);
  });
}

TEST_F(FaultTest, ApiServerIsKilled) {
  survive("apiserver_killed", sized(5, 1), [&] {
    auto restart = Process::start({environment().control, "restart-apiserver"},
                                  environment().state / "logs" / "restart.log");
    ASSERT_TRUE(restart);
    while (restart->running()) watcher_.wait([](const SeenPods&) { return false; }, 50ms);
    ASSERT_EQ(cluster_.get("/readyz"), "ok");
  });
}

TEST_F(FaultTest, ApiServerCannotBeReached) {
  survive("apiserver_unreachable_5s", sized(6, 1), [&] {
    server_->pause();
    watcher_.wait([](const SeenPods&) { return false; }, 5s);
    ASSERT_TRUE(server_->resume());
  });
}

TEST_F(FaultTest, WatchesAreCut) {
  survive("watch_cut", sized(30, 3), [&] {
    for (int i = 0; i < 5; ++i) {
      server_->cut_watches();
      watcher_.wait([](const SeenPods&) { return false; }, 50ms);
    }
    misbehave({rule({.watch = true}, {.kind = Fault::Kind::kCutWatch, .frames = 7}, 0.5),
               rule({.watch = true}, {.kind = Fault::Kind::kExpireWatch, .frames = 7}, 1)},
              500ms);
    server_->cut_watches();
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
    server_->cut_watches();
  });
}

}  // namespace
}  // namespace tangram::e2e
