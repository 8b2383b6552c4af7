#pragma once

#include "tests/e2e/checker.hpp"
#include "tests/e2e/cluster.hpp"
#include "tests/e2e/environment.hpp"
#include "tests/e2e/figures.hpp"
#include "tests/e2e/pod_watcher.hpp"
#include "tests/e2e/stack.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace tangram::e2e {

using namespace std::chrono_literals;

[[nodiscard]] inline double seconds_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

/// A cluster without nodes and pods, and a checker.
class E2eTest : public ::testing::Test {
 protected:
  E2eTest() { cluster_.clear(); }

  /// No card is over capacity, every grant is correct, and the extender reports the same.
  void expect_books_right(const ExtenderProcess& extender) {
    const Verdict verdict = check_cluster(*api_);
    EXPECT_TRUE(verdict.problems.empty()) << verdict.summary();
    EXPECT_THAT(differences(verdict, extender.get("/api/v1/cluster")), ::testing::IsEmpty());
  }

  /// The same, but waits until the extender has caught up.
  void expect_books_right_soon(const ExtenderProcess& extender) {
    const auto agrees = [&] {
      return differences(check_cluster(*api_), extender.get("/api/v1/cluster")).empty();
    };
    const auto deadline =
        TimePoint::clock::now() + 80s;  // assume_ttl_ms, for binds with an unknown outcome
    while (!agrees() && TimePoint::clock::now() < deadline) std::this_thread::sleep_for(50ms);
    expect_books_right(extender);
  }

  std::unique_ptr<kube::KubeApi> api_ = admin_api();
  Cluster cluster_{*api_};
};

/// `count` nodes of 8 cards, of four models and sizes in turn.
[[nodiscard]] inline std::vector<NodeSpec> mixed_nodes(int count) {
  struct Kind {
    const char* model;
    int memory_mib;
  };
  constexpr Kind kKinds[] = {{"A100-SXM4-80GB", 81'920},
                             {"H100-SXM5-80GB", 81'559},
                             {"L40S", 46'068},
                             {"Tesla-T4", 15'360}};
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < count; ++i) {
    const auto& kind = kKinds[static_cast<std::size_t>(i) % std::size(kKinds)];
    nodes.push_back(node_with_cards("node-" + std::to_string(i), 8, kind.model, kind.memory_mib));
  }
  return nodes;
}

/// `count` pods with every form of request: shares, memory, best effort, several cards, models.
[[nodiscard]] inline std::vector<PodSpec> mixed_pods(int count, const std::string& prefix = "p") {
  using Gpu = std::map<std::string, std::string>;
  const std::vector<Gpu> kinds = {
      {{"gpu-fraction", "0.5"}},
      {{"gpu-fraction", "0.25"}},
      {{"gpu-mem", "8Gi"}},
      {{"gpu-fraction", "0.333"}},
      {{"gpu-count", "1"}},
      {{"gpu-mem", "4000Mi"}, {"gpu-compute", "0.1"}},
      {{"gpu-count", "2"}, {"gpu-fraction", "0.25"}, {"gpu-isolation", "time-slice"}},
      {{"gpu-mem", "1G"}, {"gpu-compute", "0"}},
      {{"gpu-fraction", "0.125"}, {"gpu-model", "A100*,H100*"}},
      {{"gpu-fraction", "0.75"}, {"gpu-model", "!Tesla*"}},
      {{"gpu-count", "4"}},
      {{"gpu-fraction", "0.1"}, {"gpu-isolation", "time-slice"}},
  };
  std::vector<PodSpec> pods;
  for (int i = 0; i < count; ++i) {
    PodSpec pod;
    pod.name = prefix + "-" + std::to_string(i);
    pod.gpu = kinds[static_cast<std::size_t>(i) % kinds.size()];
    pods.push_back(std::move(pod));
  }
  return pods;
}

}  // namespace tangram::e2e
