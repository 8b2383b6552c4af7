// Preemption: kube-scheduler preempts the right pods, on one card, and only where that helps.

#include "tests/e2e/api_proxy.hpp"
#include "tests/e2e/fixture.hpp"

#include <set>

namespace tangram::e2e {
namespace {

constexpr const char* kClasses = "/apis/scheduling.k8s.io/v1/priorityclasses";
constexpr const char* kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

class PreemptionTest : public E2eTest {
 protected:
  PreemptionTest() {
    add_class("low", 100, "PreemptLowerPriority");
    add_class("middle", 500, "PreemptLowerPriority");
    add_class("high", 1000, "PreemptLowerPriority");
    add_class("high-but-polite", 1000, "Never");
  }

  void add_class(const std::string& name, int value, const std::string& policy) {
    cluster_.ensure(
        kClasses, R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":)"
                  R"({"name":")" +
                      name + R"("},"value":)" + std::to_string(value) + R"(,"preemptionPolicy":")" +
                      policy + "\"}");
  }

  void start(const std::vector<NodeSpec>& nodes, const std::string& scheduler = "") {
    cluster_.add_nodes(nodes);
    extender_.start_ready();
    scheduler_.emplace(start_scheduler({.program = scheduler, .extender_url = extender_.url()}));
  }

  /// With the aggregate request that the admission webhook would add.
  static PodSpec pod(const std::string& name, const std::string& fraction,
                     const std::string& priority, int milli) {
    PodSpec made = fraction_pod(name, fraction);
    made.priority_class = priority;
    made.requests = {{"tangram.dev/gpu-milli", std::to_string(milli)}};
    made.labels = {{"app", name}};
    return made;
  }

  void bind(const PodSpec& spec) {
    cluster_.add_pods({spec});
    ASSERT_TRUE(watcher_.wait_pod_bound(spec.name, 30s)) << spec.name;
  }

  std::set<std::string> alive() {
    std::set<std::string> names;
    for (const auto& [uid, seen] : watcher_.pods()) {
      if (!seen.deleted && !seen.deleting && !seen.node.empty()) names.insert(seen.name);
    }
    return names;
  }

  std::string card_of(const std::string& pod_name) {
    const auto verdict = check_cluster(*api_);
    for (const auto& [uid, seen] : watcher_.pods()) {
      if (seen.name != pod_name || seen.deleted) continue;
      for (const auto& [id, card] : verdict.nodes.at(seen.node)) {
        if (std::ranges::find(card.sharers, uid) != card.sharers.end()) return id;
      }
    }
    return "";
  }

  PodWatcher watcher_{*api_};
  ApiProxy proxy_{"preemption"};
  std::optional<FakeKubelet> kubelet_{std::in_place, *api_, watcher_};
  ExtenderProcess extender_{{.kubeconfig = proxy_.kubeconfig()}};
  std::optional<Process> scheduler_;
};

NodeSpec node_with_aggregates(const std::string& name, int cards) {
  NodeSpec node = node_with_cards(name, cards);
  node.aggregates = true;
  return node;
}

TEST_F(PreemptionTest, TakesOneCardsPodsAndNoOthers) {
  start({node_with_aggregates("node", 2)});
  // Two halves each fill a card. One card's pods have a higher priority than the other's, but a
  // lower one than the new pod.
  bind(pod("low-1", "0.5", "low", 500));
  bind(pod("low-2", "0.5", "low", 500));
  bind(pod("middle-1", "0.5", "middle", 500));
  bind(pod("middle-2", "0.5", "middle", 500));
  ASSERT_EQ(card_of("low-1"), card_of("low-2"));

  const auto begin = TimePoint::clock::now();
  cluster_.add_pods({pod("urgent", "1", "high", 1000)});
  const auto bound = watcher_.wait_pod_bound("urgent", 30s);
  ASSERT_TRUE(bound);
  EXPECT_THAT(alive(), ::testing::UnorderedElementsAre("middle-1", "middle-2", "urgent"));
  Figures("preemption").add("bound_after_s", seconds_between(begin, bound->bound));
  expect_books_right(extender_);
}

TEST_F(PreemptionTest, SparesAPodWhoseBudgetIsSpent) {
  start({node_with_aggregates("node", 2)});
  // First, so that scheduler and extender have seen it when they choose.
  cluster_.create(kBudgets, R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget",)"
                            R"("metadata":{"name":"kept"},"spec":{"minAvailable":1,)"
                            R"("selector":{"matchLabels":{"app":"kept"}}}})");
  bind(pod("kept", "1", "low", 1000));
  bind(pod("victim", "1", "low", 1000));
  cluster_.add_pods({pod("urgent", "1", "high", 1000)});
  ASSERT_TRUE(watcher_.wait_pod_bound("urgent", 30s));
  EXPECT_THAT(alive(), ::testing::UnorderedElementsAre("kept", "urgent"));
  expect_books_right(extender_);
}

TEST_F(PreemptionTest, KillsNobodyForAPodThatNeverPreempts) {
  start({node_with_aggregates("node", 1)});
  bind(pod("running", "1", "low", 1000));
  cluster_.add_pods({pod("polite", "1", "high-but-polite", 1000)});
  EXPECT_FALSE(watcher_.wait_pod_bound("polite", 5s));
  EXPECT_THAT(alive(), ::testing::UnorderedElementsAre("running"));
}

// ---- Room that is free, but in pieces: kube-scheduler names no victims.

TEST_F(PreemptionTest, MakesRoomOnOneCard) {
  start({node_with_aggregates("node", 2)});
  bind(pod("a", "0.6", "middle", 600));
  bind(pod("b", "0.6", "low", 600));
  const auto begin = TimePoint::clock::now();
  // 800 of 2000 milli are free, but 400 on each card.
  cluster_.add_pods({pod("urgent", "0.8", "high", 800)});
  const auto bound = watcher_.wait_pod_bound("urgent", 30s);
  ASSERT_TRUE(bound);
  EXPECT_THAT(alive(), ::testing::UnorderedElementsAre("a", "urgent"));
  EXPECT_EQ(extender_.metric("tangram_card_preemption_victims_total"), 1);
  EXPECT_THAT(cluster_.get(Cluster::events_path("urgent")),
              ::testing::HasSubstr("evicting 1 pod of lower priority on node node"));
  EXPECT_THAT(cluster_.get(Cluster::events_path("b")), ::testing::HasSubstr("Preempted"));
  Figures("card_preemption").add("bound_after_s", seconds_between(begin, bound->bound));
  expect_books_right(extender_);
}

TEST_F(PreemptionTest, KeepsTheRoomOfOneCardForThePodThatGetsIt) {
  start({node_with_aggregates("node", 2)});
  kubelet_.reset();  // victims end when the test ends them
  bind(pod("a", "0.6", "low", 600));
  bind(pod("b", "0.6", "low", 600));
  cluster_.add_pods({pod("urgent", "0.8", "high", 800)});
  const auto is_nominated = [](const SeenPods& pods) {
    return std::ranges::any_of(pods,
                               [](const auto& entry) { return entry.second.nominated == "node"; });
  };
  ASSERT_TRUE(watcher_.wait(is_nominated, 30s));
  std::string victim;
  const auto leaves = [&](const SeenPods& pods) {
    for (const auto& [uid, seen] : pods) {
      if (seen.deleting) victim = seen.name;
    }
    return !victim.empty();
  };
  ASSERT_TRUE(watcher_.wait(leaves, 30s));
  cluster_.add_pods({pod("thief", "0.6", "middle", 600)});
  EXPECT_FALSE(watcher_.wait_pod_bound("thief", 2s));
  cluster_.delete_pod(victim);
  ASSERT_TRUE(watcher_.wait_pod_bound("urgent", 30s));
  EXPECT_FALSE(watcher_.wait_pod_bound("thief", 2s));
  EXPECT_EQ(extender_.metric("tangram_card_preemption_victims_total"), 1);
  expect_books_right_soon(extender_);
}

TEST_F(PreemptionTest, KillsNobodyOnOneCardWhoseBudgetIsSpent) {
  start({node_with_aggregates("node", 2)});
  for (const char* name : {"a", "b"}) {
    bind(pod(name, "0.6", "low", 600));
    cluster_.create(kBudgets, std::string(R"({"apiVersion":"policy/v1","kind":)") +
                                  R"("PodDisruptionBudget","metadata":{"name":")" + name +
                                  R"("},"spec":{"minAvailable":1,"selector":{"matchLabels":)" +
                                  R"({"app":")" + name + R"("}}}})");
  }
  cluster_.add_pods({pod("urgent", "0.8", "high", 800)});
  EXPECT_FALSE(watcher_.wait_pod_bound("urgent", 8s));
  EXPECT_THAT(alive(), ::testing::UnorderedElementsAre("a", "b"));
  EXPECT_THAT(extender_.get("/api/v1/explain?namespace=default&pod=urgent"),
              ::testing::HasSubstr("no GPU card has enough free memory and compute"));
  EXPECT_THAT(cluster_.get(Cluster::events_path("urgent")),
              ::testing::HasSubstr("no GPU card has enough free memory and compute"));
  expect_books_right(extender_);
}

TEST_F(PreemptionTest, KillsNobodyOnOneCardForAPodThatNeverPreempts) {
  start({node_with_aggregates("node", 2)});
  bind(pod("a", "0.6", "low", 600));
  bind(pod("b", "0.6", "low", 600));
  cluster_.add_pods({pod("polite", "0.8", "high-but-polite", 800)});
  EXPECT_FALSE(watcher_.wait_pod_bound("polite", 5s));
  EXPECT_THAT(alive(), ::testing::UnorderedElementsAre("a", "b"));
}

/// By the version of kube-scheduler.
class NominationTest : public PreemptionTest, public ::testing::WithParamInterface<const char*> {
 protected:
  /// A pod for a whole card of nodes with that label.
  static PodSpec on(const std::string& label, const std::string& name,
                    const std::string& priority) {
    PodSpec made = pod(name, "1", priority, 1000);
    made.node_selector = {{label, "yes"}};
    return made;
  }
  static NodeSpec node(const std::string& name, std::map<std::string, std::string> labels) {
    NodeSpec made = node_with_aggregates(name, 1);
    made.labels = std::move(labels);
    return made;
  }
  bool wait_for(const std::string& name, const std::function<bool(const SeenPod&)>& holds,
                std::chrono::milliseconds limit) {
    return watcher_.wait(
        [&](const SeenPods& pods) {
          return std::ranges::any_of(pods, [&](const auto& entry) {
            return entry.second.name == name && !entry.second.deleted && holds(entry.second);
          });
        },
        limit);
  }
};

// kube-scheduler clears the nomination of a pod whose filter ends in an error. The room that it
// preempted others for would go to the next pod, however unimportant.
TEST_P(NominationTest, IsKeptWhileRoomElsewhereIsBeingGivenToAnotherPod) {
  const std::string program = scheduler_of(GetParam());
  if (program.empty()) GTEST_SKIP() << "kube-scheduler " << GetParam() << " was not built";
  start({node("first", {{"urgent", "yes"}, {"first", "yes"}}), node("second", {{"second", "yes"}})},
        program);
  kubelet_.reset();  // victims end when the test ends them
  bind(on("first", "victim", "low"));
  cluster_.add_pods({on("urgent", "urgent", "high")});
  ASSERT_TRUE(wait_for(
      "urgent", [](const auto& seen) { return seen.nominated == "first"; }, 30s));
  ASSERT_TRUE(wait_for(
      "victim", [](const auto& seen) { return seen.deleting; }, 30s));

  // The bind of an unimportant pod takes its time; only without it the second node has room.
  proxy_.plan().add({.match = {.method = kube::Method::kPost, .path_ends = "/late/binding"},
                     .fault = {.kind = testing::Fault::Kind::kDelay, .delay = 2500ms}});
  PodSpec late = on("second", "late", "low");
  late.requests.clear();  // else kube-scheduler's own count refuses the node
  cluster_.add_pods({late});
  watcher_.wait([](const SeenPods&) { return false; }, 700ms);
  cluster_.patch("/api/v1/nodes/second", R"({"metadata":{"labels":{"urgent":"yes"}}})");
  EXPECT_FALSE(wait_for(
      "urgent", [](const auto& seen) { return seen.nominated.empty(); }, 1500ms));
  EXPECT_EQ(extender_.metric("tangram_waiting_pods", "settling"), 1) << "it was not asked";
  EXPECT_TRUE(watcher_.wait_pod_bound("late", 30s));

  cluster_.add_pods({on("first", "thief", "low")});
  watcher_.wait([](const SeenPods&) { return false; }, 500ms);
  const auto begin = TimePoint::clock::now();
  cluster_.delete_pod("victim");
  const auto bound = watcher_.wait_pod_bound("urgent", 30s);
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->node, "first");
  EXPECT_THAT(alive(), ::testing::UnorderedElementsAre("urgent", "late"));
  Figures("nomination")
      .add("scheduler", GetParam())
      .add("bound_after_s", seconds_between(begin, bound->bound));
  expect_books_right_soon(extender_);
}

INSTANTIATE_TEST_SUITE_P(Scheduler, NominationTest, ::testing::Values("1.28", "current", "1.37"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::erase(name, '.');
                           return name;
                         });

}  // namespace
}  // namespace tangram::e2e
