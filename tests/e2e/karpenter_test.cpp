// Karpenter, which simulates kube-scheduler without Tangram's extender, makes and removes nodes for
// pods with shares. It knows of cards only what a NodeOverlay and the nodes say in sum.

#include "tests/e2e/karpenter.hpp"

#include "tests/e2e/environment.hpp"
#include "tests/e2e/fixture.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/webhook.hpp"

namespace tangram::e2e {
namespace {

using Request = std::map<std::string, std::string>;  ///< annotations without prefix

class KarpenterTest : public E2eTest {
 protected:
  void SetUp() override {
    if (environment().karpenter.empty()) GTEST_SKIP() << "Karpenter was not built";
    webhook_.emplace(cluster_, Webhook::Options{});
    scheduler_.emplace(webhook_->scheduler());
    nodes_.emplace();
    karpenter_.emplace();
  }

  /// As users write them: the webhook adds what autoscalers see.
  static std::vector<PodSpec> pods(int count, const Request& gpu,
                                   const std::string& prefix = "pod") {
    std::vector<PodSpec> made;
    for (int i = 0; i < count; ++i) {
      PodSpec pod;
      pod.name = prefix + "-" + std::to_string(i);
      pod.gpu = gpu;
      pod.slot = false;
      made.push_back(std::move(pod));
    }
    return made;
  }

  /// From no node to `nodes` and back.
  void grow_and_shrink(const std::string& kind, const Request& gpu, int count, int nodes) {
    ASSERT_EQ(nodes_->count(), 0);
    const auto begin = TimePoint::clock::now();
    cluster_.add_pods(pods(count, gpu));
    ASSERT_TRUE(nodes_->wait_count(nodes, 60s)) << nodes_->count() << " nodes";
    const auto grown = TimePoint::clock::now();
    ASSERT_TRUE(watcher_.wait_bound(count, 60s)) << count_bound(watcher_.pods());
    const auto bound = TimePoint::clock::now();
    expect_books_right_soon(webhook_->extender());
    EXPECT_EQ(nodes_->made(), nodes);

    const auto end = TimePoint::clock::now();
    cluster_.clear_pods();
    EXPECT_TRUE(nodes_->wait_count(0, 2min)) << nodes_->count() << " nodes are left";
    Figures("karpenter")
        .add("request", kind)
        .add("pods", count)
        .add("nodes", nodes)
        .add("nodes_after_s", seconds_between(begin, grown))
        .add("bound_after_s", seconds_between(begin, bound))
        .add("no_node_after_s", seconds_between(end, TimePoint::clock::now()));
  }

  bool wait_event(const std::string& pod, const std::string& text) {
    const auto deadline = TimePoint::clock::now() + 30s;
    while (TimePoint::clock::now() < deadline) {
      if (cluster_.get(Cluster::events_path(pod)).find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(200ms);  // polls
    }
    return false;
  }

  PodWatcher watcher_{*api_};
  std::optional<FakeKubelet> kubelet_{std::in_place, *api_, watcher_};
  std::optional<Webhook> webhook_;
  std::optional<Process> scheduler_;
  std::optional<StandInNodes> nodes_;
  std::optional<Karpenter> karpenter_;
};

TEST_F(KarpenterTest, MakesANodeForEightHalves) {
  grow_and_shrink("half", {{"gpu-fraction", "0.5"}}, 32, 4);
}

TEST_F(KarpenterTest, MakesANodeForFourWholeCards) {
  grow_and_shrink("whole", {{"gpu-count", "1"}}, 32, 8);
}

// The next two show a limit that docs/operations.md names: Karpenter counts on room that is free in
// sum, but on no card.

TEST_F(KarpenterTest, MakesTooFewNodesForPodsOfOverHalfACard) {
  const auto begin = TimePoint::clock::now();
  cluster_.add_pods(pods(12, {{"gpu-fraction", "0.6"}}));
  ASSERT_TRUE(watcher_.wait_bound(2 * kCardsOfInstance, 90s)) << count_bound(watcher_.pods());
  // In sum, 1600 thousandths are free on each node, and Karpenter has chosen it for two pods.
  ASSERT_TRUE(watcher_.wait_calm(30s, 2min));
  EXPECT_EQ(nodes_->made(), 2);
  EXPECT_EQ(count_bound(watcher_.pods()), 2 * kCardsOfInstance);
  expect_books_right_soon(webhook_->extender());
  Figures("karpenter")
      .add("request", "0.6")
      .add("pods", 12)
      .add("nodes", nodes_->made())
      .add("bound", count_bound(watcher_.pods()))
      .add("watched_s", seconds_between(begin, TimePoint::clock::now()));
}

TEST_F(KarpenterTest, MakesNoNodeForAPodThatFitsInSumButOnNoCard) {
  cluster_.add_pods(pods(kCardsOfInstance, {{"gpu-fraction", "0.6"}}));
  ASSERT_TRUE(watcher_.wait_bound(kCardsOfInstance, 90s)) << count_bound(watcher_.pods());
  ASSERT_EQ(nodes_->count(), 1);

  cluster_.add_pods(pods(1, {{"gpu-fraction", "0.8"}}, "large"));
  EXPECT_TRUE(wait_event("large-0", "no GPU card has enough free"));
  EXPECT_TRUE(wait_event("large-0", "Pod should schedule on"));  // the same node, says Karpenter
  EXPECT_FALSE(watcher_.wait_pod_bound("large-0", 40s));
  EXPECT_EQ(nodes_->made(), 1);
  expect_books_right_soon(webhook_->extender());
}

/// The remedy that docs/operations.md describes.
TEST_F(KarpenterTest, HeadroomMakesANodeForAPodThatFitsInSumButOnNoCard) {
  cluster_.add_pods(pods(kCardsOfInstance, {{"gpu-fraction", "0.6"}}));
  ASSERT_TRUE(watcher_.wait_bound(kCardsOfInstance, 90s)) << count_bound(watcher_.pods());
  const std::string first = watcher_.wait_pod_bound("pod-0", 1s).value().node;
  const KubectlAnswer printed =
      run_command({KUBECTL_TANGRAM, "autoscaler", "headroom", "--from", first, "--namespace",
                   "default", "--kubeconfig", environment().admin_kubeconfig});
  ASSERT_TRUE(printed.done()) << printed.text;
  const KubectlAnswer applied = kubectl({"apply", "-f", "-"}, printed.text);
  ASSERT_TRUE(applied.done()) << applied.text;
  EXPECT_TRUE(nodes_->wait_count(2, 60s)) << nodes_->count() << " nodes";
  ASSERT_TRUE(watcher_.wait_bound(kCardsOfInstance + 1, 60s)) << count_bound(watcher_.pods());

  const auto begin = TimePoint::clock::now();
  cluster_.add_pods(pods(1, {{"gpu-fraction", "0.8"}}, "large"));
  const auto large = watcher_.wait_pod_bound("large-0", 60s);
  ASSERT_TRUE(large);
  const auto bound = TimePoint::clock::now();
  EXPECT_NE(large->node, first);
  EXPECT_TRUE(nodes_->wait_count(3, 60s)) << nodes_->count() << " nodes";
  ASSERT_TRUE(watcher_.wait_bound(kCardsOfInstance + 2, 60s)) << count_bound(watcher_.pods());
  Figures("karpenter_headroom")
      .add("bound_after_s", seconds_between(begin, bound))
      .add("next_headroom_after_s", seconds_between(begin, TimePoint::clock::now()));
  expect_books_right_soon(webhook_->extender());
  kubectl({"delete", "-f", "-"}, printed.text);
}

}  // namespace
}  // namespace tangram::e2e
