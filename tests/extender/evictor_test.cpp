#include "extender/evictor.hpp"

#include "extender/health_routes.hpp"
#include "kube/local/api.hpp"
#include "tests/testing/exposition.hpp"
#include "tests/testing/fault_api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace tangram::extender {
namespace {

using testing::json_at;
using namespace std::chrono_literals;

const testing::CallMatch kAnyEviction{.method = kube::Method::kPost, .path_ends = "/eviction"};

class EvictorTest : public ::testing::Test {
 protected:
  /// @param obstacle  empty = there is none
  void make(EvictorSettings settings = {},
            std::function<std::string(const EvictionCase&)> obstacle = {}) {
    evictor_.emplace(settings,
                     Evictor::Parts{.api = api_,
                                    .clock = clock_,
                                    .may_write = [this](auto) { return leads_; },
                                    .report =
                                        [this](const cluster::PodName& pod, const std::string& s) {
                                          told_.push_back(pod.name + ": " + s);
                                        },
                                    .obstacle = std::move(obstacle)});
  }
  /// A pod that the API server has.
  EvictionCase pod(const std::string& name,
                   kube::Controller controller = {"ReplicaSet", "train-7"}) {
    const auto made =
        server_.call(testing::write_request(kube::Method::kPost, "/api/v1/namespaces/ml/pods",
                                            testing::pod_json({.name = name, .node = "n"})));
    EXPECT_EQ(made->status, 201) << made->body;
    return {.pod = {json_at(made->body, "metadata.uid"), "ml", name},
            .controller = std::move(controller),
            .why = "the pod cannot start: it was bound without a grant"};
  }
  /// Looks once a second, as the service does.
  void look_for(std::chrono::seconds time, const std::vector<EvictionCase>& stuck) {
    for (auto second = 0s; second < time; second += 1s) {
      evictor_->look(stuck);
      note_results();
      clock_.advance(1s);
    }
  }
  /// Appends what the metrics have counted since the last time.
  void note_results() {
    const testing::Exposition page(exposition({&*evictor_}));
    for (const char* result : {"evicted", "gone", "refused", "failed"}) {
      const double now =
          page.value(std::string("tangram_evictions_total{result=\"") + result + "\"}");
      const double before = std::exchange(counts_[result], now);
      results_.insert(results_.end(), static_cast<std::size_t>(now - before), result);
    }
  }
  std::size_t evictions() { return api_.calls(kAnyEviction).size(); }
  bool deleting(const std::string& name) {
    return json_at(server_.call(testing::get_request("/api/v1/namespaces/ml/pods/" + name))->body,
                   "metadata.deletionTimestamp") != "<none>";
  }
  using Lines = std::vector<std::string>;

  testing::ManualClock clock_;
  kube::LocalApi server_{clock_};
  testing::FaultApi api_{server_};
  bool leads_ = true;
  Lines told_;
  Lines results_;  ///< of the evictions, in order
  std::map<std::string, double> counts_;
  std::optional<Evictor> evictor_;
};

TEST_F(EvictorTest, EvictsAPodThatStaysStuckAndSaysSoBefore) {
  make();
  const EvictionCase stuck = pod("train-7-x");
  look_for(60s, {stuck});
  EXPECT_EQ(evictions(), 0U);
  look_for(1s, {stuck});
  EXPECT_EQ(evictions(), 1U);
  EXPECT_TRUE(deleting("train-7-x"));
  EXPECT_EQ(results_, Lines{"evicted"});
  EXPECT_EQ(told_, Lines{"train-7-x: the pod cannot start: it was bound without a grant; it is "
                         "evicted, so that ReplicaSet train-7 makes another one, which is placed "
                         "anew"});
}

TEST_F(EvictorTest, PodThatWasNotStuckForAMomentBeginsAnew) {
  make();
  const EvictionCase stuck = pod("a");
  look_for(50s, {stuck});
  look_for(1s, {});
  look_for(59s, {stuck});
  EXPECT_EQ(evictions(), 0U);
  EXPECT_TRUE(told_.empty());
}

TEST_F(EvictorTest, ActsOnlyWhileItLeadsAndKnowsTheAgeThen) {
  make();
  leads_ = false;
  const EvictionCase stuck = pod("a");
  look_for(120s, {stuck});
  EXPECT_EQ(evictions(), 0U);
  EXPECT_TRUE(told_.empty());
  leads_ = true;
  look_for(1s, {stuck});
  EXPECT_EQ(evictions(), 1U);
}

TEST_F(EvictorTest, NeverTheNextPodThatHasTheName) {
  make();
  EvictionCase stuck = pod("a");
  stuck.pod.uid = "of-an-earlier-pod";
  look_for(61s, {stuck});
  EXPECT_EQ(results_, Lines{"gone"});
  EXPECT_FALSE(deleting("a"));
}

TEST_F(EvictorTest, SpreadsEvictionsEvenlyTheLongestStuckFirst) {
  make({.per_minute = 10});
  const EvictionCase late = pod("a");
  const EvictionCase early = pod("b");
  const EvictionCase middle = pod("c");
  look_for(1s, {early});
  look_for(1s, {early, middle});
  // Pods that are being deleted are not stuck any more.
  const auto still_stuck = [&] {
    std::vector<EvictionCase> stuck;
    for (const EvictionCase& one : {late, early, middle}) {
      if (!deleting(one.pod.name)) stuck.push_back(one);
    }
    return stuck;
  };
  for (int second = 0; second < 61; ++second) look_for(1s, still_stuck());
  EXPECT_TRUE(deleting("b"));
  EXPECT_FALSE(deleting("a") || deleting("c"));
  for (int second = 0; second < 6; ++second) look_for(1s, still_stuck());
  EXPECT_TRUE(deleting("c"));
  EXPECT_FALSE(deleting("a"));
  for (int second = 0; second < 6; ++second) look_for(1s, still_stuck());
  EXPECT_TRUE(deleting("a"));
}

TEST_F(EvictorTest, NamespacesTakeTurns) {
  make({.per_minute = 60});
  std::vector<EvictionCase> stuck;
  for (int i = 0; i < 20; ++i) stuck.push_back(pod("many-" + std::to_string(i)));
  look_for(1s, stuck);
  const auto evicted = [&](const std::string& ns) {
    std::size_t count = 0;
    for (const auto& call : api_.calls(kAnyEviction)) {
      if (call.path.starts_with("/api/v1/namespaces/" + ns + "/")) ++count;
    }
    return count;
  };
  for (const char* name : {"of-another-1", "of-another-2"}) stuck.push_back(pod(name));
  for (std::size_t i = 20; i < stuck.size(); ++i) stuck[i].pod.ns = "other";
  look_for(62s, stuck);
  EXPECT_EQ(evicted("ml"), 2U);
  EXPECT_EQ(evicted("other"), 1U) << "although all of the first have waited longer";
  look_for(2s, stuck);
  EXPECT_EQ(evicted("ml"), 3U);
  EXPECT_EQ(evicted("other"), 2U);
}

TEST_F(EvictorTest, BacksOffWhileABudgetRefuses) {
  make();
  const EvictionCase stuck = pod("a");
  api_.plan().add({.match = kAnyEviction,
                   .fault = {.kind = testing::Fault::Kind::kAnswer, .status = 429},
                   .times = 3});
  look_for(61s, {stuck});
  EXPECT_EQ(results_, Lines{"refused"});
  look_for(9s, {stuck});
  EXPECT_EQ(evictions(), 1U);
  look_for(1s, {stuck});
  EXPECT_EQ(evictions(), 2U);
  look_for(19s, {stuck});
  EXPECT_EQ(evictions(), 2U);
  look_for(1s, {stuck});
  EXPECT_EQ(evictions(), 3U);
  look_for(40s, {stuck});
  EXPECT_EQ(results_, (Lines{"refused", "refused", "refused", "evicted"}));
  ASSERT_EQ(told_.size(), 2U) << "each sentence once";
  EXPECT_NE(told_[1].find("a disruption budget does not let it go"), std::string::npos);
}

TEST_F(EvictorTest, WaitsForAsLongAsTheServerSays) {
  make();
  const EvictionCase stuck = pod("a");
  api_.will(kAnyEviction,
            {.kind = testing::Fault::Kind::kAnswer, .status = 429, .retry_after = 100s});
  look_for(161s - 1s, {stuck});
  EXPECT_EQ(evictions(), 1U);
  look_for(1s, {stuck});
  EXPECT_EQ(evictions(), 2U);
}

TEST_F(EvictorTest, TriesAgainAfterALostAnswer) {
  make();
  const EvictionCase stuck = pod("a");
  api_.will(kAnyEviction, testing::Fault::Kind::kLoseBefore);
  look_for(71s, {stuck});
  EXPECT_EQ(results_, (Lines{"failed", "evicted"}));
}

TEST_F(EvictorTest, ReportsPodsThatNoControllerReplaces) {
  make();
  look_for(200s, {pod("bare", {}), pod("mirror", {"Node", "n"}), pod("ds-x", {"DaemonSet", "ds"})});
  EXPECT_EQ(evictions(), 0U);
  EXPECT_EQ(told_,
            (Lines{"bare: the pod cannot start: it was bound without a grant; no controller "
                   "replaces it: delete the pod and create it again",
                   "mirror: the pod cannot start: it was bound without a grant; it is a static "
                   "pod, which no scheduler places: take what it asks of GPUs out of its "
                   "manifest",
                   "ds-x: the pod cannot start: it was bound without a grant; delete the "
                   "pod, so that DaemonSet ds makes another one"}));
}

TEST_F(EvictorTest, TellsAndEvictsNobodyWhereItIsSwitchedOff) {
  make({.enabled = false});
  look_for(200s, {pod("a")});
  EXPECT_EQ(evictions(), 0U);
  EXPECT_EQ(told_, Lines{"a: the pod cannot start: it was bound without a grant; delete the pod, "
                         "so that ReplicaSet train-7 makes another one"});
}

TEST_F(EvictorTest, EvictsNobodyIfAnotherReplicaLeadsOnceTheObstaclesAreKnown) {
  make({}, [this](const EvictionCase&) {
    leads_ = false;
    return "";
  });
  look_for(61s, {pod("a")});
  EXPECT_EQ(evictions(), 0U);
}

TEST_F(EvictorTest, BarePodsDoNotHoldUpTheOthers) {
  make();
  look_for(61s, {pod("bare", {}), pod("a")});
  EXPECT_TRUE(deleting("a"));
}

}  // namespace
}  // namespace tangram::extender
