#include "tests/extender/defragmenter_fixture.hpp"

namespace tangram::extender {
namespace {

TEST_F(DefragmenterTest, MovesAPodSoThatAWaitingOneFits) {
  wants_a_card();
  look_for(59s);
  EXPECT_EQ(leaving(), Lines{}) << "pods may end by themselves";
  look_for(2s);
  ASSERT_EQ(leaving().size(), 1U);
  const std::string mover = leaving().front();
  const std::string from = mover.substr(3);
  EXPECT_EQ(reports_, (Lines{"whole MakingRoom", mover + " Moved"}));
  EXPECT_EQ(json_at(rig_.read("whole"), "status.nominatedNodeName"), from);
  replace(mover);
  const std::string place = nodes_for(mover + "-next");
  EXPECT_EQ(place.size(), 5U) << place << ": one node, the reserved one";
  EXPECT_NE(place, "[\"" + from + "\"]");
  bind_next(mover + "-next", place.substr(2, 1));
  look_for(1s);
  EXPECT_EQ(moves("moved"), 1);
  EXPECT_EQ(nodes_for("whole"), "[\"" + from + "\"]");
  bind_next("whole", from);
  look_for(1s);
  EXPECT_EQ(plans("carried_out"), 1);
  look_for(600s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 2U) << "the dry run, and the eviction";
}

TEST_F(DefragmenterTest, IsDoneWhereTheWaitingPodIsFasterThanTheNextOne) {
  wants_a_card();
  look_for(61s);
  const std::string mover = leaving().front();
  replace(mover);
  bind_next("whole", mover.substr(3));
  look_for(5s);
  EXPECT_EQ(plans("carried_out"), 0);
  bind_next(mover + "-next", nodes_for(mover + "-next").substr(2, 1));
  look_for(1s);
  EXPECT_EQ(moves("moved"), 1);
  EXPECT_EQ(plans("carried_out"), 1);
}

TEST_F(DefragmenterTest, KeepsTheRoomForTheWaitingPod) {
  wants_a_card();
  look_for(61s);
  const std::string mover = leaving().front();
  const std::string from = "[\"" + mover.substr(3) + "\"]";
  rig_.end_pod(mover);
  pod("thief", "0.5", "");
  EXPECT_EQ(json_at(verbs().filter(ask("thief", from)), "NodeNames"), "[]");
}

TEST_F(DefragmenterTest, IsOffByDefault) {
  make({});
  wants_a_card();
  look_for(600s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U);
}

TEST_F(DefragmenterTest, ActsOnlyWhereItKnowsEnough) {
  wants_a_card();
  look_for(59s);
  leads_ = false;
  look_for(5s);
  leads_ = true;
  look_for(59s);  // the pod's time begins anew with the leader
  following_ = false;
  look_for(5s);
  following_ = true;
  budgets_known_ = false;
  look_for(5s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U);
  budgets_known_ = true;
  ask_again("whole");
  look_for(11s);
  EXPECT_EQ(leaving().size(), 1U);
}

TEST_F(DefragmenterTest, MovesOnlyPodsOfControllers) {
  for (const char* node : {"a", "b", "c"}) rig_.end_pod(std::string("on-") + node);
  bound("bare", "a", "");
  bound("agent", "b", "DaemonSet");
  bound("job", "c", "Job");
  wants_a_card();
  look_for(120s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U);
  EXPECT_GE(plans("none"), 1);
}

TEST_F(DefragmenterTest, KeepsToCordonsAndBudgets) {
  patch_node("a", R"({"unschedulable":true})");
  patch_node("b", R"({"unschedulable":true})");
  wants_a_card();
  look_for(120s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U) << "the next pod has no place but c";
  patch_node("b", R"({"unschedulable":null})");
  budgets_.change(kube::EventType::kAdded,
                  R"({"metadata":{"name":"b","namespace":"ml","uid":"u"},"spec":{"selector":)"
                  R"({"matchLabels":{"app":"on-b"}}},"status":{"disruptionsAllowed":0}})");
  look_for(61s);
  EXPECT_EQ(leaving(), Lines{"on-c"}) << "and its next pod comes to b";
}

TEST_F(DefragmenterTest, EvictsNobodyIfADryRunIsRefused) {
  wants_a_card();
  rig_.api.plan().add({.match = kEvictions,
                       .fault = {.kind = testing::Fault::Kind::kAnswer, .status = 429},
                       .times = 1});
  look_for(61s);
  EXPECT_EQ(leaving(), Lines{});
  EXPECT_EQ(moves("refused"), 1);
  EXPECT_EQ(json_at(rig_.read("whole"), "status.nominatedNodeName"), "<none>");
  EXPECT_EQ(rig_.ledger.snapshot()->find("b")->allocations.size(), 1U) << "nothing is reserved";
  ask_again("whole");
  look_for(61s);
  EXPECT_EQ(leaving().size(), 1U) << "another one moves";
}

TEST_F(DefragmenterTest, EvictsNobodyBesideAPodThatKeepsOthersAway) {
  const std::string guard =
      R"({"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)"
      R"({"topologyKey":"kubernetes.io/hostname"}]}})";
  for (const char* node : {"a", "b", "c"}) {
    testing::PodText text;
    text.name = std::string("guard-") + node;
    text.node = node;
    text.more_spec = {{"affinity", guard}};
    rig_.add_pod(text);
  }
  wants_a_card();
  look_for(120s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U);
  EXPECT_GE(moves("refused"), 1);
}

TEST_F(DefragmenterTest, StopsIfTheWaitingPodIsGone) {
  add_one_on_each();
  wants_a_card();
  look_for(61s);
  ASSERT_EQ(leaving().size(), 1U) << "the first of two";
  const std::string mover = leaving().front();
  rig_.end_pod("whole");
  look_for(1s);
  EXPECT_EQ(plans("stopped"), 1);
  rig_.end_pod(mover);
  look_for(600s);
  EXPECT_EQ(leaving(), Lines{});
  EXPECT_EQ(rig_.ledger.apply([](const auto& now) { return now.reserved_count(); }), 0U);
}

TEST_F(DefragmenterTest, MovesOneAfterTheOther) {
  add_one_on_each();
  wants_a_card();
  look_for(61s);
  look_for(100s);
  ASSERT_EQ(leaving().size(), 1U) << "the first has no place yet";
  const std::string first = leaving().front();
  const std::string fraction = first.starts_with("on-") ? "0.4" : "0.1";
  rig_.end_pod(first);
  pod("next", fraction, "ReplicaSet");
  bind_next("next", nodes_for("next").substr(2, 1));
  look_for(1s);
  EXPECT_EQ(moves("moved"), 1);
  EXPECT_EQ(leaving().size(), 1U);
  EXPECT_EQ(leaving().front().back(), first.back()) << "the other one of the same node";
}

TEST_F(DefragmenterTest, GoesOnIfTheNextPodFoundAnotherNode) {
  wants_a_card();
  look_for(61s);
  const std::string mover = leaving().front();
  rig_.end_pod(mover);
  look_for(Defragmenter::kElsewhere);
  EXPECT_EQ(moves("moved"), 0) << "its controller may not have made the next one yet";
  look_for(1s);
  EXPECT_EQ(moves("moved"), 1);
}

TEST_F(DefragmenterTest, ReportsAPodWhoseNextOneHasNoNodeInTime) {
  wants_a_card();
  look_for(61s);
  const std::string mover = leaving().front();
  replace(mover);
  look_for(MovePlaces::kUntilTaken + 1s);
  EXPECT_EQ(moves("stalled"), 1);
  EXPECT_EQ(plans("stopped"), 1);
  EXPECT_FALSE(rig_.promises.made_to(rig_.table.find("ml", "whole")->uid));
  look_for(299s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 2U);
}

TEST_F(DefragmenterTest, BeginsInTheHoursThatAreAllowed) {
  // The clock of the test begins at midnight.
  make({.enabled = true, .from_hour = 1, .until_hour = 2});
  wants_a_card();
  look_for(3'598s);
  ask_again("whole");
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U);
  look_for(15s);
  EXPECT_EQ(leaving().size(), 1U);
}

TEST_F(DefragmenterTest, KeepsToHoursOverMidnight) {
  make({.enabled = true, .from_hour = 22, .until_hour = 3});
  wants_a_card();
  look_for(61s);
  EXPECT_EQ(leaving().size(), 1U);
}

TEST_F(DefragmenterTest, MovesNoMoreInAnHourThanAllowed) {
  make({.enabled = true, .moves_per_hour = 1});
  wants_a_card();
  look_for(61s);
  ASSERT_EQ(leaving().size(), 1U);
  const std::string mover = leaving().front();
  replace(mover);
  bind_next(mover + "-next", nodes_for(mover + "-next").substr(2, 1));
  look_for(1s);
  bind_next("whole", mover.substr(3));
  look_for(1s);
  ASSERT_EQ(plans("carried_out"), 1);
  rig_.end_pod("whole");
  rig_.clock.advance(5s);  // its promise ends
  pod("again", "0.3", "ReplicaSet");
  (void)nodes_for("again");
  bind_next("again", mover.substr(3));
  pod("second", "1", "");
  ask_again("second");
  look_for(3'000s);
  EXPECT_EQ(leaving(), Lines{});
  look_for(550s);
  ask_again("second");
  look_for(60s);
  EXPECT_EQ(leaving().size(), 1U) << "an hour after the first";
}

TEST_F(DefragmenterTest, MovesNothingForAGainThatIsTooSmall) {
  make({.enabled = true, .min_gain_percent = 300});
  wants_a_card();
  look_for(120s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U) << "1 card for 0.4 is 250 %";
  make({.enabled = true, .min_gain_percent = 250});
  look_for(55s);
  ask_again("whole");
  look_for(10s);
  EXPECT_EQ(leaving().size(), 1U);
}

TEST_F(DefragmenterTest, MovesNoPodOfAHigherPriority) {
  for (const char* node : {"a", "b", "c"}) rig_.end_pod(std::string("on-") + node);
  for (const char* node : {"a", "b", "c"}) {
    const std::string name = std::string("top-") + node;
    const std::string uid = pod(name, "0.4", "ReplicaSet", kUrgent);
    EXPECT_EQ(rig_.bind(name, uid, node).outcome, BindOutcome::kBound);
    rig_.show(name);
  }
  wants_a_card("humble", kUrgent - 1);
  wants_a_card("equal", kUrgent);
  look_for(61s);
  EXPECT_EQ(reports_.front(), "equal MakingRoom");
  EXPECT_EQ(leaving().size(), 1U);
}

TEST_F(DefragmenterTest, GivesEachPriorityItsTurn) {
  testing::PodText picky;
  picky.name = "picky";
  picky.annotations = {{"tangram.dev/gpu-fraction", "1"}, {"tangram.dev/gpu-model", "none"}};
  picky.priority = kUrgent;
  rig_.add_pod(picky);
  rig_.show("picky");
  ask_again("picky");
  wants_a_card();
  look_for(61s);
  EXPECT_EQ(leaving(), Lines{}) << "no move helps the first";
  look_for(11s);
  EXPECT_EQ(leaving().size(), 1U);
}

TEST_F(DefragmenterTest, AsksKubeSchedulerAgainIfItsLastQuestionIsOld) {
  make({.enabled = true, .waited = 300s});
  wants_a_card();
  look_for(301s);
  EXPECT_EQ(leaving(), Lines{});
  EXPECT_EQ(rig_.denials.offered_in_vain(), Lines{rig_.table.find("ml", "whole")->uid});
  ask_again("whole");
  look_for(11s);
  EXPECT_EQ(leaving().size(), 1U);
}

TEST_F(DefragmenterTest, StopsIfTheWaitingPodAsksForSomethingElse) {
  add_one_on_each();
  wants_a_card();
  look_for(61s);
  const std::string first = leaving().front();
  rig_.ask(
      testing::write_request(kube::Method::kPatch, "/api/v1/namespaces/ml/pods/whole",
                             R"({"metadata":{"annotations":{"tangram.dev/gpu-fraction":"0.2"}}})"));
  rig_.show("whole");
  rig_.end_pod(first);
  look_for(61s);
  EXPECT_EQ(plans("stopped"), 1);
  EXPECT_EQ(moves("moved"), 1) << "what has begun is watched to its end";
  EXPECT_EQ(leaving(), Lines{});
}

TEST_F(DefragmenterTest, ReadsAllAgainBeforeTheSecondMove) {
  add_one_on_each();
  wants_a_card();
  look_for(61s);
  const std::string first = leaving().front();
  for (const char* node : {"a", "b", "c"}) patch_node(node, R"({"unschedulable":true})");
  rig_.end_pod(first);
  look_for(62s);
  EXPECT_EQ(plans("stopped"), 1);
  EXPECT_EQ(leaving(), Lines{});
}

TEST_F(DefragmenterTest, ClearsTheNominationHoweverAPlanEnds) {
  wants_a_card();
  rig_.api.plan().add({.match = kEvictions,
                       .fault = {.kind = testing::Fault::Kind::kAnswer, .status = 429},
                       .times = 1,
                       .every = 2});
  look_for(61s);
  EXPECT_EQ(moves("refused"), 1) << "the eviction after its dry run";
  EXPECT_EQ(json_at(rig_.read("whole"), "status.nominatedNodeName"), "");
}

TEST_F(DefragmenterTest, ClearsTheNominationIfThePodDoesNotTakeTheRoom) {
  wants_a_card();
  look_for(61s);
  const std::string mover = leaving().front();
  rig_.show("whole");
  replace(mover);
  bind_next(mover + "-next", nodes_for(mover + "-next").substr(2, 1));
  look_for(Promises::kUntilAsked + 2s);
  EXPECT_EQ(moves("moved"), 1);
  EXPECT_EQ(plans("stopped"), 1);
  EXPECT_EQ(json_at(rig_.read("whole"), "status.nominatedNodeName"), "");
}

TEST_F(DefragmenterTest, PlansNothingForMembersOfGroups) {
  testing::PodText member;
  member.name = "member";
  member.annotations = {{"tangram.dev/gpu-fraction", "1"}};
  member.labels = {{"kueue.x-k8s.io/pod-group-name", "train"}};
  member.limits = {{"tangram.dev/gpu-slot", "1"}};
  rig_.add_pod(member);
  rig_.show("member");
  ask_again("member");
  look_for(600s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U);
}

TEST_F(DefragmenterTest, GoesOnWithTheLastMoveWhileTheWatchIsInterrupted) {
  wants_a_card();
  look_for(61s);
  const std::string mover = leaving().front();
  following_ = false;
  look_for(5s);
  following_ = true;
  replace(mover);
  bind_next(mover + "-next", nodes_for(mover + "-next").substr(2, 1));
  look_for(1s);
  EXPECT_EQ(nodes_for("whole"), "[\"" + mover.substr(3) + "\"]");
  EXPECT_EQ(plans("stopped"), 0);
}

TEST_F(DefragmenterTest, GoesOnIfALaterMoverEndsByItself) {
  add_one_on_each();
  wants_a_card();
  look_for(61s);
  const std::string first = leaving().front();
  const std::string node = first.substr(first.size() - 1);
  const bool large = first.starts_with("on-");
  rig_.end_pod(first);
  pod("next-1", large ? "0.4" : "0.1", "ReplicaSet");
  bind_next("next-1", nodes_for("next-1").substr(2, 1));
  rig_.end_pod((large ? "more-" : "on-") + node);
  look_for(1s);
  pod("next-2", large ? "0.1" : "0.4", "ReplicaSet");
  EXPECT_NE(nodes_for("next-2"), "[\"" + node + "\"]");
  bind_next("next-2", nodes_for("next-2").substr(2, 1));
  look_for(2s);
  EXPECT_EQ(moves("moved"), 2);
  EXPECT_EQ(nodes_for("whole"), "[\"" + node + "\"]");
}

TEST_F(DefragmenterTest, TriesAgainIfTheApiServerDoesNotAnswer) {
  wants_a_card();
  rig_.api.plan().add({.match = {.method = kube::Method::kGet, .path_ends = "/pods/whole"},
                       .fault = {.kind = testing::Fault::Kind::kAnswer, .status = 503},
                       .times = 1});
  look_for(61s);
  EXPECT_EQ(leaving(), Lines{});
  ask_again("whole");
  look_for(61s);
  EXPECT_EQ(leaving().size(), 1U);
}

TEST_F(DefragmenterTest, LeavesThePromiseOfOthers) {
  wants_a_card();
  look_for(61s);
  const kube::Pod whole = *rig_.table.find("ml", "whole");
  rig_.promises.made(whole, {{"b", Victims{.uids = {"somebody"}}}});
  look_for(1s);
  EXPECT_EQ(plans("stopped"), 1);
  EXPECT_EQ(rig_.promises.maker(whole.uid), RoomMaker::kScheduler);
}

TEST_F(DefragmenterTest, WatchesAPodWhoseEvictionHadNoAnswer) {
  wants_a_card();
  rig_.api.plan().add({.match = kEvictions,
                       .fault = {.kind = testing::Fault::Kind::kAnswer, .status = 500},
                       .times = 1,
                       .every = 2});
  look_for(61s);
  EXPECT_EQ(moves("failed"), 0) << "it may leave";
  EXPECT_EQ(rig_.ledger.apply([](const auto& now) { return now.reserved_count(); }), 1U);
  EXPECT_EQ(json_at(rig_.read("whole"), "status.nominatedNodeName").size(), 1U);
  look_for(Defragmenter::kUntilKnown);
  EXPECT_EQ(moves("failed"), 1);
  EXPECT_EQ(plans("stopped"), 1);
  EXPECT_EQ(json_at(rig_.read("whole"), "status.nominatedNodeName"), "");
  EXPECT_EQ(rig_.ledger.apply([](const auto& now) { return now.reserved_count(); }), 0U)
      << "it stands as before";
}

TEST_F(DefragmenterTest, LeavesAPodThatGetsRoomOtherwise) {
  wants_a_card();
  rig_.nominate("whole", "a");
  look_for(120s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U);
}

}  // namespace
}  // namespace tangram::extender
