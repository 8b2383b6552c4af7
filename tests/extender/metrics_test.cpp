#include "extender/metrics.hpp"

#include "tests/testing/exposition.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::Exposition;

TEST(MetricsTest, HasEveryNameThatDashboardsUse) {
  Metrics metrics;
  const Exposition page(metrics.text({}));
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
  Metrics metrics;
  const Exposition page(metrics.text({}));
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

TEST(MetricsTest, CountsRequestsBindsAndEvictions) {
  Metrics metrics;
  metrics.eviction_done(kube::EvictionOutcome::kRefused);
  metrics.request_done(Verb::kFilter, 3ms);
  metrics.request_done(Verb::kFilter, 700ms);
  metrics.bind_done(BindOutcome::kBound);
  metrics.bind_done(BindOutcome::kBound);
  metrics.bind_done(BindOutcome::kNoRoom);
  const Exposition page(metrics.text({}));
  const std::string family = "tangram_extender_request_duration_seconds";
  EXPECT_EQ(page.value(family + "_count{verb=\"filter\"}"), 2);
  EXPECT_NEAR(page.value(family + "_sum{verb=\"filter\"}"), 0.703, 1e-9);
  EXPECT_EQ(page.value(family + "_bucket{verb=\"filter\",le=\"0.005\"}"), 1);
  EXPECT_EQ(page.value(family + "_bucket{verb=\"filter\",le=\"1\"}"), 2);
  EXPECT_EQ(page.value(family + "_count{verb=\"bind\"}"), 0);
  EXPECT_EQ(page.value("tangram_binds_total{result=\"bound\"}"), 2);
  EXPECT_EQ(page.value("tangram_binds_total{result=\"no_room\"}"), 1);
  EXPECT_EQ(page.value("tangram_evictions_total{result=\"refused\"}"), 1);
  for (const char* result : {"evicted", "gone", "failed"}) {
    EXPECT_EQ(page.value(std::string("tangram_evictions_total{result=\"") + result + "\"}"), 0);
  }
}

TEST(MetricsTest, CountsWhatTheAdmissionWebhookAnswers) {
  Metrics metrics;
  metrics.admission_done(
      {.call = AdmissionCall::kMutate, .outcome = AdmissionOutcome::kPatched, .took = 2ms});
  metrics.admission_done(
      {.call = AdmissionCall::kValidate, .outcome = AdmissionOutcome::kRefused, .took = 1ms});
  const Exposition page(metrics.text({}));
  for (const std::string operation : {"mutate", "validate"}) {
    for (const std::string result : {"allowed", "patched", "refused", "unreadable"}) {
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

TEST(MetricsTest, ShowsWhatTheGaugesSay) {
  Metrics metrics;
  Gauges gauges;
  gauges.nodes = 3;
  gauges.cards = 24;
  gauges.bound_pods = 7;
  gauges.pending_pods = 5;
  gauges.assumed_pods = 2;
  gauges.fragmentation_ratio = 0.25;
  gauges.stranded_memory = Mebibytes(2);
  gauges.nodes_watch_lag_seconds = 1.5;
  gauges.pods_watch_lag_seconds = 2.5;
  gauges.leader = true;
  gauges.waiting = {{Wait::kRoom, 4}, {Wait::kOffered, 0}};
  const Exposition page(metrics.text(gauges));
  EXPECT_EQ(page.value("tangram_nodes"), 3);
  EXPECT_EQ(page.value("tangram_cards"), 24);
  EXPECT_EQ(page.value("tangram_bound_pods"), 7);
  EXPECT_EQ(page.value("tangram_pending_pods"), 5);
  EXPECT_EQ(page.value("tangram_assumed_pods"), 2);
  EXPECT_EQ(page.value("tangram_waiting_pods{reason=\"room\"}"), 4);
  EXPECT_EQ(page.value("tangram_waiting_pods{reason=\"offered\"}"), 0);
  EXPECT_EQ(page.value("tangram_fragmentation_ratio"), 0.25);
  EXPECT_EQ(page.value("tangram_stranded_memory_bytes"), 2'097'152);
  EXPECT_EQ(page.value("tangram_watch_lag_seconds{resource=\"nodes\"}"), 1.5);
  EXPECT_EQ(page.value("tangram_watch_lag_seconds{resource=\"pods\"}"), 2.5);
  EXPECT_EQ(page.value("tangram_leader"), 1);
}

TEST(MetricsTest, ShowsTheKeysOfGrantsAndForgetsThoseThatAreGone) {
  Metrics metrics;
  Gauges gauges;
  gauges.grants_by_key = {{"3fa9c201", 5}, {"unsigned", 2}};
  gauges.grant_keys_known = {"3fa9c201", "77c1a0b2"};
  gauges.grant_keys_stale = true;
  const Exposition page(metrics.text(gauges));
  EXPECT_EQ(page.value(R"(tangram_grants_by_key{key="3fa9c201"})"), 5);
  EXPECT_EQ(page.value(R"(tangram_grants_by_key{key="unsigned"})"), 2);
  EXPECT_EQ(page.value(R"(tangram_grant_key_known{key="77c1a0b2"})"), 1);
  EXPECT_EQ(page.value("tangram_grant_keys_stale"), 1);
  gauges.grants_by_key = {{"77c1a0b2", 1}};
  gauges.grant_keys_known = {"77c1a0b2"};
  const std::string later = metrics.text(gauges);
  EXPECT_EQ(later.find("3fa9c201"), std::string::npos);
  EXPECT_EQ(later.find("unsigned\""), std::string::npos);
}

TEST(MetricsTest, RaisesTheFeedsCountersAndNeverLowersThem) {
  Metrics metrics;
  Gauges gauges;
  gauges.bad_objects = 2;
  gauges.bad_cards = 3;
  gauges.bad_grants = 4;
  (void)metrics.text(gauges);
  gauges.bad_grants = 6;
  (void)metrics.text({});
  const Exposition page(metrics.text(gauges));
  EXPECT_EQ(page.value("tangram_rejected_objects_total{what=\"object\"}"), 2);
  EXPECT_EQ(page.value("tangram_rejected_objects_total{what=\"cards\"}"), 3);
  EXPECT_EQ(page.value("tangram_rejected_objects_total{what=\"grant\"}"), 6);
}

TEST(MetricsTest, DoesNotGrowWithTheCluster) {
  Metrics metrics;
  Gauges large;
  large.nodes = 5'000;
  large.cards = 40'000;
  EXPECT_EQ(Exposition(metrics.text({})).samples().size(),
            Exposition(metrics.text(large)).samples().size());
}

}  // namespace
}  // namespace tangram::extender
