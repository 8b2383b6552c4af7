#include "extender/admission/admission_metrics.hpp"
#include "extender/cluster_metrics.hpp"
#include "extender/health_routes.hpp"
#include "extender/scheduling/routes.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/exposition.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/pod_group_text.hpp"
#include "tests/testing/pod_recorder.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::Exposition;

/// Pods are expected to ask for whole cards.
cluster::PolicySettings whole_cards() {
  cluster::PolicySettings settings;
  policies::Workload workload;
  workload.classes.push_back(
      {.demand = {.gpu = testing::request(testing::whole()), .footprint = {}}, .count = 1});
  workload.total = 1;
  settings.options.workload = std::make_shared<const policies::Workload>(std::move(workload));
  return settings;
}

/// What ClusterMetrics reads, put together by hand.
struct Parts {
  testing::ManualClock clock;
  cluster::SharedLedger ledger{clock};
  cluster::PodTable pods;
  cluster::PodGroups groups{[](const std::string& /*key*/) {}};
  cluster::PolicySource policies{whole_cards()};
  cluster::FeedCounters counters;
  kube::Reflector::Health nodes_watch;
  kube::Reflector::Health pods_watch;
  kube::GrantKeys::State grant_keys;
  bool serving = false;
  ClusterMetrics metrics{{.ledger = ledger,
                          .pods = pods,
                          .groups = groups,
                          .policies = policies,
                          .feed_counters = counters,
                          .clock = clock,
                          .nodes_watch = [this] { return nodes_watch; },
                          .pods_watch = [this] { return pods_watch; },
                          .grant_keys = [this] { return grant_keys; },
                          .serving = [this] { return serving; }}};

  [[nodiscard]] std::string text() const { return exposition({&metrics}); }
};

TEST(MetricsTest, CountsGroupsThatLackMembersOnNodes) {
  Parts parts;
  const auto group = [&](const std::string& name, int members, int bound, int min_count) {
    parts.groups.change(kube::EventType::kAdded, testing::pod_group_json(name, min_count));
    for (int i = 0; i < members; ++i) {
      kube::Pod pod;
      pod.uid = name + std::to_string(i);
      pod.ns = "ml";
      pod.name = pod.uid;
      pod.group = {kube::GroupOfPod::Kind::kPodGroup, name};
      if (i < bound) pod.node = "n";
      parts.pods.put(pod.uid, cluster::record_of(pod, parts.policies.plan(pod), {}, nullptr));
    }
  };
  group("none", 3, 0, 3);
  group("some", 3, 1, 3);
  group("enough", 3, 2, 2);
  group("all", 3, 3, 3);
  const Exposition page(parts.text());
  EXPECT_EQ(page.value(R"(tangram_pod_groups{bound="none"})"), 1);
  EXPECT_EQ(page.value(R"(tangram_pod_groups{bound="some"})"), 1);
}

TEST(MetricsTest, HasEveryNameThatDashboardsUse) {
  const Parts parts;
  const VerbMetrics verbs;
  const Exposition page(exposition({&verbs, &parts.metrics}));
  const std::map<std::string, std::string> wanted{
      {"tangram_fragmentation_ratio", "gauge"},
      {"tangram_stranded_memory_bytes", "gauge"},
      {"tangram_extender_request_duration_seconds", "histogram"},
      {"tangram_binds_total", "counter"},
      {"tangram_assumed_pods", "gauge"},
      {"tangram_watch_lag_seconds", "gauge"},
      {"tangram_leader", "gauge"}};
  for (const auto& [name, type] : wanted) {
    ASSERT_TRUE(page.types().contains(name)) << name;
    EXPECT_EQ(page.types().at(name), type) << name;
  }
}

TEST(MetricsTest, HasEverySeriesBeforeAnythingHappened) {
  const VerbMetrics metrics;
  const Exposition page(exposition({&metrics}));
  for (const char* result :
       {"bound", "already_bound", "no_room", "refused", "unknown", "invalid", "unavailable"}) {
    EXPECT_EQ(page.value(std::string("tangram_binds_total{result=\"") + result + "\"}"), 0);
  }
  for (const char* verb : {"filter", "prioritize", "bind", "preempt"}) {
    EXPECT_EQ(page.value(std::string("tangram_extender_request_duration_seconds_count{verb=\"") +
                         verb + "\"}"),
              0);
  }
}

TEST(MetricsTest, CountsRequestsAndBinds) {
  VerbMetrics metrics;
  metrics.request_done(Verb::kFilter, 3ms);
  metrics.request_done(Verb::kFilter, 700ms);
  metrics.bind_done(BindOutcome::kBound);
  metrics.bind_done(BindOutcome::kBound);
  metrics.bind_done(BindOutcome::kNoRoom);
  const Exposition page(exposition({&metrics}));
  const std::string family = "tangram_extender_request_duration_seconds";
  EXPECT_EQ(page.value(family + "_count{verb=\"filter\"}"), 2);
  EXPECT_NEAR(page.value(family + "_sum{verb=\"filter\"}"), 0.703, 1e-9);
  EXPECT_EQ(page.value(family + "_bucket{verb=\"filter\",le=\"0.005\"}"), 1);
  EXPECT_EQ(page.value(family + "_bucket{verb=\"filter\",le=\"1\"}"), 2);
  EXPECT_EQ(page.value(family + "_count{verb=\"bind\"}"), 0);
  EXPECT_EQ(page.value("tangram_binds_total{result=\"bound\"}"), 2);
  EXPECT_EQ(page.value("tangram_binds_total{result=\"no_room\"}"), 1);
}

TEST(MetricsTest, CountsWhatTheAdmissionWebhookAnswers) {
  AdmissionMetrics metrics;
  metrics.count(
      {.call = AdmissionCall::kMutate, .outcome = AdmissionOutcome::kPatched, .took = 2ms});
  metrics.count(
      {.call = AdmissionCall::kValidate, .outcome = AdmissionOutcome::kRefused, .took = 1ms});
  const Exposition page(exposition({&metrics}));
  for (const std::string operation : {"mutate", "validate"}) {
    for (const std::string result : {"allowed", "patched", "refused", "unreadable", "late"}) {
      const bool counted =
          operation + result == "mutatepatched" || operation + result == "validaterefused";
      EXPECT_EQ(page.value("tangram_admission_requests_total{operation=\"" + operation +
                           "\",result=\"" + result + "\"}"),
                counted ? 1 : 0);
    }
    EXPECT_EQ(page.value("tangram_admission_request_duration_seconds_count{operation=\"" +
                         operation + "\"}"),
              1);
  }
}

TEST(MetricsTest, ShowsWhatIsKnownOfTheCluster) {
  Parts parts;
  parts.clock.advance(10s);
  parts.nodes_watch.last_heard = parts.clock.now() - 1500ms;
  parts.pods_watch.last_heard = parts.clock.now() - 2500ms;
  parts.serving = true;
  parts.ledger.apply([](model::Ledger& ledger) {
    for (const char* node : {"n1", "n2", "n3"}) {
      const std::string name(node);
      ledger.put_node(
          testing::inventory(name, {testing::card(name + "-A"), testing::card(name + "-B")}));
    }
    // All compute of a card and not all of its memory.
    ledger.observe(testing::allocation("p1", "n1", {testing::granted("n1-A", 500, 500)}));
    ledger.observe(testing::allocation("p2", "n1", {testing::granted("n1-A", 500, 500)}));
    if (!ledger.assume(testing::allocation("p3", "n2", {testing::granted("n2-A", 500, 500)}),
                       1min)) {
      throw std::runtime_error("not assumed");
    }
    if (!ledger.reserve(testing::allocation("p4", "n3", {testing::granted("n3-A", 500, 500)}),
                        1min)) {
      throw std::runtime_error("not reserved");
    }
  });
  kube::Pod waits;
  waits.uid = "w";
  waits.name = "w";
  testing::put_pending(parts.pods, waits);
  const Exposition page(parts.text());
  EXPECT_EQ(page.value("tangram_nodes"), 3);
  EXPECT_EQ(page.value("tangram_cards"), 6);
  EXPECT_EQ(page.value("tangram_bound_pods"), 3);
  EXPECT_EQ(page.value("tangram_assumed_pods"), 1);
  EXPECT_EQ(page.value("tangram_held_pods"), 1);
  EXPECT_EQ(page.value("tangram_pending_pods"), 1);
  const auto free = model::free_memory(parts.ledger.snapshot()->find("n1")->cards()[0],
                                       parts.ledger.snapshot()->find("n1")->use[0]);
  EXPECT_GT(free.count(), 0);
  EXPECT_EQ(page.value("tangram_stranded_memory_bytes"),
            static_cast<double>(free.count()) * 1'048'576);
  // Of 4,000 idle thousandths, the halves of two cards fit no whole card.
  EXPECT_EQ(page.value("tangram_fragmentation_ratio"), 0.25);
  EXPECT_EQ(page.value("tangram_watch_lag_seconds{resource=\"nodes\"}"), 1.5);
  EXPECT_EQ(page.value("tangram_watch_lag_seconds{resource=\"pods\"}"), 2.5);
  EXPECT_EQ(page.value("tangram_leader"), 1);
}

TEST(MetricsTest, ShowsTheKeysOfGrantsAndForgetsThoseThatAreGone) {
  Parts parts;
  const auto sign = [&](const char* pod, const char* key) {
    cluster::PodRecord record;
    record.grant_key = key;
    parts.pods.put(pod, std::move(record));
  };
  for (const char* pod : {"a", "b", "c"}) sign(pod, "3fa9c201");
  for (const char* pod : {"d", "e"}) sign(pod, "unsigned");
  parts.grant_keys = {.signing = "", .known = {"3fa9c201", "77c1a0b2"}, .stale = true};
  const Exposition page(parts.text());
  EXPECT_EQ(page.value(R"(tangram_grants_by_key{key="3fa9c201"})"), 3);
  EXPECT_EQ(page.value(R"(tangram_grants_by_key{key="unsigned"})"), 2);
  EXPECT_EQ(page.value(R"(tangram_grant_key_known{key="77c1a0b2"})"), 1);
  EXPECT_EQ(page.value("tangram_grant_keys_stale"), 1);
  for (const char* pod : {"a", "b", "c", "d", "e"}) parts.pods.erase(pod);
  sign("f", "77c1a0b2");
  parts.grant_keys.known = {"77c1a0b2"};
  const std::string later = parts.text();
  EXPECT_EQ(later.find("3fa9c201"), std::string::npos);
  EXPECT_EQ(later.find("unsigned\""), std::string::npos);
}

TEST(MetricsTest, ShowsEveryReasonThatPodsWaitFor) {
  Parts parts;
  for (const char* uid : {"a", "b"}) parts.pods.answered(uid, cluster::Wait::kRoom);
  const Exposition page(parts.text());
  for (const cluster::Wait wait : cluster::kAllWaits) {
    const std::string series =
        "tangram_waiting_pods{reason=\"" + std::string(to_string(wait)) + "\"}";
    EXPECT_EQ(page.value(series), wait == cluster::Wait::kRoom ? 2 : 0) << series;
  }
}

TEST(MetricsTest, ShowsTheFeedsCounters) {
  Parts parts;
  parts.counters.bad_objects = 2;
  parts.counters.bad_cards = 3;
  parts.counters.bad_grants = 6;
  const Exposition page(parts.text());
  EXPECT_EQ(page.value("tangram_rejected_objects_total{what=\"object\"}"), 2);
  EXPECT_EQ(page.value("tangram_rejected_objects_total{what=\"cards\"}"), 3);
  EXPECT_EQ(page.value("tangram_rejected_objects_total{what=\"grant\"}"), 6);
}

TEST(MetricsTest, DoesNotGrowWithTheCluster) {
  Parts parts;
  const std::size_t before = Exposition(parts.text()).samples().size();
  parts.ledger.apply([](model::Ledger& ledger) {
    for (int i = 0; i < 100; ++i) {
      const std::string name = "n" + std::to_string(i);
      ledger.put_node(testing::inventory(name, {testing::card(name + "-A")}));
    }
  });
  EXPECT_EQ(Exposition(parts.text()).samples().size(), before);
}

}  // namespace
}  // namespace tangram::extender
