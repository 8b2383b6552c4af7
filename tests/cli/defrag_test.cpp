#include "cli/defrag/defrag.hpp"

#include "base/json_members.hpp"
#include "tests/cli/rig.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::cli {
namespace {

using testing::PodText;

/// Nodes a and b of one card each, half full; and a pod that wants a whole card.
struct HalfFull : Rig {
  HalfFull() {
    for (const char* name : {"a", "b"}) {
      add_node(name, {testing::card("GPU-" + std::string(name), "A100", Mebibytes(80'000))});
    }
  }
  PodText owned(const std::string& name, const std::string& owner = "ReplicaSet") const {
    PodText pod{.name = name, .scheduler = "tangram"};
    pod.annotations["tangram.dev/gpu-fraction"] = "0.4";
    pod.limits = {{"tangram.dev/gpu-slot", "1"}};
    pod.labels = {{"app", name}};
    pod.owner = owner;
    return pod;
  }
  void run_on(const std::string& node, const PodText& pod) {
    bind(pod.name, add_pod(pod), node, {testing::shared("GPU-" + node, 32'000, 400)});
  }
  Defrag plan(std::size_t most_moves = 10) {
    ClusterSettings settings;
    settings.policy.default_policy = "binpack";
    const auto read = read_defrag_cluster(api, settings, clock);
    if (!read) throw std::runtime_error(read.error().message);
    return plan_defrag(*read, most_moves);
  }
  std::vector<std::string> movers() {
    std::vector<std::string> names;
    for (const Defrag::Move& move : plan().moves) names.push_back(move.pod.name);
    return names;
  }
};
using Names = std::vector<std::string>;

TEST(DefragTest, PlansTheMoveThatLetsAWaitingPodRun) {
  HalfFull rig;
  rig.run_on("a", rig.owned("one"));
  rig.run_on("b", rig.owned("two"));
  rig.add_pod("whole", {{"gpu-count", "1"}});
  const std::size_t writes = rig.api.calls().size();
  const Defrag plan = rig.plan();
  ASSERT_EQ(plan.moves.size(), 1U);
  EXPECT_EQ(plan.moves[0].from.node, "a");
  EXPECT_EQ(plan.moves[0].to.node, "b");
  ASSERT_EQ(plan.runs.size(), 1U);
  EXPECT_EQ(plan.runs[0].pod.name, "whole");
  EXPECT_EQ(plan.runs[0].seat.node, "a");
  EXPECT_EQ(plan.runs[0].after, 1U);
  EXPECT_EQ(plan.gained_milli, 1000);
  EXPECT_EQ(plan.moved_milli, 400);
  EXPECT_FALSE(plan.helpless());
  for (std::size_t i = writes; i < rig.api.calls().size(); ++i) {
    EXPECT_EQ(rig.api.calls()[i].method, kube::Method::kGet);
  }
  const std::string drawn = draw_defrag(file_screen(100), plan, false);
  EXPECT_NE(drawn.find("ml/one"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("1 waiting pod would run, with 1 card; 1 pod would move, with 0.4 cards"),
            std::string::npos)
      << drawn;
}

TEST(DefragTest, WritesThePlanAsJson) {
  HalfFull rig;
  rig.run_on("a", rig.owned("one"));
  rig.run_on("b", rig.owned("two"));
  rig.add_pod("whole", {{"gpu-count", "1"}});
  std::string text = defrag_json(rig.plan());
  std::string pod;
  std::string to;
  std::int64_t gained = 0;
  std::int64_t after = 0;
  json::Reader in(text);
  const auto move = [&](json::Reader& it) {
    it.array([&] { json::read_members(it, "name", pod, "to", json::members("node", to)); });
  };
  const auto run = [&](json::Reader& it) {
    it.array([&] { json::read_members(it, "afterMoves", after); });
  };
  json::read_members(in, "moves", move, "runs", run, "gainedMilli", gained);
  EXPECT_TRUE(in.finish());
  EXPECT_EQ(pod, "one");
  EXPECT_EQ(to, "b");
  EXPECT_EQ(gained, 1000);
  EXPECT_EQ(after, 1);
}

TEST(DefragTest, HasNothingToDoWhereNoPodWaits) {
  HalfFull rig;
  rig.run_on("a", rig.owned("one"));
  const Defrag none = rig.plan();
  EXPECT_FALSE(none.helpless());
  EXPECT_EQ(draw_defrag(file_screen(), none, false), "no pod waits for a card: nothing to do");
  rig.add_pod("whole", {{"gpu-count", "1"}});
  const Defrag fits = rig.plan();
  EXPECT_EQ(fits.fit_already, 1U);
  EXPECT_FALSE(fits.helpless());
}

TEST(DefragTest, SaysThatNoMoveHelps) {
  HalfFull rig;
  rig.run_on("a", rig.owned("one", ""));
  rig.run_on("b", rig.owned("two", "DaemonSet"));
  rig.add_pod("whole", {{"gpu-count", "1"}});
  const Defrag plan = rig.plan();
  EXPECT_TRUE(plan.helpless());
  EXPECT_NE(draw_defrag(file_screen(), plan, false).find("no move of pods that may move"),
            std::string::npos);
}

TEST(DefragTest, KeepsToTaintsSelectorsAndCordons) {
  HalfFull rig;
  PodText picky = rig.owned("one");
  picky.more_spec = {{"nodeSelector", R"({"zone":"x"})"}};
  rig.run_on("a", picky);
  rig.run_on("b", rig.owned("two"));
  rig.add_pod("whole", {{"gpu-count", "1"}});
  EXPECT_EQ(rig.movers(), Names{"two"}) << "no other node is in that zone";
  rig.ask(testing::write_request(kube::Method::kPatch, "/api/v1/nodes/a",
                                 R"({"spec":{"unschedulable":true}})"));
  EXPECT_EQ(rig.movers(), Names{});
}

TEST(DefragTest, KeepsToDisruptionBudgets) {
  HalfFull rig;
  rig.run_on("a", rig.owned("one"));
  rig.run_on("b", rig.owned("two"));
  rig.add_pod("whole", {{"gpu-count", "1"}});
  rig.api.answer(
      "/apis/policy/v1/poddisruptionbudgets",
      R"({"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"namespace":"ml","name":"one","uid":"u"},)"
      R"("spec":{"selector":{"matchLabels":{"app":"one"}}},)"
      R"("status":{"disruptionsAllowed":0}}]})");
  EXPECT_EQ(rig.movers(), Names{"two"});
  rig.api.answer(
      "/apis/policy/v1/poddisruptionbudgets",
      R"({"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"namespace":"ml","name":"all","uid":"u"},)"
      R"("spec":{"selector":{}},"status":{"disruptionsAllowed":0}}]})");
  EXPECT_EQ(rig.movers(), Names{}) << "an empty selector covers all pods of the namespace";
  rig.api.answer("/apis/policy/v1/poddisruptionbudgets", 403, "{}");
  EXPECT_FALSE(read_defrag_cluster(rig.api, {}, rig.clock)) << "not without the budgets";
}

TEST(DefragTest, LeavesOutPodsWhoseRulesCannotBeJudged) {
  HalfFull rig;
  rig.run_on("a", rig.owned("one"));
  rig.run_on("b", rig.owned("two"));
  PodText waits = rig.owned("spread");
  waits.annotations = {{"tangram.dev/gpu-count", "1"}};
  waits.more_spec = {{"topologySpreadConstraints",
                      R"([{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
                      R"("labelSelector":{}}])"}};
  rig.add_pod(waits);
  const Defrag plan = rig.plan();
  EXPECT_TRUE(plan.moves.empty());
  ASSERT_EQ(plan.left_out.size(), 1U);
  EXPECT_EQ(plan.left_out[0].why, "its pods must be spread");
  EXPECT_FALSE(plan.helpless()) << "there is none to plan for";
}

TEST(DefragTest, MovesNoMemberOfAGroupAndPlansForNone) {
  HalfFull rig;
  PodText member = rig.owned("one");
  member.group = "g";
  rig.run_on("a", member);
  PodText worker = rig.owned("two", "StatefulSet");
  worker.labels["leaderworkerset.sigs.k8s.io/name"] = "l";
  rig.run_on("b", worker);
  rig.add_pod("whole", {{"gpu-count", "1"}});
  EXPECT_EQ(rig.movers(), Names{});
  PodText waits = rig.owned("waits");
  waits.annotations = {{"tangram.dev/gpu-count", "1"}};
  waits.labels = {{"kueue.x-k8s.io/pod-group-name", "k"}};
  rig.add_pod(waits);
  ASSERT_EQ(rig.plan().left_out.size(), 1U);
  EXPECT_EQ(rig.plan().left_out[0].why, "it belongs to a pod group, whose members run together");
}

TEST(DefragTest, NoNodeTakesAPodThatOthersKeepAway) {
  HalfFull rig;
  rig.run_on("a", rig.owned("one"));
  rig.run_on("b", rig.owned("two"));
  rig.add_pod("whole", {{"gpu-count", "1"}});
  PodText guard{.name = "guard", .node = "b"};
  guard.more_spec = {{"affinity", R"({"podAntiAffinity":)"
                                  R"({"requiredDuringSchedulingIgnoredDuringExecution":[)"
                                  R"({"labelSelector":{},"topologyKey":"zone"}]}})"}};
  rig.add_pod(guard);
  EXPECT_EQ(rig.movers(), Names{})
      << "neither the next pod of one nor the waiting pod may come to b";
}

TEST(DefragTest, MovesNoPodWhoseRequestIsNotWhatItHas) {
  HalfFull rig;
  rig.run_on("a", rig.owned("one"));
  rig.run_on("b", rig.owned("two"));
  rig.add_pod("whole", {{"gpu-count", "1"}});
  for (const char* pod : {"one", "two"}) {
    rig.ask(testing::write_request(
        kube::Method::kPatch, std::string("/api/v1/namespaces/ml/pods/") + pod,
        R"({"metadata":{"annotations":{"tangram.dev/gpu-fraction":"0.2"}}})"));
  }
  EXPECT_EQ(rig.movers(), Names{});
}

TEST(DefragTest, MovesNoPodThatTheExtenderWouldNotMove) {
  HalfFull rig;
  PodText one = rig.owned("one");
  one.priority = 5;
  rig.run_on("a", one);
  PodText two = rig.owned("two", "StatefulSet");
  two.more_spec = {{"terminationGracePeriodSeconds", "300"}};
  rig.run_on("b", two);
  rig.add_pod("whole", {{"gpu-count", "1"}});
  EXPECT_EQ(rig.movers(), Names{}) << "of a higher priority, and slow to end";
  PodText urgent = rig.owned("urgent", "");
  urgent.annotations = {{"tangram.dev/gpu-count", "1"}};
  urgent.priority = 5;
  rig.add_pod(urgent);
  EXPECT_EQ(rig.movers(), Names{"one"});
  EXPECT_EQ(rig.plan().runs.front().pod.name, "urgent");
  rig.add_pod(rig.owned("next"));  // of the same ReplicaSet
  EXPECT_EQ(rig.movers(), Names{});
}

TEST(DefragTest, MovesAtMostSoMany) {
  HalfFull rig;
  rig.run_on("a", rig.owned("one"));
  rig.run_on("a", rig.owned("three"));
  rig.run_on("b", rig.owned("two"));
  rig.add_node("c", {testing::card("GPU-c", "A100", Mebibytes(80'000))});
  rig.run_on("c", rig.owned("four"));
  rig.add_pod("whole", {{"gpu-count", "1"}});
  EXPECT_EQ(rig.plan(1).moves.size(), 1U);
  rig.add_pod("wants-more", {{"gpu-count", "1"}});
  EXPECT_LE(rig.plan(1).moves.size(), 1U);
}

}  // namespace
}  // namespace tangram::cli
