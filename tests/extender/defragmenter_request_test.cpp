// Moves that an operator requests.

#include "tests/extender/defragmenter_fixture.hpp"

#include <gmock/gmock.h>

namespace tangram::extender {
namespace {

using cluster::MoveProgress;
using cluster::MoveRequest;
using cluster::MoveState;
using ::testing::HasSubstr;

const testing::CallMatch kReads{.method = kube::Method::kGet, .path_ends = "/tangram-defrag"};
const testing::CallMatch kReports{.method = kube::Method::kPatch, .path_ends = "/tangram-defrag"};

class DefragmenterRequestTest : public DefragmenterTest {
 protected:
  DefragmenterRequestTest() {
    rig_.ask(testing::write_request(kube::Method::kPost, "/api/v1/namespaces/system/configmaps",
                                    R"({"metadata":{"name":"tangram-defrag"}})"));
    make(on_request());
    wants_a_card();
  }
  static DefragmenterSettings on_request() {
    return {.moves_per_hour = 1,
            .from_hour = 5,  // the clock of the test begins at midnight
            .until_hour = 6,
            .min_gain_percent = 100'000,
            .requests_ns = "system"};
  }
  void write(const std::string& text) {
    kube::Request request{.method = kube::Method::kPatch,
                          .path = cluster::move_requests_path("system"),
                          .body = cluster::move_request_patch(cluster::kRequestKey, text),
                          .content_type = "application/merge-patch+json"};
    rig_.ask(request);
  }
  std::string uid(const std::string& name) { return json_at(rig_.read(name), "metadata.uid"); }
  void request(const std::string& id, const std::vector<std::string>& movers,
               const std::vector<std::string>& waiting = {"whole"},
               std::chrono::seconds lasts = 600s) {
    MoveRequest text{.id = id, .until = rig_.clock.wall() + lasts};
    for (const std::string& name : movers) text.movers.push_back(uid(name));
    for (const std::string& name : waiting) text.waiting.push_back(uid(name));
    write(cluster::to_json(text));
  }
  /// @param times  0 = always
  void refuse(const testing::CallMatch& match, int status, std::uint64_t times = 0) {
    rig_.api.plan().add({.match = match,
                         .fault = {.kind = testing::Fault::Kind::kAnswer, .status = status},
                         .times = times});
  }
  /// As an operator reads it; id "" = none is written.
  MoveProgress progress() {
    const auto map = rig_.ask({.path = cluster::move_requests_path("system")});
    const auto read = cluster::read_move_requests(map.body);
    const auto progress = cluster::read_move_progress(read.value().progress);
    return progress ? *progress : MoveProgress{};
  }
  void arrive(const std::string& name) {
    bind_next(name, nodes_for(name).substr(2, 1));
    look_for(1s);
  }
};

TEST_F(DefragmenterRequestTest, MovesThePodsThatAreNamedAtOnce) {
  request("r", {"on-b"});
  look_for(500ms);
  EXPECT_EQ(leaving(), Lines{"on-b"}) << "whatever the hours, the gain and the time waited";
  look_for(2s);
  EXPECT_EQ(progress(), (MoveProgress{.id = "r", .evicted = 1}));
  replace("on-b");
  arrive("on-b-next");
  EXPECT_EQ(nodes_for("whole"), R"(["b"])");
  bind_next("whole", "b");
  look_for(5s);
  EXPECT_EQ(progress(),
            (MoveProgress{.id = "r", .state = MoveState::kDone, .evicted = 1, .placed = 1}));
  look_for(600s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 2U) << "the dry run, and the eviction";
}

TEST_F(DefragmenterRequestTest, MovesNoOtherPods) {
  bound("more-b", "b", "ReplicaSet", "0.1");
  request("r", {"on-b"});
  look_for(RequestPlans::kHelpless - 2s);
  EXPECT_EQ(progress(), (MoveProgress{.id = "r"})) << "others may leave, or be asked about";
  look_for(6s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U) << "more-b stays, so whole does not fit on b";
  EXPECT_EQ(progress().state, MoveState::kStopped);
  EXPECT_THAT(progress().message, HasSubstr("the cluster has changed"));
}

TEST_F(DefragmenterRequestTest, MovesForNoOtherPods) {
  wants_a_card("other");
  request("r", {"on-b"}, {"other"});
  look_for(500ms);
  EXPECT_EQ(json_at(rig_.read("other"), "status.nominatedNodeName"), "b");
  EXPECT_EQ(json_at(rig_.read("whole"), "status.nominatedNodeName"), "<none>");
}

TEST_F(DefragmenterRequestTest, GoesOnWithTheNextWaitingPod) {
  wants_a_card("other");
  rig_.end_pod("on-c");
  bound("more-c", "c", "ReplicaSet", "0.2");  // and has room for both next pods
  patch_node("b", R"({"unschedulable":true})");
  request("r", {"on-a", "on-b"}, {"whole", "other"});
  for (const std::string from : {"a", "b"}) {
    look_for(5s);
    ASSERT_EQ(leaving(), Lines{"on-" + from});
    replace("on-" + from);
    arrive("on-" + from + "-next");
    const bool is_first = json_at(rig_.read("whole"), "status.nominatedNodeName") == from;
    bind_next(is_first ? "whole" : "other", from);
    patch_node("b", R"({"unschedulable":null})");
  }
  look_for(5s);
  EXPECT_EQ(progress(),
            (MoveProgress{.id = "r", .state = MoveState::kDone, .evicted = 2, .placed = 2}));
}

TEST_F(DefragmenterRequestTest, GoesOnAfterTheWatchWasInterrupted) {
  bound("more-b", "b", "ReplicaSet", "0.1");
  request("r", {"on-b", "more-b"});
  look_for(500ms);
  ASSERT_EQ(leaving().size(), 1U);
  const std::string first = leaving().front();
  following_ = false;
  look_for(1s);
  following_ = true;
  EXPECT_EQ(plans("stopped"), 1);
  replace_by_next(first);
  arrive("next");
  ask_again("whole");
  look_for(25s);
  EXPECT_EQ(progress(), (MoveProgress{.id = "r", .evicted = 2}));
}

TEST_F(DefragmenterRequestTest, EndsAtTheFirstDifference) {
  request("r", {"on-b"});
  refuse(kEvictions, 429, 1);
  look_for(5s);
  EXPECT_EQ(progress().state, MoveState::kStopped);
  EXPECT_THAT(progress().message, HasSubstr("ml/on-b would not be evicted"));
  look_for(600s);
  EXPECT_EQ(leaving(), Lines{});
}

TEST_F(DefragmenterRequestTest, AsksAgainWhereTheApiServerDoesNotAnswer) {
  request("r", {"on-b"});
  refuse({.method = kube::Method::kGet, .path_ends = "/pods/on-b"}, 503, 1);
  look_for(500ms);
  EXPECT_EQ(leaving(), Lines{});
  look_for(5s);
  EXPECT_EQ(leaving(), Lines{"on-b"});
}

TEST_F(DefragmenterRequestTest, EndsWhereItIsWithdrawn) {
  add_one_on_each();
  request("r", {"on-b", "more-b"});
  look_for(1s);
  ASSERT_EQ(leaving().size(), 1U);
  write("");
  look_for(3s);
  EXPECT_EQ(plans("stopped"), 1);
  const std::string first = leaving().front();
  replace_by_next(first);
  arrive("next");
  look_for(600s);
  EXPECT_EQ(leaving(), Lines{}) << "the other one stays";
}

TEST_F(DefragmenterRequestTest, EndsWhenItsTimeIsOver) {
  rig_.end_pod("whole");
  wants_a_card("lower", -5);
  request("r", {"on-b"}, {"lower"});
  look_for(RequestPlans::kHelpless + 4s);
  EXPECT_EQ(progress().state, MoveState::kStopped) << "on-b has a higher priority";
  rig_.denials.forget(uid("lower"));
  request("again", {"on-b"}, {"lower"}, 30s);
  look_for(29s);
  EXPECT_EQ(progress(), (MoveProgress{.id = "again"})) << "kube-scheduler has not asked about it";
  look_for(5s);
  EXPECT_EQ(progress().state, MoveState::kStopped);
  EXPECT_EQ(progress().message, "its time is over");
}

TEST_F(DefragmenterRequestTest, BeginsNoMoveIfItsTimeEndsWhileItIsPlanned) {
  request("r", {"on-b"}, {"whole"}, 10s);
  while_planning_ = [this] { rig_.clock.advance(10s); };
  look_for(60s);
  EXPECT_EQ(leaving(), Lines{});
  EXPECT_EQ(progress().message, "its time is over");
}

TEST_F(DefragmenterRequestTest, BeginsNoMoveIfItIsWithdrawnWhileItIsPlanned) {
  request("r", {"on-b"});
  while_planning_ = [this] {
    rig_.ask({.method = kube::Method::kDelete, .path = cluster::move_requests_path("system")});
  };
  look_for(60s);
  EXPECT_EQ(leaving(), Lines{});
  EXPECT_EQ(plans("stopped"), 1);
  EXPECT_EQ(rig_.ledger.apply([](const auto& now) { return now.reserved_count(); }), 0U);
}

TEST_F(DefragmenterRequestTest, BeginsNoMoveWhereItCannotBeReadAnew) {
  request("r", {"on-b"});
  while_planning_ = [this] { refuse(kReads, 503, 3); };
  look_for(500ms);
  EXPECT_EQ(leaving(), Lines{});
  look_for(5s);
  EXPECT_EQ(leaving(), Lines{"on-b"});
}

TEST_F(DefragmenterRequestTest, EndsWhereAPodIsTakenOutOfIt) {
  add_one_on_each();
  request("r", {"on-b", "more-b"});
  look_for(1s);
  ASSERT_EQ(leaving().size(), 1U);
  const std::string first = leaving().front();
  replace_by_next(first);
  bind_next("next", nodes_for("next").substr(2, 1));
  request("r", {first == "on-b" ? "on-a" : "more-a"});
  look_for(600s);
  EXPECT_EQ(leaving(), Lines{}) << "with the id of the last one";
}

TEST_F(DefragmenterRequestTest, MovesNothingBeforeItIsReported) {
  request("r", {"on-b"});
  refuse(kReports, 403);
  look_for(700s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U);
  EXPECT_LE(rig_.api.calls(kReports).size(), 331U) << "and no more after its time";
}

TEST_F(DefragmenterRequestTest, CountsPodsWithANodeAndNoOthers) {
  request("r", {"on-b"}, {"whole"});
  rig_.end_pod("whole");
  look_for(5s);
  EXPECT_EQ(progress().state, MoveState::kStopped);
  EXPECT_EQ(progress().placed, 0U);
  EXPECT_EQ(progress().message, "1 of the waiting pods no longer exists");
}

TEST_F(DefragmenterRequestTest, GoesOnForOthersIfOnePodGetsRoomOtherwise) {
  wants_a_card("other");
  request("r", {"on-b"}, {"whole", "other"});
  look_for(1s);
  ASSERT_EQ(leaving(), Lines{"on-b"});
  const bool is_whole = json_at(rig_.read("whole"), "status.nominatedNodeName") == "b";
  rig_.end_pod(is_whole ? "whole" : "other");
  look_for(5s);
  EXPECT_EQ(progress().state, MoveState::kRunning);
}

TEST_F(DefragmenterRequestTest, KeepsTheRoomThatAllItsMovesHaveMade) {
  request("r", {"on-b"}, {"whole"}, 30s);
  look_for(1s);
  replace("on-b");
  arrive("on-b-next");
  look_for(6s);
  write("");  // withdrawn when there is nothing left to stop
  look_for(3s);
  EXPECT_EQ(nodes_for("whole"), R"(["b"])");
  pod("thief", "0.5", "");
  EXPECT_NE(json_at(verbs().filter(ask("thief", R"(["b"])")), "NodeNames"), R"(["b"])");
}

TEST_F(DefragmenterRequestTest, IsDoneIfItsTimeEndsWhileThePodComes) {
  request("r", {"on-b"}, {"whole"}, 10s);
  look_for(1s);
  replace("on-b");
  arrive("on-b-next");
  look_for(9s);
  EXPECT_EQ(progress().state, MoveState::kRunning) << "nothing is left to begin";
  bind_next("whole", "b");
  look_for(5s);
  EXPECT_EQ(progress(),
            (MoveProgress{.id = "r", .state = MoveState::kDone, .evicted = 1, .placed = 1}));
}

TEST_F(DefragmenterRequestTest, SaysWhatHinderedIt) {
  refuse(kEvictions, 403);
  request("r", {"on-b"}, {"whole"}, 60s);
  look_for(50s);
  EXPECT_THAT(progress().message, HasSubstr("would not be evicted"));
  EXPECT_LE(rig_.api.calls(kEvictions).size(), 6U);
  look_for(15s);
  EXPECT_EQ(progress().state, MoveState::kStopped);
  EXPECT_THAT(progress().message, HasSubstr("its time is over; last: "));
}

TEST_F(DefragmenterRequestTest, ReadsAllAnewBeforeTheNextMove) {
  add_one_on_each();
  request("r", {"on-b", "more-b"});
  defragmenter_->look();
  ASSERT_EQ(leaving().size(), 1U);
  const std::string first = leaving().front();
  replace_by_next(first);
  patch_node("b", R"({"unschedulable":true})");
  arrive("next");
  look_for(60s);
  EXPECT_EQ(leaving(), Lines{}) << "the waiting pod may not have b any more";
}

TEST_F(DefragmenterRequestTest, CountsAPodThatHasEndedSince) {
  wants_a_card("other");
  rig_.denials.forget(uid("other"));
  request("r", {"on-b"}, {"whole", "other"});
  look_for(1s);
  replace("on-b");
  arrive("on-b-next");
  bind_next("whole", "b");
  look_for(5s);
  EXPECT_EQ(progress().placed, 1U);
  rig_.end_pod("whole");
  look_for(5s);
  EXPECT_EQ(progress().placed, 1U);
  EXPECT_EQ(progress().state, MoveState::kRunning) << "the other one waits";
}

TEST_F(DefragmenterRequestTest, TriesPodsOfALowerPriorityToo) {
  pod("urgent", "1", "", 5);
  EXPECT_EQ(json_at(verbs().filter(ask("urgent", R"(["a"])")), "NodeNames"), "[]");
  request("r", {"on-b"}, {"urgent", "whole"});
  look_for(10s);
  EXPECT_EQ(leaving(), Lines{"on-b"}) << "for whole: urgent may have node a alone";
  EXPECT_EQ(json_at(rig_.read("whole"), "status.nominatedNodeName"), "b");
}

TEST_F(DefragmenterRequestTest, ReadsAllAnewIfTheFirstMoveHasToWait) {
  request("r", {"on-b"});
  while_planning_ = [this] { refuse(kReads, 503, 3); };
  look_for(500ms);
  patch_node("b", R"({"unschedulable":true})");  // the waiting pod's
  look_for(60s);
  EXPECT_EQ(leaving(), Lines{});
}

TEST_F(DefragmenterRequestTest, EndsIfThePodMayNotBeNominated) {
  request("r", {"on-b"});
  refuse({.method = kube::Method::kPatch, .path_ends = "/whole/status"}, 403);
  look_for(5s);
  EXPECT_EQ(progress().state, MoveState::kStopped);
  EXPECT_THAT(progress().message, HasSubstr("was not nominated"));
  EXPECT_EQ(leaving(), Lines{});
}

TEST_F(DefragmenterRequestTest, LetsOthersMoveWhileItWaits) {
  make({.enabled = true, .requests_ns = "system"});
  wants_a_card("other");
  rig_.denials.forget(uid("other"));
  request("r", {"on-b"}, {"other"}, 3'600s);
  look_for(62s);
  EXPECT_EQ(leaving().size(), 1U) << "for the pod whole";
  EXPECT_EQ(progress(), (MoveProgress{.id = "r"}));
}

TEST_F(DefragmenterRequestTest, TakesNoneThatIsOverOrTooLongOrNotOne) {
  request("over", {"on-b"}, {"whole"}, -1s);
  look_for(5s);
  EXPECT_EQ(progress().state, MoveState::kStopped);
  EXPECT_THAT(progress().message, HasSubstr("was over when it was read"));
  const std::size_t reports = rig_.api.calls(kReports).size();
  write("{");
  look_for(5s);
  EXPECT_EQ(rig_.api.calls(kReports).size(), reports);
  request("hour", {"on-b"}, {"whole"}, 3'602s);
  look_for(500ms);
  EXPECT_EQ(progress().state, MoveState::kRunning) << "clocks differ";
  rig_.api.plan().set({});
}

TEST_F(DefragmenterRequestTest, TakesNoneForHours) {
  request("long", {"on-b"}, {"whole"}, 4'000s);
  look_for(5s);
  EXPECT_EQ(progress().state, MoveState::kStopped);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U);
}

TEST_F(DefragmenterRequestTest, TheNextLeaderGoesOn) {
  add_one_on_each();
  request("r", {"on-b", "more-b"});
  look_for(3s);  // so that it is reported
  ASSERT_EQ(leaving().size(), 1U);
  const std::string first = leaving().front();
  make(on_request());  // another process, which knows nothing of this one's
  rig_.promises.withdraw(uid("whole"), RoomMaker::kDefragmenter);
  rig_.move_places.end(uid(first));
  rig_.move_places.end_unused();
  rig_.ask(testing::write_request(kube::Method::kPatch, "/api/v1/namespaces/ml/pods/whole/status",
                                  R"({"status":{"nominatedNodeName":null}})"));
  rig_.show("whole");
  rig_.show(first);
  look_for(RequestPlans::kHelpless + 10s);
  EXPECT_EQ(progress(), (MoveProgress{.id = "r", .evicted = 1})) << "the first is still leaving";
  replace_by_next(first);
  bind_next("next", "a");
  ask_again("whole");
  look_for(13s);
  EXPECT_EQ(leaving().size(), 1U) << "the second";
  EXPECT_EQ(progress(), (MoveProgress{.id = "r", .evicted = 2}));
}

TEST_F(DefragmenterRequestTest, ReportsAgainWhatWasNotWritten) {
  request("r", {"on-b"});
  refuse(kReports, 500, 2);
  look_for(1s);
  EXPECT_EQ(progress().id, "");
  look_for(5s);
  EXPECT_EQ(progress().id, "r");
}

TEST_F(DefragmenterRequestTest, AreTakenOnlyWhereTheyAreOn) {
  make({});
  request("r", {"on-b"});
  look_for(10s);
  EXPECT_EQ(rig_.api.calls({.path_ends = "/tangram-defrag"}).size(), 0U);
}

}  // namespace
}  // namespace tangram::extender
