#include "cluster/views.hpp"
#include "tests/extender/scheduling/resizer_fixture.hpp"

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::Fault;

TEST_F(ResizerTest, LeavesAPodThatHasWhatItRequests) {
  look();
  annotate("p", R"({"example.com/more":"1"})");
  look();
  EXPECT_EQ(writes(), 0U);
  EXPECT_EQ(grant().revision, 0);
}

TEST_F(ResizerTest, WritesTheNextRevisionOfTheSameGrant) {
  const model::Grant before = grant();
  request("0.7");
  EXPECT_EQ(state(), "Proposed");
  look();
  const model::Grant after = grant();
  EXPECT_EQ(after.revision, 1);
  EXPECT_TRUE(model::revises(after, before));
  EXPECT_EQ(granted(), 700);
  EXPECT_EQ(after.containers[0].cards[0].former, before.containers[0].cards[0].amounts());
  EXPECT_EQ(state(), "InProgress");
  EXPECT_EQ(used(), 700);
  applied(1);
  look();
  EXPECT_EQ(state(), "");
  EXPECT_EQ(writes(), 1U);
  EXPECT_EQ(results("written"), 1);
}

TEST_F(ResizerTest, WhatAShrunkPodReleasesIsFreeOnceTheAgentHasAppliedIt) {
  request("0.1");
  look();
  EXPECT_EQ(granted(), 100);
  EXPECT_EQ(used(), 500);
  applied(1);
  EXPECT_EQ(used(), 100);
}

TEST_F(ResizerTest, OneRevisionAtATimeAndTheLastRequestWins) {
  request("0.7");
  look();
  request("0.8");
  look();
  request("0.2");
  look();
  EXPECT_EQ(grant().revision, 1);
  EXPECT_EQ(state(), "InProgress");
  applied(1);
  look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(granted(), 200);
  EXPECT_EQ(used(), 700);
  applied(2);
  look();
  EXPECT_EQ(used(), 200);
  EXPECT_EQ(state(), "");
}

TEST_F(ResizerTest, WithoutRoomItIsDeferredUntilThereIsSome) {
  bind("q", "0.4");
  request("0.7");
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(state(), "Deferred");
  EXPECT_EQ(writes(), 0U);
  EXPECT_EQ(told_, std::vector<std::string>{"p ResizeDeferred: the resize of the pod is deferred: "
                                            "its card has no room for it now"});
  rig_.end_pod("q");
  look();
  EXPECT_EQ(granted(), 700);
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(ResizerTest, RoomGoesToTheEarlierRequest) {
  bind("q", "0.2");
  bind("r", "0.3");
  request("0.7", "q");  // the first
  look();
  request("0.6");
  look();
  EXPECT_EQ(granted(), 500);
  rig_.end_pod("r");
  // 300 are free: enough for p, and not for q.
  look();
  EXPECT_EQ(granted("q"), 200);
  EXPECT_EQ(granted(), 600);
  applied(1);
  request("0.3");
  look();
  applied(2);
  // 500 are free: enough for one of them.
  request("0.5");
  look();
  rig_.show("q");
  EXPECT_EQ(granted("q"), 700);
  EXPECT_EQ(state(), "Deferred");
}

TEST_F(ResizerTest, WhatTheAgentRefusesAsInUseIsInfeasibleUntilTheRequestChanges) {
  request("0.1");
  look();
  refused(1, model::ResizeRefusal::kInUse);
  look();
  look();
  EXPECT_EQ(state(), "Infeasible");
  EXPECT_EQ(used(), 500);
  EXPECT_EQ(writes(), 1U);
  request("0.4");
  look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(granted(), 400);
  EXPECT_EQ(grant().containers[0].cards[0].former->compute, MilliGpu(500));
  answer({{uid_, {.applied = 2}}});
  EXPECT_EQ(used(), 400);
}

TEST_F(ResizerTest, TakesBackWhatTheAgentHasNoRoomForAndTriesAgainLater) {
  request("0.7");
  look();
  refused(1, model::ResizeRefusal::kNoRoom);
  EXPECT_EQ(state(), "Deferred");
  look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(granted(), 500);
  EXPECT_EQ(used(), 700) << "until the agent has applied that, too";
  applied(2);
  EXPECT_EQ(used(), 500);
  look();
  EXPECT_EQ(writes(), 2U);
  clock().advance(10s);
  look();
  EXPECT_EQ(granted(), 700);
}

TEST_F(ResizerTest, WaitsLongerAfterEveryTakeBack) {
  request("0.7");
  int revision = 0;
  for (const auto wait : {10s, 20s, 30s, 30s}) {
    look();
    EXPECT_EQ(grant().revision, ++revision);
    EXPECT_EQ(granted(), 700);
    refused(revision, model::ResizeRefusal::kNoRoom);
    look();
    EXPECT_EQ(grant().revision, ++revision);
    EXPECT_EQ(granted(), 500);
    applied(revision);
    clock().advance(wait - 2s);  // one has passed
    look();
    EXPECT_EQ(grant().revision, revision) << wait.count();
  }
  request("0.8");  // a new one is tried at once
  look();
  EXPECT_EQ(granted(), 800);
}

TEST_F(ResizerTest, TakesBackWhatCannotBeChangedOnce) {
  request("0.7");
  look();
  refused(1, model::ResizeRefusal::kCannotChange);
  look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(granted(), 500);
  applied(2);
  EXPECT_EQ(used(), 500) << "the room is others' again";
  for (int i = 0; i < 60; ++i) look();
  EXPECT_EQ(writes(), 2U);
  EXPECT_EQ(state(), "Infeasible");
  EXPECT_EQ(told_.size(), 1U);
  request("0.6");
  look();
  EXPECT_EQ(granted(), 600);
}

TEST_F(ResizerTest, TakesBackAlsoWhenTheRequestIsNoLongerValid) {
  request("0.7");
  look();
  request("much");
  look();
  EXPECT_EQ(state(), "InProgress");
  refused(1, model::ResizeRefusal::kNoRoom);
  look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(granted(), 500);
  applied(2);
  EXPECT_EQ(used(), 500);
  look();
  EXPECT_EQ(state(), "Infeasible");
  ASSERT_FALSE(told_.empty());
  EXPECT_NE(told_.back().find("no valid request"), std::string::npos);
  request("0.6");
  look();
  EXPECT_EQ(granted(), 600);
}

TEST_F(ResizerTest, SaysWhyItIsInfeasible) {
  annotate("p", R"({"tangram.dev/gpu-fraction":null,"tangram.dev/gpu-mem":"81Gi"})");
  look();
  annotate("p", R"({"tangram.dev/gpu-mem":"8Gi","tangram.dev/gpu-count":"2"})");
  look();
  EXPECT_EQ(writes(), 0U);
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_NE(told_[0].find("its card is smaller"), std::string::npos) << told_[0];
  EXPECT_NE(told_[1].find("only the amounts of shares can change"), std::string::npos) << told_[1];
}

TEST_F(ResizerTest, OnlyALeaderWrites) {
  rig_.may_write = false;
  request("0.7");
  look();
  EXPECT_EQ(writes(), 0U);
  EXPECT_EQ(used(), 500);
  rig_.may_write = true;
  look();
  EXPECT_EQ(granted(), 700);
}

TEST_F(ResizerTest, TheNextLeaderReportsOnceWhatIsSoThen) {
  bind("q", "0.4");
  rig_.may_write = false;
  request("0.7");
  look();
  EXPECT_TRUE(told_.empty()) << "another one leads";
  rig_.may_write = true;
  look();
  look();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("ResizeDeferred"), std::string::npos);
  rig_.may_write = false;
  look();
  rig_.may_write = true;
  look();
  EXPECT_EQ(told_.size(), 1U) << "it has said so itself";
  rig_.may_write = false;
  annotate("p", R"({"tangram.dev/gpu-count":"2"})");
  look();
  rig_.may_write = true;
  look();
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_NE(told_[1].find("ResizeInfeasible"), std::string::npos);
}

TEST_F(ResizerTest, APodThatChangedSinceIsReadAnew) {
  request("0.7");
  rig_.api.will_answer(kRevisionWrite, 409);
  look();
  EXPECT_EQ(used(), 500);
  EXPECT_EQ(results("refused"), 1);
  look();
  EXPECT_EQ(granted(), 700);
}

TEST_F(ResizerTest, AWriteThatWasAppliedWithoutAnAnswerCounts) {
  request("0.7");
  rig_.api.will(kRevisionWrite, Fault::Kind::kLoseAnswer);
  resizer_.look();
  EXPECT_EQ(used(), 700) << "it may have been applied";
  clock().advance(1s);
  resizer_.look();
  EXPECT_EQ(writes(), 1U);
  rig_.show("p");
  EXPECT_EQ(granted(), 700);
  EXPECT_EQ(used(), 700);
  applied(1);
  look();
  EXPECT_EQ(state(), "");
  EXPECT_TRUE(resizer_.finish());
}

TEST_F(ResizerTest, AWriteWithoutAnAnswerIsSentAgain) {
  request("0.7");
  rig_.api.will(kRevisionWrite, Fault::Kind::kLoseBefore);
  look();
  EXPECT_EQ(grant().revision, 0);
  EXPECT_EQ(used(), 700);
  look();
  EXPECT_EQ(grant().revision, 1);
  EXPECT_EQ(granted(), 700);
}

TEST_F(ResizerTest, AWriteWithoutAnAnswerIsGivenUpOnceThePodHasChanged) {
  request("0.7");
  rig_.api.will(kRevisionWrite, Fault::Kind::kLoseBefore);
  look();
  request("0.5");
  look();
  EXPECT_EQ(used(), 700) << "somebody may have written over it, after an agent has seen it";
  rig_.clock.advance(70s);
  look();
  EXPECT_EQ(used(), 500);
  EXPECT_EQ(writes(), 1U);
  EXPECT_EQ(state(), "");
}

TEST_F(ResizerTest, AReplicaThatNoLongerLeadsWaitsUntilNothingCanComeAnyMore) {
  request("0.7");
  rig_.api.will(kRevisionWrite, Fault::Kind::kLoseBefore);
  look();
  rig_.may_write = false;
  EXPECT_FALSE(resizer_.finish());
  for (int i = 0; i < 60; ++i) look();
  EXPECT_EQ(used(), 700);
  for (int i = 0; i < 60; ++i) look();
  EXPECT_EQ(used(), 500);
  EXPECT_TRUE(resizer_.finish());
  EXPECT_EQ(writes(), 1U);
}

TEST_F(ResizerTest, WritesAgainOnceItLeadsAgain) {
  rig_.may_write = false;
  EXPECT_TRUE(resizer_.finish());
  request("0.7");
  look();
  EXPECT_EQ(writes(), 0U);
  rig_.may_write = true;
  look();
  EXPECT_EQ(granted(), 700);
}

TEST_F(ResizerTest, SendsNothingOnceItsLeaseIsTooShort) {
  request("0.7");
  may_write_times_ = 1;  // the read takes the rest of it
  look();
  EXPECT_EQ(writes(), 0U);
  EXPECT_EQ(used(), 500);
}

TEST_F(ResizerTest, TakingBackIsTriedUntilItIsDone) {
  request("0.7");
  look();
  refused(1, model::ResizeRefusal::kNoRoom);
  rig_.api.will_answer(kRevisionWrite, 409);
  look();
  EXPECT_EQ(grant().revision, 1);
  look();
  look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(granted(), 500);
}

TEST_F(ResizerTest, RoomOfAPodThatPreemptedOthersIsNotGivenAway) {
  rig_.add_pod("urgent",
               {{"tangram.dev/gpu-fraction", "0.4"}, {"tangram.dev/gpu-isolation", "time-slice"}});
  rig_.nominate("urgent", "n");
  request("0.7");
  look();
  EXPECT_EQ(writes(), 0U);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("ResizeDeferred"), std::string::npos);
  rig_.end_pod("urgent");
  look();
  EXPECT_EQ(granted(), 700);
}

TEST_F(ResizerTest, APodThatWasListedBeforeItsNodeIsLookedAtOnce) {
  Rig fresh;
  testing::send_list(fresh.pods, rig_.list("/api/v1/pods"));
  EXPECT_EQ(fresh.table.resizable().size(), 1U);
  testing::send_list(fresh.nodes, rig_.list("/api/v1/nodes"));
  Resizer resizer({}, {.api = rig_.api,
                       .ledger = fresh.ledger,
                       .pods = fresh.table,
                       .promises = fresh.promises,
                       .policies = fresh.policies,
                       .clock = rig_.clock,
                       .may_write = [](std::chrono::milliseconds) { return true; },
                       .sign = model::Signer(),
                       .check = model::SignatureCheck(),
                       .report = nullptr});
  resizer.look();
  EXPECT_TRUE(fresh.table.resizable().empty());
  EXPECT_EQ(writes(), 0U);
}

TEST_F(ResizerTest, APodThatEndsMeanwhileKeepsNothing) {
  request("0.7");
  rig_.api.will(kRevisionWrite, Fault::Kind::kLoseBefore);
  resizer_.look();
  rig_.end_pod("p");
  EXPECT_EQ(used(), 0);
  clock().advance(1s);
  resizer_.look();
  EXPECT_TRUE(resizer_.finish());
  EXPECT_EQ(used(), 0);
}

// ---- Writes that the API server rejects.

class RejectedTest : public ResizerTest {
 protected:
  void reject(int status, std::uint64_t times = 1) {
    rig_.api.plan().add({.match = kRevisionWrite,
                         .fault = {.kind = Fault::Kind::kAnswer, .status = status},
                         .times = times});
  }
  std::string explained() {
    return cluster::explain_json("ml", "p", *rig_.ledger.snapshot(), rig_.table, rig_.policies, {})
        .value();
  }
  bool is_refused() { return !rig_.table.refused_resize(uid_).empty(); }
};

TEST_F(RejectedTest, IsInfeasibleUntilItIsTaken) {
  for (const int status : {400, 403, 422}) {
    request(status == 403 ? "0.8" : "0.7");
    reject(status);
    resizer_.look();
    EXPECT_TRUE(is_refused()) << status;
    EXPECT_EQ(used(), 500);
    EXPECT_NE(explained().find(R"("state":"Infeasible","reason":"the API server does not let)"),
              std::string::npos)
        << explained();
    ASSERT_FALSE(told_.empty());
    EXPECT_NE(told_.back().find("p ResizeInfeasible: "), std::string::npos);
    EXPECT_NE(told_.back().find("an admission webhook or policy"), std::string::npos);
    const testing::Exposition metrics(exposition({&resizer_}));
    EXPECT_EQ(metrics.value("tangram_resizing_pods{state=\"Infeasible\"}"), 1);
    request("0.5");
    look();
    EXPECT_FALSE(is_refused()) << "nothing is to be written";
  }
  EXPECT_EQ(told_.size(), 3U);
  request("0.7");
  reject(403, 2);
  look();
  look();
  look();
  EXPECT_EQ(told_.size(), 4U) << "once";
  EXPECT_FALSE(is_refused());
  EXPECT_EQ(granted(), 700);
  EXPECT_NE(explained().find("InProgress"), std::string::npos);
}

TEST_F(RejectedTest, WhatMayBeTakenAtOnceIsNotInfeasible) {
  for (const int status : {404, 409, 429, 500}) {
    request(status == 409 ? "0.8" : "0.7");
    reject(status);
    resizer_.look();
    EXPECT_FALSE(is_refused()) << status;
    EXPECT_TRUE(told_.empty());
    request("0.5");
    look();
  }
}

TEST_F(RejectedTest, StaysSoWhileThePodChangesOtherwise) {
  request("0.7");
  reject(403, 3);
  resizer_.look();
  annotate("p", R"({"example.com/more":"1"})");
  resizer_.look();
  EXPECT_TRUE(is_refused());
  EXPECT_NE(explained().find("Infeasible"), std::string::npos);
  EXPECT_EQ(told_.size(), 1U);
  rig_.end_pod("p");
  EXPECT_FALSE(is_refused());
}

TEST_F(RejectedTest, DoesNotKeepTheRoomOfAnEarlierWriteWithoutAnAnswer) {
  request("0.7");
  rig_.api.will(kRevisionWrite, Fault::Kind::kLoseBefore);
  look();
  reject(403, 100);
  for (int i = 0; i < 60; ++i) look();
  EXPECT_EQ(used(), 700) << "it may still be applied";
  for (int i = 0; i < 60; ++i) look();
  EXPECT_EQ(used(), 500);
  EXPECT_TRUE(resizer_.finish());
  EXPECT_TRUE(is_refused());
}

TEST_F(RejectedTest, ARejectionAfterWritesWithoutAnAnswerIsSaidAsSuch) {
  request("0.7");
  rig_.api.plan().add(
      {.match = kRevisionWrite, .fault = {.kind = Fault::Kind::kLoseBefore}, .times = 4});
  for (int i = 0; i < 4; ++i) look();
  reject(403, 100);
  for (int i = 0; i < 10; ++i) look();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("does not let the extender write"), std::string::npos) << told_[0];
}

TEST_F(RejectedTest, SaysThatItsWritesHaveNoAnswerAndGivesTheirRoomBack) {
  request("0.7");
  rig_.api.plan().add(
      {.match = kRevisionWrite, .fault = {.kind = Fault::Kind::kLoseBefore}, .times = 6});
  for (int i = 0; i < 30; ++i) look();
  EXPECT_EQ(writes(), 5U);
  EXPECT_EQ(used(), 700);
  EXPECT_TRUE(is_refused());
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("does not say whether"), std::string::npos) << told_[0];
  for (int i = 0; i < 60; ++i) look();
  EXPECT_EQ(used(), 500) << "it cannot come any more";
  for (int i = 0; i < 150; ++i) look();
  EXPECT_EQ(writes(), 7U) << "once without an answer, and once with one";
  EXPECT_EQ(granted(), 700);
  EXPECT_EQ(used(), 700);
  applied(grant().revision);
  look();
  EXPECT_EQ(state(), "");
  EXPECT_FALSE(is_refused());
}

}  // namespace
}  // namespace tangram::extender
