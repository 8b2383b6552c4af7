#include "cluster/cluster_feed.hpp"

#include "kube/local/api.hpp"
#include "tests/cluster/pod_texts.hpp"
#include "tests/extender/rig.hpp"
#include "tests/testing/bounded_api.hpp"
#include "tests/testing/log_probe.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/odd_fields.hpp"
#include "tests/testing/send_list.hpp"

#include <gtest/gtest.h>

namespace tangram::cluster {
namespace {

using testing::granted;
using testing::node_json;
using testing::pod_json;
using testing::PodText;
using testing::send_list;
using testing::with_odd_fields;

class ClusterFeedTest : public ::testing::Test {
 protected:
  ClusterFeedTest() {
    send_list(rig_.nodes, {extender::Rig::node_text("n1", 2), extender::Rig::node_text("n2", 1)});
  }
  const model::NodeState& node(const std::string& name) {
    snapshot_ = rig_.ledger.snapshot();
    const model::NodeState* found = snapshot_->find(name);
    if (found == nullptr) throw std::runtime_error("no node " + name);
    return *found;
  }
  extender::Rig rig_;
  ClusterPtr snapshot_;
};

// ---- Reservations

/// A pod that waits, as its last attempt has left it.
std::string refused_pod(const std::string& spec, const std::string& message) {
  return R"({"metadata":{"name":"p","namespace":"ml","uid":"u"},"spec":)" + spec +
         R"(,"status":{"conditions":[{"type":"PodScheduled","status":"False","message":")" +
         message + R"("}]}})";
}

TEST_F(ClusterFeedTest, AReservationEndsSoonAfterTheSchedulerSaysAnewThatTheAttemptFailed) {
  const auto reserve = [&] {
    return rig_.ledger.apply([&](model::Ledger& ledger) {
      return ledger
          .reserve(testing::allocation("u", "n2", {granted("n2-0", 4'096, 500)}),
                   std::chrono::seconds(100))
          .has_value();
    });
  };
  const auto kept = [&] {
    rig_.clock.advance(kLeftAfterFailure);
    return rig_.ledger.apply([](model::Ledger& ledger) {
      ledger.expire_reservations();
      return ledger.reserved_count() == 1;
    });
  };
  const auto show = [&](const std::string& spec, const std::string& message) {
    rig_.pods.change(kube::EventType::kModified, refused_pod(spec, message));
  };
  show("{}", "0/3 nodes");
  ASSERT_TRUE(reserve());
  show(R"({"priority":1})", "0/3 nodes");
  EXPECT_TRUE(kept()) << "it says the same as before";
  show("{}", "0/4 nodes");
  EXPECT_FALSE(kept());
  const std::string with_claim = R"({"volumes":[{"persistentVolumeClaim":{}}]})";
  ASSERT_TRUE(reserve());
  show(with_claim, "0/5 nodes");
  EXPECT_TRUE(kept()) << "the next attempt may be waiting for the volume";
}

// ---- Nodes

TEST_F(ClusterFeedTest, PutsListedNodesIntoTheBooks) {
  EXPECT_EQ(node("n1").cards().size(), 2U);
  EXPECT_EQ(node("n1").cards()[1].id, "n1-1");
  EXPECT_EQ(node("n1").inventory->cpu, MilliCpu(7'900));
  EXPECT_EQ(node("n1").inventory->memory, Mebibytes(31'744));
  EXPECT_EQ(rig_.ledger.snapshot()->node_count(), 2U);
}

TEST_F(ClusterFeedTest, DrainsOnlyCardsThatTheNodeHas) {
  model::Card part = testing::card("MIG-1");
  part.parent = "GPU-1";
  const std::string cards = model::encode_cards({testing::card("GPU-0"), part});
  const auto draining = [&](const std::string& named) {
    rig_.nodes.change(kube::EventType::kModified, node_json("n1", {{"tangram.dev/cards", cards},
                                                                   {"tangram.dev/drain", named}}));
    return node("n1").inventory->draining;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(draining(" GPU-0 = loud,GPU-1"), (Ids{"GPU-0", "GPU-1"}));
  EXPECT_EQ(draining("GPU-replaced,MIG-1"), Ids{"MIG-1"});
  EXPECT_EQ(draining("all"), Ids{});
}

TEST_F(ClusterFeedTest, RemovesNodesThatTheNextListLacks) {
  send_list(rig_.nodes, {extender::Rig::node_text("n2", 1), extender::Rig::node_text("n3", 1)});
  EXPECT_EQ(rig_.ledger.snapshot()->find("n1"), nullptr);
  EXPECT_NE(rig_.ledger.snapshot()->find("n2"), nullptr);
  EXPECT_NE(rig_.ledger.snapshot()->find("n3"), nullptr);
}

TEST_F(ClusterFeedTest, FollowsNodesAsTheyComeChangeAndGo) {
  rig_.nodes.change(kube::EventType::kAdded, extender::Rig::node_text("n3", 1));
  EXPECT_EQ(node("n3").cards().size(), 1U);
  rig_.nodes.change(kube::EventType::kModified, extender::Rig::node_text("n3", 4));
  EXPECT_EQ(node("n3").cards().size(), 4U);
  rig_.nodes.change(kube::EventType::kDeleted, extender::Rig::node_text("n3", 4));
  EXPECT_EQ(rig_.ledger.snapshot()->find("n3"), nullptr);
}

TEST_F(ClusterFeedTest, RemovesAWatchedNodeThatTheNextListLacks) {
  rig_.nodes.change(kube::EventType::kAdded, extender::Rig::node_text("n3", 1));
  send_list(rig_.nodes, {extender::Rig::node_text("n1", 2), extender::Rig::node_text("n2", 1)});
  EXPECT_EQ(rig_.ledger.snapshot()->find("n3"), nullptr);
}

TEST_F(ClusterFeedTest, KnowsANodeWithoutCardsAnnotationByItsCpuAlone) {
  rig_.nodes.change(kube::EventType::kAdded, node_json("cpu-only"));
  EXPECT_TRUE(node("cpu-only").cards().empty());
  EXPECT_EQ(node("cpu-only").inventory->cpu, MilliCpu(7'900));
  EXPECT_EQ(rig_.counters.bad_cards, 0U);
}

TEST_F(ClusterFeedTest, PromisesNoCardOfANodeWhoseCardsAnnotationIsNotValid) {
  rig_.nodes.change(kube::EventType::kModified,
                    node_json("n1", {{"tangram.dev/cards", R"({"version":1,"cards":[{}]})"}}));
  EXPECT_TRUE(node("n1").cards().empty());
  EXPECT_EQ(rig_.counters.bad_cards, 1U);
}

TEST_F(ClusterFeedTest, LeavesTheLedgerAsItWasWhenAChangedNodeCannotBeRead) {
  const std::string before = rig_.picture();
  for (const char* text : {"", "[]", "{\"metadata\":{\"name\":\"n1\"", "{\"metadata\":{}}"}) {
    rig_.nodes.change(kube::EventType::kModified, text);
  }
  EXPECT_EQ(rig_.picture(), before);
  EXPECT_EQ(rig_.counters.bad_objects, 4U);
}

TEST_F(ClusterFeedTest, KeepsAListedNodeThatCannotBeReadAsItWas) {
  const std::string before = rig_.picture();
  send_list(rig_.nodes, {R"({"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"lots"}}})",
                         extender::Rig::node_text("n2", 1), "not JSON"});
  EXPECT_EQ(rig_.picture(), before);
  EXPECT_EQ(rig_.counters.bad_objects, 2U);
  send_list(rig_.nodes,
            {extender::Rig::node_text("n2", 1)});  // and still knows that it must go some day
  EXPECT_EQ(rig_.ledger.snapshot()->find("n1"), nullptr);
}

TEST_F(ClusterFeedTest, LogsANameAsOneLine) {
  testing::LogProbe log("annotation ");
  rig_.nodes.change(kube::EventType::kAdded,
                    node_json("n\n\x1b[2J", {{"tangram.dev/cards", "[]"}}));
  PodText pod = running("u1");
  pod.name = "p\nkubectl-tangram: all is well";
  pod.annotations["tangram.dev/gpu-grant"] = "half a card";
  rig_.pods.change(kube::EventType::kAdded, pod_json(pod));
  const auto lines = log.lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].substr(0, 28), R"(node "n\x0a\x1b[2J": annotat)");
  EXPECT_EQ(lines[1].substr(0, 47), R"(pod ml/"p\x0akubectl-tangram: all is well": ann)");
}

// ---- Pods

TEST_F(ClusterFeedTest, BooksABoundPodByItsGrant) {
  rig_.pods.change(kube::EventType::kAdded, pod_json(running("u1")));
  EXPECT_EQ(node("n1").use[0].compute, MilliGpu(500));
  EXPECT_EQ(node("n1").use[0].memory, Mebibytes(4'096));
  EXPECT_EQ(node("n1").use[1], model::CardUse{});
  EXPECT_EQ(node("n1").requested.cpu, MilliCpu(1'000));
  EXPECT_TRUE(rig_.entry("u1").observed);
  EXPECT_EQ(rig_.table.pending_count(), 0U);
}

TEST_F(ClusterFeedTest, BooksABoundPodWithoutGrantByItsCpuAlone) {
  PodText pod = running("u1");
  pod.annotations = {};
  rig_.pods.change(kube::EventType::kAdded, pod_json(pod));
  EXPECT_TRUE(node("n1").use[0].idle());
  EXPECT_EQ(node("n1").requested.cpu, MilliCpu(1'000));
  EXPECT_EQ(rig_.counters.bad_grants, 0U);
}

struct BadGrant {
  std::string name;
  std::string grant;
};
void PrintTo(const BadGrant& row, std::ostream* out) { *out << row.name; }

class BadGrantTest : public ClusterFeedTest, public ::testing::WithParamInterface<BadGrant> {};

TEST_P(BadGrantTest, GrantsNothingAndIsCounted) {
  PodText pod = running("u1");
  pod.annotations["tangram.dev/gpu-grant"] = GetParam().grant;
  rig_.pods.change(kube::EventType::kAdded, pod_json(pod));
  EXPECT_TRUE(node("n1").use[0].idle());
  EXPECT_EQ(node("n1").stray_grants, 0);
  EXPECT_EQ(node("n1").requested.cpu, MilliCpu(1'000));  // it runs there all the same
  EXPECT_EQ(rig_.counters.bad_grants, 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Grants, BadGrantTest,
    ::testing::Values(
        BadGrant{"NotJson", "half a card"}, BadGrant{"Empty", ""},
        BadGrant{
            "OfANewerVersion",
            R"({"version":2,"podUID":"u1","node":"n1","issuedAt":"","isolation":"mps","containers":[]})"},
        BadGrant{"OfAnotherUid", grant_text("u2", "n1", granted("n1-0", 4'096, 500))},
        BadGrant{"OfAnotherNode", grant_text("u1", "n2", granted("n1-0", 4'096, 500))},
        BadGrant{
            "WithoutContainers",
            R"({"version":1,"podUID":"u1","node":"n1","issuedAt":"","isolation":"mps","containers":[]})"}),
    [](const auto& row) { return row.param.name; });

TEST_F(ClusterFeedTest, KeepsAGrantThatItsOwnerBreaks) {
  const auto held = [&] { return node("n1").use[0].compute; };
  rig_.pods.change(kube::EventType::kAdded, pod_json(running("u1")));
  for (const char* broken : {"", "{", R"({"version":1})"}) {
    PodText pod = running("u1");
    pod.annotations["tangram.dev/gpu-grant"] = broken;
    rig_.pods.change(kube::EventType::kModified, pod_json(pod));
    EXPECT_EQ(held(), MilliGpu(500)) << broken;
    send_list(rig_.pods, {pod_json(pod)});
    EXPECT_EQ(held(), MilliGpu(500)) << broken << ", listed";
  }
  PodText without = running("u1");
  without.annotations = {};
  rig_.pods.change(kube::EventType::kModified, pod_json(without));
  EXPECT_EQ(held(), MilliGpu(500));
  rig_.pods.change(kube::EventType::kModified, pod_json(running("u1", 250)));
  EXPECT_EQ(held(), MilliGpu(500)) << "another one changes nothing: the container has the first";
  rig_.pods.change(kube::EventType::kDeleted, pod_json(without));
  EXPECT_EQ(held(), MilliGpu(0));
}

TEST_F(ClusterFeedTest, CountsACardThatTheNodeDoesNotListAsStray) {
  PodText pod = running("u1");
  pod.annotations["tangram.dev/gpu-grant"] = grant_text("u1", "n1", granted("elsewhere", 1, 1));
  rig_.pods.change(kube::EventType::kAdded, pod_json(pod));
  EXPECT_EQ(node("n1").stray_grants, 1);
  EXPECT_EQ(rig_.counters.bad_grants, 0U);
}

TEST_F(ClusterFeedTest, CountsAnOvergrantedCardAsItIs) {
  rig_.pods.change(kube::EventType::kAdded, pod_json(running("u1", 800)));
  rig_.pods.change(kube::EventType::kAdded, pod_json(running("u2", 800)));
  EXPECT_EQ(node("n1").use[0].compute, MilliGpu(1'600));
}

class EndedPodTest : public ClusterFeedTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(EndedPodTest, ReleasesWhatItHeld) {
  const std::string before = rig_.picture();
  rig_.pods.change(kube::EventType::kAdded, pod_json(running("u1")));
  PodText pod = running("u1");
  pod.phase = GetParam();
  rig_.pods.change(kube::EventType::kModified, pod_json(pod));
  EXPECT_EQ(rig_.picture(), before);
  rig_.pods.change(kube::EventType::kDeleted, pod_json(pod));  // once more, for the same pod
  EXPECT_EQ(rig_.picture(), before);
}

INSTANTIATE_TEST_SUITE_P(Phases, EndedPodTest, ::testing::Values("Succeeded", "Failed"));

TEST_F(ClusterFeedTest, CountsATerminatingPodUntilItIsGone) {
  std::string text = pod_json(running("u1"));
  text.replace(text.find(R"("uid":)"), 0, R"("deletionTimestamp":"2026-01-01T00:00:30Z",)");
  rig_.pods.change(kube::EventType::kAdded, text);
  EXPECT_EQ(rig_.used("n1"), MilliGpu(500));
  rig_.pods.change(kube::EventType::kDeleted, text);
  EXPECT_EQ(rig_.used("n1"), MilliGpu(0));
}

TEST_F(ClusterFeedTest, MovesAPodFromPendingToBound) {
  rig_.pods.change(kube::EventType::kAdded, pending_pod("u1"));
  ASSERT_NE(rig_.table.find("u1"), nullptr);
  EXPECT_EQ(rig_.used("n1"), MilliGpu(0));
  PodText bound = running("u1");
  bound.name = "waiting";
  rig_.pods.change(kube::EventType::kModified, pod_json(bound));
  EXPECT_EQ(rig_.table.find("u1"), nullptr);
  EXPECT_EQ(rig_.used("n1"), MilliGpu(500));
}

TEST_F(ClusterFeedTest, ForgetsAPendingPodThatIsDeleted) {
  rig_.pods.change(kube::EventType::kAdded, pending_pod("u1"));
  rig_.pods.change(kube::EventType::kDeleted, pending_pod("u1"));
  EXPECT_EQ(rig_.table.pending_count(), 0U);
}

TEST_F(ClusterFeedTest, TellsPodsOfOneNameApart) {
  PodText old_pod = running("u1");
  old_pod.name = "web";
  PodText new_pod = running("u2", 300);
  new_pod.name = "web";
  rig_.pods.change(kube::EventType::kAdded, pod_json(old_pod));
  rig_.pods.change(kube::EventType::kAdded, pod_json(new_pod));
  EXPECT_EQ(rig_.used("n1"), MilliGpu(800));
  rig_.pods.change(kube::EventType::kDeleted, pod_json(old_pod));  // late
  EXPECT_EQ(rig_.used("n1"), MilliGpu(300));
}

TEST_F(ClusterFeedTest, TellsOfEveryPodOnceInOrder) {
  send_list(rig_.pods, {pending_pod("u1", "a"), pod_json(running("u2"))});
  rig_.pods.change(kube::EventType::kAdded, pending_pod("u3", "c"));
  rig_.pods.change(kube::EventType::kModified, pending_pod("u1", "a"));
  send_list(rig_.pods, {pending_pod("u1", "a"), pod_json(running("u2")), pending_pod("u4", "d")});
  EXPECT_EQ(rig_.recorder.arrivals, (std::vector<std::string>{"u1", "u2", "u3", "u4"}));
}

TEST_F(ClusterFeedTest, ReleasesPodsThatTheNextListLacks) {
  send_list(rig_.pods, {pod_json(running("u1")), pod_json(running("u2", 300)), pending_pod("u3")});
  EXPECT_EQ(rig_.used("n1"), MilliGpu(800));
  send_list(rig_.pods, {pod_json(running("u2", 300))});
  EXPECT_EQ(rig_.used("n1"), MilliGpu(300));
  EXPECT_EQ(rig_.table.pending_count(), 0U);
}

TEST_F(ClusterFeedTest, LeavesOutFinishedPodsOfAList) {
  PodText done = running("u1");
  done.phase = "Succeeded";
  send_list(rig_.pods, {pod_json(running("u1"))});
  send_list(rig_.pods, {pod_json(done)});
  EXPECT_EQ(rig_.used("n1"), MilliGpu(0));
  EXPECT_TRUE(node("n1").allocations.empty());
}

TEST_F(ClusterFeedTest, KeepsWhatIsAssumedThoughAListLacksIt) {
  const auto assumed = rig_.ledger.apply([](model::Ledger& ledger) {
    return ledger.assume(testing::allocation("u9", "n1", {granted("n1-0", 100, 200)}),
                         std::chrono::seconds(30));
  });
  ASSERT_TRUE(assumed);
  send_list(rig_.pods, {pod_json(running("u1"))});
  EXPECT_EQ(rig_.used("n1"), MilliGpu(700));
  send_list(rig_.pods, {});
  EXPECT_EQ(rig_.used("n1"), MilliGpu(200));
}

TEST_F(ClusterFeedTest, LeavesTheLedgerAsItWasWhenAChangedPodCannotBeRead) {
  send_list(rig_.pods, {pod_json(running("u1")), pending_pod("u2")});
  const std::string before = rig_.picture();
  for (const std::string& text :
       {std::string(), std::string("[1]"), std::string("{\"metadata\":{}}"),
        unreadable(running("u1")), std::string("{\"metadata\":\"\xff\"}")}) {
    rig_.pods.change(kube::EventType::kModified, text);
  }
  EXPECT_EQ(rig_.picture(), before);
  EXPECT_EQ(rig_.table.pending_count(), 1U);
  EXPECT_EQ(rig_.counters.bad_objects, 5U);
}

TEST_F(ClusterFeedTest, TakesTheEndOfAnObjectThatCannotBeReadOtherwise) {
  rig_.pods.change(kube::EventType::kAdded, pod_json(running("u1")));
  rig_.pods.change(kube::EventType::kDeleted, unreadable(running("u1")));
  EXPECT_EQ(rig_.used("n1"), MilliGpu(0));
  rig_.nodes.change(kube::EventType::kDeleted,
                    R"({"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"lots"}}})");
  EXPECT_EQ(rig_.ledger.snapshot()->find("n1"), nullptr);
  const std::string before = rig_.picture();
  rig_.pods.change(kube::EventType::kDeleted, "not JSON");
  rig_.nodes.change(kube::EventType::kDeleted, "not JSON");
  EXPECT_EQ(rig_.picture(), before);
}

TEST_F(ClusterFeedTest, KeepsAListedPodThatCannotBeReadAsItWas) {
  PodText waiting;
  waiting.uid = "u2";
  send_list(rig_.pods, {pod_json(running("u1")), pod_json(waiting)});
  const std::string before = rig_.picture();
  send_list(rig_.pods, {unreadable(running("u1")), unreadable(waiting), "not JSON"});
  EXPECT_EQ(rig_.picture(), before);
  EXPECT_NE(rig_.table.find("u2"), nullptr);
  EXPECT_EQ(rig_.counters.bad_objects, 3U);
  send_list(rig_.pods, {});
  EXPECT_EQ(rig_.used("n1"), MilliGpu(0));
  EXPECT_EQ(rig_.table.pending_count(), 0U);
}

TEST_F(ClusterFeedTest, ReadsObjectsPastTheirManagedFields) {
  send_list(rig_.nodes, {with_odd_fields(extender::Rig::node_text("n1", 2))});
  send_list(rig_.pods,
            {with_odd_fields(pod_json(running("u1", 300))), with_odd_fields(pending_pod("u2"))});
  EXPECT_EQ(rig_.used("n1"), MilliGpu(300));
  EXPECT_NE(rig_.table.find("u2"), nullptr);
  rig_.pods.change(kube::EventType::kAdded, with_odd_fields(pod_json(running("u3", 200))));
  EXPECT_EQ(rig_.used("n1"), MilliGpu(500));
  EXPECT_EQ(rig_.counters.bad_objects, 0U);
  rig_.pods.change(kube::EventType::kDeleted, with_odd_fields(pod_json(running("u1"))));
  rig_.pods.change(kube::EventType::kDeleted, with_odd_fields(pending_pod("u2")));
  EXPECT_EQ(rig_.used("n1"), MilliGpu(200));
  EXPECT_EQ(rig_.table.pending_count(), 0U);
  rig_.nodes.change(kube::EventType::kDeleted, with_odd_fields(node_json("n1")));
  EXPECT_EQ(rig_.ledger.snapshot()->find("n1"), nullptr);
}

TEST_F(ClusterFeedTest, TakesWhatWasDeletedOutOfAListThatIsRead) {
  rig_.pods.begin_list();
  rig_.pods.listed(pod_json(running("u1")));
  rig_.pods.unlisted(with_odd_fields(unreadable(running("u1"))));
  EXPECT_EQ(rig_.pods.kept_bytes(), 0U);
  rig_.pods.end_list();
  EXPECT_EQ(rig_.used("n1"), MilliGpu(0));
}

// ---- Pods that cannot be read

TEST_F(ClusterFeedTest, BooksAPodThatCouldNeverBeReadByItsGrant) {
  const std::string before = rig_.picture();
  send_list(rig_.pods, {unreadable(running("u1", 300)), unreadable({.uid = "u2"})});
  rig_.pods.change(kube::EventType::kAdded, unreadable(running("u3", 200)));
  EXPECT_EQ(rig_.used("n1"), MilliGpu(500));
  EXPECT_TRUE(rig_.table.contains("u1"));
  EXPECT_FALSE(rig_.table.contains("u2")) << "has no node";
  EXPECT_EQ(rig_.table.pending_count(), 0U);
  send_list(rig_.pods, {unreadable(running("u1", 300)), unreadable(running("u3", 200))});
  EXPECT_EQ(rig_.used("n1"), MilliGpu(500));
  EXPECT_EQ(rig_.counters.bad_objects, 5U);
  rig_.pods.change(kube::EventType::kDeleted, unreadable(running("u3")));
  send_list(rig_.pods, {});
  EXPECT_EQ(rig_.picture(), before);
}

TEST_F(ClusterFeedTest, BooksWhatAPodRequestsOnceItCanBeRead) {
  rig_.pods.change(kube::EventType::kAdded, unreadable(running("u1")));
  EXPECT_EQ(node("n1").requested.cpu, MilliCpu(0));
  rig_.pods.change(kube::EventType::kModified, pod_json(running("u1")));
  EXPECT_EQ(node("n1").requested.cpu, MilliCpu(1'000));
  rig_.pods.change(kube::EventType::kModified, unreadable(running("u1")));
  EXPECT_EQ(node("n1").requested.cpu, MilliCpu(1'000));
  EXPECT_EQ(rig_.used("n1"), MilliGpu(500));
}

TEST_F(ClusterFeedTest, MovesAPodThatCannotBeReadFromPendingToBound) {
  send_list(rig_.pods, {pending_pod("u1"), pending_pod("u2", "b")});
  rig_.pods.change(kube::EventType::kModified, unreadable(running("u1", 300)));
  EXPECT_EQ(rig_.used("n1"), MilliGpu(300));
  EXPECT_EQ(rig_.table.find("u1"), nullptr);
  EXPECT_NE(rig_.table.find("u2"), nullptr);
  send_list(rig_.pods, {unreadable(running("u1", 300)), unreadable(running("u2", 200))});
  EXPECT_EQ(rig_.used("n1"), MilliGpu(500));
  EXPECT_EQ(rig_.table.pending_count(), 0U);
}

TEST_F(ClusterFeedTest, OfAListThatShowsAPodTwiceWhatCouldBeReadCounts) {
  rig_.pods.begin_list();
  rig_.pods.listed(pod_json(running("u1")));
  rig_.pods.listed(unreadable(running("u1")));
  rig_.pods.listed(pending_pod("u2"));
  rig_.pods.listed(unreadable(running("u2", 200)));
  rig_.pods.end_list();
  EXPECT_EQ(rig_.used("n1"), MilliGpu(700));
  EXPECT_EQ(node("n1").requested.cpu, MilliCpu(1'000));
  EXPECT_EQ(rig_.table.pending_count(), 0U);
}

TEST_F(ClusterFeedTest, ReleasesAFinishedPodThatCannotBeRead) {
  rig_.pods.change(kube::EventType::kAdded, pod_json(running("u1")));
  rig_.pods.change(kube::EventType::kModified, unread_phase("u1", "Failed"));
  EXPECT_EQ(rig_.used("n1"), MilliGpu(0));
  rig_.pods.change(kube::EventType::kAdded, pod_json(running("u1")));
  send_list(rig_.pods, {unread_phase("u1", "Succeeded")});
  EXPECT_EQ(rig_.used("n1"), MilliGpu(0));
  EXPECT_FALSE(rig_.table.contains("u1"));
}

TEST_F(ClusterFeedTest, AGrantThatDoesNotCountBooksNothingOfAPodThatCannotBeRead) {
  PodText copied = running("u2");
  copied.annotations = running("u1").annotations;
  rig_.pods.change(kube::EventType::kAdded, unreadable(copied));
  EXPECT_EQ(rig_.used("n1"), MilliGpu(0));
  EXPECT_EQ(rig_.counters.bad_grants, 1U);
  PodFeed strict(rig_.ledger, rig_.table, rig_.policies, rig_.counters, [](std::string_view) {
    return model::SignatureVerdict{.key = "unknown", .problem = "is not signed"};
  });
  strict.change(kube::EventType::kAdded, unreadable(running("u1")));
  EXPECT_EQ(rig_.used("n1"), MilliGpu(0));
  EXPECT_EQ(rig_.counters.bad_grants, 2U);
}

TEST_F(ClusterFeedTest, KeepsCountingPodsOfANodeThatLeftAndCameBack) {
  rig_.pods.change(kube::EventType::kAdded, pod_json(running("u1")));
  rig_.nodes.change(kube::EventType::kDeleted, extender::Rig::node_text("n1", 2));
  EXPECT_EQ(rig_.ledger.snapshot()->find("n1"), nullptr);
  rig_.nodes.change(kube::EventType::kAdded, extender::Rig::node_text("n1", 2));
  EXPECT_EQ(rig_.used("n1"), MilliGpu(500));
}

// ---- What a list takes of memory

TEST_F(ClusterFeedTest, KeepsLittleOfLongPods) {
  constexpr std::size_t kPods = 100;
  constexpr std::size_t kLong = 20'000;
  rig_.pods.begin_list();
  EXPECT_EQ(rig_.pods.kept_bytes(), 0U);
  std::size_t listed = 0;
  for (std::size_t i = 0; i < kPods; ++i) {
    const std::string uid = "uid-of-a-pod-" + std::to_string(i);
    std::string text =
        padded(i % 2 == 0 ? running(uid, 0) : PodText{.name = uid, .uid = uid}, kLong);
    listed += text.size();
    rig_.pods.listed(std::move(text));
  }
  EXPECT_GT(listed, kPods * kLong);
  EXPECT_GT(rig_.pods.kept_bytes(), kPods * sizeof(PodRecord));
  EXPECT_LT(rig_.pods.kept_bytes(), kPods * 4'096);
  rig_.pods.end_list();
  EXPECT_EQ(rig_.pods.kept_bytes(), 0U);
}

TEST_F(ClusterFeedTest, KeepsLittleOfPodsWithManyLabels) {
  const auto labelled = [](PodText pod, std::size_t labels) {
    for (std::size_t i = 0; i < labels; ++i) pod.labels.emplace(std::to_string(i), "");
    return pod_json(pod);
  };
  rig_.pods.begin_list();
  rig_.pods.listed(labelled(PodText{.name = "waits", .uid = "u1"}, 10'000));
  rig_.pods.listed(labelled(running("u2"), kMaxLabels + 1));
  EXPECT_LT(rig_.pods.kept_bytes(), 2U * 4'096);
  rig_.pods.listed(labelled(running("u3", 100), kMaxLabels));
  rig_.pods.end_list();
  const auto labels_of = [&](const std::string& uid) {
    return rig_.ledger.apply([&](const model::Ledger& ledger) {
      return ledger.find(uid)->allocation->labels.get().size();
    });
  };
  EXPECT_EQ(labels_of("u2"), 0U);
  EXPECT_EQ(labels_of("u3"), kMaxLabels);
}

TEST_F(ClusterFeedTest, ManyLargePodsComeInSmallPages) {
  testing::ManualClock clock;
  kube::LocalApi server(clock);
  for (int i = 0; i < 12; ++i) {
    PodText pod{.name = std::to_string(i)};
    pod.annotations = {{"a", std::string(10'000, 'x')}};
    const auto made = server.call(
        testing::write_request(kube::Method::kPost, "/api/v1/namespaces/ml/pods", pod_json(pod)));
    ASSERT_EQ(made->status, 201) << made->body;
  }
  testing::BoundedApi api(server, 30'000);
  std::stop_source stop;
  api.watched = [&] { stop.request_stop(); };
  kube::Reflector reflector(
      api, {.path = "/api/v1/pods", .field_selector = ""}, rig_.pods, clock,
      [&](std::chrono::milliseconds, const std::stop_token&) { stop.request_stop(); });
  reflector.run(stop.get_token());
  EXPECT_TRUE(reflector.health().synced);
  EXPECT_EQ(rig_.table.pending_count(), 12U);
  EXPECT_LE(api.limits().back(), 4);
}

TEST_F(ClusterFeedTest, CountsWhatItKeepsOfAListOnce) {
  rig_.pods.begin_list();
  rig_.pods.listed(pod_json(running("u1")));
  const std::size_t one = rig_.pods.kept_bytes();
  rig_.pods.listed(pod_json(running("u2")));
  EXPECT_GT(rig_.pods.kept_bytes(), one);
  rig_.pods.listed(pod_json(running("u2")));
  rig_.pods.unlisted(pod_json(running("u2")));
  rig_.pods.unlisted(pod_json(running("u3")));
  EXPECT_EQ(rig_.pods.kept_bytes(), one);
  rig_.nodes.begin_list();
  rig_.nodes.listed(extender::Rig::node_text("n1", 8));
  const std::size_t eight = rig_.nodes.kept_bytes();
  rig_.nodes.listed(extender::Rig::node_text("n1", 1));
  EXPECT_LT(rig_.nodes.kept_bytes(), eight);
  rig_.nodes.unlisted(extender::Rig::node_text("n1", 1));
  EXPECT_EQ(rig_.nodes.kept_bytes(), 0U);
}

/// As after a restore from a backup: bound pods are pending again, or were never there.
TEST_F(ClusterFeedTest, ReleasesWhatTheNextListShowsPendingOrNotAtAll) {
  send_list(rig_.pods, {pod_json(running("u1", 300)), pod_json(running("u2", 200))});
  ASSERT_EQ(node("n1").use.at(0).compute, MilliGpu(500));
  send_list(rig_.pods, {pending_pod("u1", "pod-u1")});
  EXPECT_EQ(node("n1").use.at(0).compute, MilliGpu(0));
  EXPECT_NE(rig_.table.find("u1"), nullptr);
}

}  // namespace
}  // namespace tangram::cluster
