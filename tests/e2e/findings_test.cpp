// Pods that bypassed the extender are counted and reported, and block no other pod.

#include "tests/e2e/fixture.hpp"
#include "tests/testing/eventually.hpp"

#include <utility>

namespace tangram::e2e {
namespace {

using tangram::testing::eventually;

class FindingsTest : public E2eTest {
 protected:
  void start() {
    extender_.start_ready();
    scheduler_.emplace(start_scheduler({.extender_url = extender_.url()}));
  }
  std::string explain(const std::string& pod) {
    return extender_.get("/api/v1/explain?namespace=default&pod=" + pod);
  }
  /// Whether the pod has an event with that reason and text.
  bool reported(const std::string& pod, const std::string& reason, const std::string& text = "") {
    const std::string events = Cluster::events_path(pod) + ",reason=" + reason;
    return eventually([&] {
      const std::string found = cluster_.get(events);
      return found.find("\"reason\":\"" + reason) != std::string::npos &&
             found.find(text) != std::string::npos;
    });
  }
  double counted(const std::string& finding) {
    return extender_.metric("tangram_pod_findings", "\"" + finding + "\"");
  }

  PodWatcher watcher_{*api_};
  ExtenderProcess extender_{{}};
  std::optional<Process> scheduler_;
};

TEST_F(FindingsTest, PodsThatCameAnotherWayAreCountedAndTold) {
  cluster_.add_nodes({node_with_cards("n", 2)});
  start();
  const auto half = [](const std::string& name, const std::string& node) {
    PodSpec pod = fraction_pod(name, "0.5");
    pod.node = node;
    return pod;
  };
  // Without a slot kube-scheduler places a pod by itself, without a card.
  PodSpec no_slot = half("no-slot", "");
  no_slot.slot = false;
  PodSpec waiting = half("no-slot-waiting", "");
  waiting.slot = false;
  waiting.node_selector = {{"no-such", "label"}};
  PodSpec forged = half("forged", "n");
  forged.gpu["gpu-grant"] =
      R"({"v":1,"podUID":"another","node":"n","issuedAt":"2026-01-01T00:00:00Z",)"
      R"("isolation":"mps","containers":[],"sig":""})";
  PodSpec nonsense = half("nonsense", "n");
  nonsense.gpu["gpu-grant"] = "{";
  PodSpec unasked = half("unasked", "");
  unasked.gpu.clear();
  PodSpec wrong = half("wrong", "");
  wrong.gpu = {{"gpu-mem", "8"}};
  cluster_.add_pods({no_slot, waiting, half("preset", "n"), forged, nonsense, unasked, wrong});

  const std::vector<std::pair<std::string, std::string>> expected = {
      {"no-slot", "GrantMissing"},  {"no-slot-waiting", "SlotMissing"},
      {"preset", "GrantMissing"},   {"forged", "GrantInvalid"},
      {"nonsense", "GrantInvalid"}, {"unasked", "RequestInvalid"},
      {"wrong", "RequestInvalid"}};
  for (const auto& [pod, finding] : expected) EXPECT_TRUE(reported(pod, finding)) << pod;
  for (const char* pod : {"no-slot", "preset", "forged", "nonsense"}) {
    EXPECT_NE(explain(pod).find("\"findings\":[{"), std::string::npos) << explain(pod);
  }
  EXPECT_TRUE(reported("wrong", "RequestInvalid", "write 8Gi"));
  EXPECT_EQ(counted("GrantInvalid"), 2);
  EXPECT_EQ(counted("GrantMissing"), 2);
  EXPECT_EQ(counted("SlotMissing"), 1);
  EXPECT_EQ(counted("RequestInvalid"), 2);
  // None of them takes room, and other pods are placed as usual.
  cluster_.add_pods({fraction_pod("fine", "1"), fraction_pod("too", "1")});
  EXPECT_TRUE(watcher_.wait_pod_bound("fine", 30s));
  EXPECT_TRUE(watcher_.wait_pod_bound("too", 30s));
}

TEST_F(FindingsTest, GrantsOfCardsThatChangedAreCountedAndTold) {
  cluster_.add_nodes({node_with_cards("n", 2)});
  start();
  cluster_.add_pods({fraction_pod("one", "1"), fraction_pod("two", "1")});
  ASSERT_TRUE(watcher_.wait_pod_bound("one", 30s));
  ASSERT_TRUE(watcher_.wait_pod_bound("two", 30s));
  // One card is gone, the other has half its memory.
  NodeSpec changed = node_with_cards("n", 1);
  changed.cards.front().memory_mib /= 2;
  cluster_.set_cards("n", changed.cards);
  EXPECT_TRUE(eventually([&] {
    return counted("CardMissing") == 1 && counted("CardOverGranted") == 1 &&
           extender_.metric("tangram_over_granted_cards") == 1 &&
           extender_.metric("tangram_stray_grants") == 1;
  }));
  // An extender that starts on such a cluster reports the same.
  extender_.kill();
  extender_.start_ready();
  EXPECT_TRUE(
      eventually([&] { return counted("CardMissing") == 1 && counted("CardOverGranted") == 1; }));
}

}  // namespace
}  // namespace tangram::e2e
