#include "cluster/unstarted_pods.hpp"

#include "base/json.hpp"
#include "kube/objects.hpp"
#include "model/ledger.hpp"
#include "tests/extender/rig.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::cluster {
namespace {

using testing::allocation;
using testing::card;
using testing::granted;
using testing::inventory;

model::Grant grant(const std::string& uid) {
  return {.pod_uid = uid,
          .node = "n",
          .issued_at = "2026-01-01T00:00:00Z",
          .isolation = model::Isolation::kMps,
          .containers = {{.container = "main", .cards = {granted("A", 100, 100)}}},
          .signature = {}};
}

/// Bound with a slot and a good grant, waiting for its start.
kube::Pod waiting_pod() {
  kube::Pod pod;
  pod.uid = "u";
  pod.ns = "ml";
  pod.name = "p";
  pod.node = "n";
  pod.containers = {{.name = "main", .slots = 1}};
  pod.annotations["gpu-grant"] = model::encode(grant("u"));
  pod.controller = {"ReplicaSet", "p-7"};
  return pod;
}
std::optional<UnstartedPod> seen(const kube::Pod& pod) {
  return unstarted(pod, recorded_allocation(pod, {}));
}

TEST(UnstartedTest, PodThatWaitsForItsStartIsNotRefusedYet) {
  const auto pod = seen(waiting_pod());
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->pod.uid, "u");
  EXPECT_EQ(pod->node, "n");
  EXPECT_EQ(pod->controller, (kube::Controller{"ReplicaSet", "p-7"}));
  EXPECT_EQ(pod->issued_at, "2026-01-01T00:00:00Z");
  EXPECT_EQ(pod->refusal, "");
}

const std::string kConfigError = "CreateContainerConfigError";
/// What kubelet puts before the answer of a device plugin.
const std::string kPreStart =
    "device plugin PreStartContainer rpc failed with err: rpc error: code = ";

/// As kubelet reports it.
auto waiting_for(const std::string& reason, const std::string& message) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("metadata").begin_object();
  out.member("name", "p").member("namespace", "ml").member("uid", "u").end_object();
  out.key("status").begin_object().key("containerStatuses").begin_array().begin_object();
  out.member("name", "main").key("state").begin_object().key("waiting").begin_object();
  out.member("reason", reason).member("message", message);
  out.end_object().end_object().end_object().end_array().end_object().end_object();
  auto pod = kube::decode_pod(text);
  EXPECT_TRUE(pod.has_value());
  return pod->waiting;
}

struct Elsewhere {
  std::string name;
  std::function<void(kube::Pod&)> change;
  friend void PrintTo(const Elsewhere& c, std::ostream* out) { *out << c.name; }
};
class NotUnstarted : public ::testing::TestWithParam<Elsewhere> {};

TEST_P(NotUnstarted, IsNotLookedAt) {
  kube::Pod pod = waiting_pod();
  pod.annotations.clear();
  ASSERT_TRUE(seen(pod).has_value());
  GetParam().change(pod);
  EXPECT_EQ(seen(pod), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(
    Pods, NotUnstarted,
    ::testing::Values(Elsewhere{"Unbound", [](kube::Pod& pod) { pod.node.clear(); }},
                      Elsewhere{"Started", [](kube::Pod& pod) { pod.started = true; }},
                      Elsewhere{"Finished", [](kube::Pod& pod) { pod.finished = true; }},
                      Elsewhere{"Deleting", [](kube::Pod& pod) { pod.deleting = true; }},
                      Elsewhere{"WithoutSlot",
                                [](kube::Pod& pod) { pod.containers[0].slots = 0; }}),
    [](const auto& c) { return c.param.name; });

TEST(UnstartedTest, RefusedByWhatItsGrantSays) {
  kube::Pod pod = waiting_pod();
  pod.annotations.clear();
  EXPECT_EQ(seen(pod)->refusal, "it was bound without a grant");
  pod.annotations["gpu-grant"] = "nonsense";
  EXPECT_NE(seen(pod)->refusal.find("annotation tangram.dev/gpu-grant is not valid"),
            std::string::npos);
  pod.annotations["gpu-grant"] = model::encode(grant("another"));
  EXPECT_EQ(seen(pod)->refusal,
            "its annotation tangram.dev/gpu-grant was issued to another pod, of UID \"another\"");
  EXPECT_EQ(seen(pod)->issued_at, "");
}

TEST(UnstartedTest, RefusedByItsAgentForGood) {
  kube::Pod pod = waiting_pod();
  pod.waiting = waiting_for(kConfigError, kPreStart +
                                              "FailedPrecondition desc = tangram: cannot start: "
                                              "the card is too small");
  EXPECT_EQ(seen(pod)->refusal,
            "its node's agent says \"tangram: cannot start: the card is too small\"");
  pod.waiting = waiting_for(kConfigError,
                            kPreStart + "Unavailable desc = tangram: not yet: memory is in use");
  EXPECT_EQ(seen(pod)->refusal, "");
}

struct Forged {
  std::string name;
  std::string reason;
  std::string message;
  friend void PrintTo(const Forged& c, std::ostream* out) { *out << c.name; }
};
class ForgedRefusal : public ::testing::TestWithParam<Forged> {};

// Authors of pods choose parts of these texts.
TEST_P(ForgedRefusal, IsNotTheAgents) {
  kube::Pod pod = waiting_pod();
  pod.waiting = waiting_for(GetParam().reason, GetParam().message);
  ASSERT_EQ(pod.waiting.size(), 1U);
  EXPECT_EQ(seen(pod)->refusal, "");
}

INSTANTIATE_TEST_SUITE_P(
    Pods, ForgedRefusal,
    ::testing::Values(
        Forged{"AnswerOfARegistry", "ErrImagePull",
               "rpc error: code = Unknown desc = tangram: cannot start: x"},
        Forged{"AnswerOfARegistryInWhole", "ErrImagePull",
               kPreStart + "FailedPrecondition desc = tangram: cannot start: x"},
        Forged{"UserOfAnImage", kConfigError,
               "container has runAsNonRoot and image has non-numeric user (" + kPreStart +
                   "FailedPrecondition desc = tangram: cannot start: x), cannot verify user is "
                   "non-root"},
        Forged{"Command", "RunContainerError",
               "exec: \"tangram: cannot start\": executable file not found in $PATH"},
        Forged{"NameOfASecret", kConfigError, "secret \"tangram: cannot start: x\" not found"},
        Forged{"OtherPluginsCode", kConfigError,
               kPreStart + "Unknown desc = tangram: cannot start: x"},
        Forged{"LaterInThePluginsMessage", kConfigError,
               kPreStart + "FailedPrecondition desc = no tangram: cannot start: x"}),
    [](const auto& c) { return c.param.name; });

/// Node "n" with cards A and B of 80 GiB, and what pods hold there.
class StuckPodsTest : public ::testing::Test {
 protected:
  StuckPodsTest() { ledger_.put_node(inventory("n", {card("A"), card("B")})); }

  void holds(const std::string& uid, const std::string& card_id, std::int64_t milli) {
    ledger_.observe(allocation(uid, "n", {granted(card_id, 1'024, milli)}));
  }
  static UnstartedPod waits(const std::string& uid, const std::string& issued_at = "") {
    return {.pod = {uid, "ml", uid},
            .node = "n",
            .controller = {},
            .issued_at = issued_at,
            .refusal = ""};
  }
  std::vector<std::string> stuck(const std::vector<UnstartedPod>& pods) {
    std::vector<std::string> uids;
    for (const StuckPod& pod : stuck_pods(*ledger_.snapshot(), pods)) {
      uids.push_back(pod.pod.pod.uid);
      last_why_ = pod.why;
    }
    return uids;
  }
  using Uids = std::vector<std::string>;

  testing::ManualClock clock_;
  model::Ledger ledger_{clock_};
  std::string last_why_;
};

TEST_F(StuckPodsTest, NobodyWhereAllFits) {
  holds("a", "A", 500);
  holds("b", "A", 500);
  EXPECT_EQ(stuck({waits("a"), waits("b")}), Uids{});
}

TEST_F(StuckPodsTest, RefusedPodsAreStuckWhereverTheyAre) {
  UnstartedPod pod = waits("a");
  pod.node = "unknown";
  pod.refusal = "it was bound without a grant";
  EXPECT_EQ(stuck({pod}), Uids{"a"});
  EXPECT_EQ(last_why_, "it was bound without a grant");
}

TEST_F(StuckPodsTest, CardThatTheNodeDoesNotList) {
  holds("a", "A", 500);
  holds("b", "gone", 500);
  EXPECT_EQ(stuck({waits("a"), waits("b")}), Uids{"b"});
  EXPECT_EQ(last_why_, "its grant names a card that node n does not list");
}

TEST_F(StuckPodsTest, NodeThatLostItsListKeepsItsPods) {
  holds("a", "A", 500);
  ledger_.put_node(inventory("n", {}));
  EXPECT_EQ(stuck({waits("a")}), Uids{});
  ledger_.remove_node("n");
  EXPECT_EQ(stuck({waits("a")}), Uids{});
}

TEST_F(StuckPodsTest, LaterOfTwoGrantsForOneRoom) {
  holds("a", "A", 600);
  holds("b", "A", 600);
  EXPECT_EQ(stuck({waits("a", "2026-01-01T00:00:02Z"), waits("b", "2026-01-01T00:00:01Z")}),
            Uids{"a"});
  EXPECT_EQ(last_why_, "the grants on one of its cards exceed the card, and its own came last");
  // At the same second the UID decides.
  EXPECT_EQ(stuck({waits("a", "2026-01-01T00:00:01Z"), waits("b", "2026-01-01T00:00:01Z")}),
            Uids{"b"});
}

TEST_F(StuckPodsTest, StartedPodsComeFirst) {
  holds("early", "A", 600);
  holds("runs", "A", 600);
  EXPECT_EQ(stuck({waits("early", "2026-01-01T00:00:01Z")}), Uids{"early"});
  EXPECT_EQ(stuck({}), Uids{}) << "both run: nobody is stuck";
}

TEST_F(StuckPodsTest, SmallerPodBehindOneThatIsTooLargeMayStart) {
  holds("runs", "A", 600);
  holds("large", "A", 500);
  holds("small", "A", 400);
  EXPECT_EQ(stuck({waits("large", "2026-01-01T00:00:01Z"), waits("small", "2026-01-01T00:00:02Z")}),
            Uids{"large"});
}

TEST_F(StuckPodsTest, WhatCountsOnlyByAStartStandsInNobodysWay) {
  model::Allocation changed = allocation("runs", "n", {granted("A", 1'024, 1'000)});
  changed.by_start = true;
  ledger_.observe(std::move(changed));
  holds("a", "A", 600);
  EXPECT_EQ(stuck({waits("a")}), Uids{});
  holds("b", "A", 600);
  EXPECT_EQ(stuck({waits("a", "1"), waits("b", "2")}), Uids{"b"}) << "others do";
}

TEST_F(StuckPodsTest, OtherCardsOfTheNodeAreNotTouched) {
  holds("a", "A", 600);
  holds("b", "A", 600);
  holds("c", "B", 1'000);
  EXPECT_EQ(stuck({waits("a", "1"), waits("b", "2"), waits("c", "3")}), Uids{"b"});
}

/// A bound pod with a slot and half of a card, or so much, by a grant with this signature.
std::string bound_text(const std::string& uid, std::int64_t milli, const std::string& signature,
                       const std::string& state) {
  model::Grant its = grant(uid);
  its.containers = {{.container = "main", .cards = {granted("n-0", 1'024, milli)}}};
  its.signature = signature;
  testing::PodText pod{.name = uid, .uid = uid, .node = "n"};
  pod.annotations = {{"tangram.dev/gpu-grant", model::encode(its)}};
  pod.limits = {{"tangram.dev/gpu-slot", "1"}};
  std::string text = testing::pod_json(pod);
  text.pop_back();
  return text + R"(,"status":{"containerStatuses":[{"name":"main","state":)" + state + "}]}}";
}

/// Only "good" is a signature that counts.
model::SignatureVerdict judge(std::string_view text) {
  const auto parts = model::split_signature(text);
  if (parts && parts->signature == "good") return {.key = "3fa9c201", .problem = {}};
  return {.key = "unknown", .problem = "is not signed by a key that counts here"};
}

constexpr const char* kRuns = R"({"running":{}})";

/// With grants.required. The owner of pod "changed", which runs, writes another grant onto it.
class ChangedGrantTest : public ::testing::Test {
 protected:
  ChangedGrantTest() { testing::send_list(rig_.nodes, {extender::Rig::node_text("n", 1)}); }
  std::vector<std::string> stuck() {
    std::vector<std::string> uids;
    for (const StuckPod& pod : stuck_pods(*rig_.ledger.snapshot(), rig_.table.unstarted())) {
      uids.push_back(pod.pod.pod.uid);
    }
    return uids;
  }
  extender::Rig rig_;
  PodFeed feed_{rig_.ledger, rig_.table, rig_.policies, rig_.counters, judge};
};

TEST_F(ChangedGrantTest, MakesNoOtherPodStuckForAnExtenderThatKnowsNoOtherOne) {
  testing::send_list(feed_, {bound_text("changed", 1'000, "forged", kRuns),
                             bound_text("honest", 500, "good", "{}")});
  EXPECT_EQ(rig_.used("n"), MilliGpu(1'500)) << "new pods go elsewhere all the same";
  ASSERT_TRUE(rig_.table.is_unstarted("honest"));
  EXPECT_EQ(stuck(), std::vector<std::string>{});
  feed_.change(kube::EventType::kModified, bound_text("changed", 900, "forged", kRuns));
  EXPECT_EQ(stuck(), std::vector<std::string>{});
  std::string removed = bound_text("changed", 900, "forged", kRuns);
  removed.replace(removed.find("gpu-grant"), 9, "gpu-other");
  feed_.change(kube::EventType::kModified, removed);
  EXPECT_EQ(rig_.used("n"), MilliGpu(1'500)) << "it runs, so it holds what was seen";
  EXPECT_EQ(stuck(), std::vector<std::string>{});
}

TEST_F(ChangedGrantTest, LeavesTheProvenOneThatWasSeenBefore) {
  feed_.change(kube::EventType::kAdded, bound_text("changed", 1'000, "good", kRuns));
  feed_.change(kube::EventType::kModified, bound_text("changed", 100, "forged", kRuns));
  feed_.change(kube::EventType::kAdded, bound_text("late", 500, "good", "{}"));
  EXPECT_EQ(stuck(), std::vector<std::string>{"late"});
}

}  // namespace
}  // namespace tangram::cluster
