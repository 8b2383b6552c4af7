#include "extender/scheduling/resizer.hpp"

#include "extender/health_routes.hpp"
#include "model/grant.hpp"
#include "tests/extender/rig.hpp"
#include "tests/testing/exposition.hpp"
#include "tests/testing/passing_api.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::Fault;

const testing::CallMatch kWrite{.method = kube::Method::kPatch, .path_ends = "/pods/p"};

/// One node "n" with one card of 80 GiB, and a pod "p" that was bound with half of it.
class ResizerTest : public ::testing::Test {
 protected:
  ResizerTest() {
    rig_.add_node("n");
    rig_.sync();
    uid_ = bind("p", "0.5");
  }
  std::string bind(const std::string& name, const std::string& fraction) {
    std::string uid = rig_.add_pod(name, {{"tangram.dev/gpu-fraction", fraction},
                                          {"tangram.dev/gpu-isolation", "time-slice"}});
    rig_.show(name);
    EXPECT_EQ(rig_.bind(name, uid, "n").error, "");
    rig_.show(name);
    return uid;
  }
  /// A user changes the pod's request, and the watch shows it.
  void request(const std::string& fraction, const std::string& pod = "p") {
    annotate(pod, R"({"tangram.dev/gpu-fraction":")" + fraction + "\"}");
  }
  void annotate(const std::string& pod, const std::string& annotations) {
    rig_.ask(testing::write_request(kube::Method::kPatch, "/api/v1/namespaces/ml/pods/" + pod,
                                    R"({"metadata":{"annotations":)" + annotations + "}}"));
    rig_.show(pod);
  }
  /// The node's agent answers.
  void answer(const model::ResizeAnswers& answers) {
    std::string text;
    json::Writer out(text);
    out.begin_object().key("metadata").begin_object().key("annotations").begin_object();
    out.member("tangram.dev/resizes", model::encode_resizes(answers));
    out.end_object().end_object().end_object();
    const auto node =
        rig_.ask(testing::write_request(kube::Method::kPatch, "/api/v1/nodes/n", text));
    rig_.nodes.change(kube::EventType::kModified, node.body);
  }
  void applied(int revision) { answer({{uid_, {.applied = revision}}}); }
  void refused(int revision, model::ResizeRefusal why) {
    answer({{uid_, {.applied = revision - 1, .refused = revision, .why = why}}});
  }
  void look() {
    resizer_.look();
    rig_.show("p");
    clock().advance(1s);
  }
  testing::ManualClock& clock() { return rig_.clock; }

  model::Grant grant(const std::string& pod = "p") { return rig_.grant_of(pod).value(); }
  std::int64_t granted(const std::string& pod = "p") {
    return grant(pod).containers[0].cards[0].compute.count();
  }
  std::int64_t used() { return rig_.used("n").count(); }
  std::size_t writes() { return rig_.api.calls(kWrite).size(); }
  std::string state() {
    const auto cluster = rig_.ledger.snapshot();
    const auto pod = rig_.table.find_resizable(uid_);
    const auto entry = rig_.entry(uid_);
    const auto resize =
        cluster::resize_of(*entry.allocation, pod ? &pod->request : nullptr, *cluster->find("n"));
    return resize ? std::string(to_string(resize->state)) : "";
  }
  double results(const std::string& result) {
    return testing::Exposition(exposition({&resizer_}))
        .value("tangram_resizes_total{result=\"" + result + "\"}");
  }

  Rig rig_;
  std::string uid_;
  std::vector<std::string> told_;
  int may_write_times_ = 1'000;
  Resizer resizer_{
      {},
      {.api = rig_.api,
       .ledger = rig_.ledger,
       .pods = rig_.table,
       .promises = rig_.promises,
       .policies = rig_.policies,
       .clock = rig_.clock,
       .may_write =
           [this](std::chrono::milliseconds) { return rig_.may_write && may_write_times_-- > 0; },
       .sign = model::Signer(),
       .check = model::SignatureCheck(),
       .report =
           [this](const cluster::PodName& pod, std::string_view reason,
                  const std::string& sentence) {
             told_.push_back(pod.name + " " + std::string(reason) + ": " + sentence);
           }}};
};

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

TEST_F(ResizerTest, APodThatChangedSinceIsReadAnew) {
  request("0.7");
  rig_.api.will_answer(kWrite, 409);
  look();
  EXPECT_EQ(used(), 500);
  EXPECT_EQ(results("refused"), 1);
  look();
  EXPECT_EQ(granted(), 700);
}

TEST_F(ResizerTest, AWriteThatWasAppliedWithoutAnAnswerCounts) {
  request("0.7");
  rig_.api.will(kWrite, Fault::Kind::kLoseAnswer);
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
  rig_.api.will(kWrite, Fault::Kind::kLoseBefore);
  look();
  EXPECT_EQ(grant().revision, 0);
  EXPECT_EQ(used(), 700);
  look();
  EXPECT_EQ(grant().revision, 1);
  EXPECT_EQ(granted(), 700);
}

TEST_F(ResizerTest, AWriteWithoutAnAnswerIsGivenUpOnceThePodHasChanged) {
  request("0.7");
  rig_.api.will(kWrite, Fault::Kind::kLoseBefore);
  look();
  request("0.5");
  look();
  EXPECT_EQ(used(), 500);
  look();
  EXPECT_EQ(writes(), 1U);
  EXPECT_EQ(state(), "");
}

TEST_F(ResizerTest, AReplicaThatNoLongerLeadsWaitsUntilNothingCanComeAnyMore) {
  request("0.7");
  rig_.api.will(kWrite, Fault::Kind::kLoseBefore);
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
  rig_.api.will_answer(kWrite, 409);
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
  rig_.api.will(kWrite, Fault::Kind::kLoseBefore);
  resizer_.look();
  rig_.end_pod("p");
  EXPECT_EQ(used(), 0);
  clock().advance(1s);
  resizer_.look();
  EXPECT_TRUE(resizer_.finish());
  EXPECT_EQ(used(), 0);
}

/// Grants that are put back: the API server's store was restored, or somebody wrote one that was
/// kept.
class PutBackTest : public ResizerTest {
 protected:
  /// A request whose revision the agent applies, and answers as it does: with what the container is
  /// held to, or without, as an older one.
  void resize(const std::string& fraction, bool with_amounts) {
    request(fraction);
    look();
    model::ResizeAnswer answer{.applied = grant().revision};
    if (with_amounts) answer.held["main"]["n-0"] = grant().containers[0].cards[0].amounts();
    this->answer({{uid_, answer}});
    look();
  }
  void put_back(const std::string& text) {
    std::string body;
    json::Writer out(body);
    out.begin_object().member("tangram.dev/gpu-grant", text).end_object();
    annotate("p", body);
  }
  /// Another extender starts. It knows only what stands in the API server.
  struct Started {
    explicit Started(Rig& before) {
      testing::send_list(rig.nodes, before.list("/api/v1/nodes"));
      testing::send_list(rig.pods, before.list("/api/v1/pods"));
    }
    Rig rig;
  };
};

TEST_F(PutBackTest, AnEarlierLargerOneIsReplacedByALaterRevision) {
  const std::string text = model::encode(grant());
  resize("0.1", true);
  EXPECT_EQ(used(), 100);
  put_back(text);
  EXPECT_EQ(used(), 100) << "the watch has shown a later one";
  Started after(rig_);
  const auto cluster = after.rig.ledger.snapshot();
  const auto pod = after.rig.table.find_resizable(uid_);
  ASSERT_NE(pod, nullptr);
  const auto allocation = after.rig.entry(uid_).allocation;
  EXPECT_EQ(allocation->revision, 0);
  const auto resize = cluster::resize_of(*allocation, &pod->request, *cluster->find("n"));
  ASSERT_TRUE(resize);
  EXPECT_EQ(resize->state, cluster::ResizeState::kProposed);
  const auto next = cluster::next_revision(*allocation, pod->request, *cluster->find("n"));
  EXPECT_EQ(next.revision, 2);
  EXPECT_EQ(next.containers[0].cards[0].compute, MilliGpu(100));
}

TEST_F(PutBackTest, AnEarlierSmallerOneHoldsWhatTheContainersAreHeldTo) {
  const std::string text = model::encode(grant());
  resize("0.9", true);
  put_back(text);
  Started after(rig_);
  EXPECT_EQ(after.rig.entry(uid_).allocation->revision, 0);
  EXPECT_EQ(after.rig.used("n"), MilliGpu(900));
  const std::string other =
      after.rig.add_pod("other", {{"tangram.dev/gpu-fraction", "0.5"},
                                  {"tangram.dev/gpu-isolation", "time-slice"}});
  after.rig.show("other");
  EXPECT_NE(after.rig.bind("other", other, "n").error, "");
  EXPECT_EQ(after.rig.used("n"), MilliGpu(900));
}

TEST_F(PutBackTest, FromAnOlderAgentTheGrantIsAllThatIsKnown) {
  const std::string text = model::encode(grant());
  resize("0.9", false);
  put_back(text);
  EXPECT_EQ(Started(rig_).rig.used("n"), MilliGpu(500));
}

TEST_F(PutBackTest, ARevisionThatWasReplacedBeforeTheAgentAppliedItIsWrittenAgain) {
  const std::string text = model::encode(grant());
  request("0.7");
  look();
  put_back(text);
  EXPECT_EQ(state(), "InProgress");
  EXPECT_EQ(grant().revision, 0);
  look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(granted(), 700);
  EXPECT_EQ(writes(), 2U);
  look();
  EXPECT_EQ(writes(), 2U) << "that is the agent's turn";
}

/// Somebody changes the time in the grant, which nothing else tells apart.
class ForgedTimeTest : public PutBackTest {
 protected:
  void forge() {
    model::Grant forged = grant();
    forged.issued_at = "2020-01-01T00:00:00Z";
    put_back(model::encode(forged));
  }
  const std::string issued_at_ = grant().issued_at;
};

TEST_F(ForgedTimeTest, RevisionsHaveTheTimeThatWasSeenFirst) {
  forge();
  request("0.7");
  look();
  EXPECT_EQ(grant().revision, 1);
  EXPECT_EQ(grant().issued_at, issued_at_);
}

TEST_F(ForgedTimeTest, ARevisionThatTheAgentRefusesForItIsWrittenAgain) {
  request("0.7");
  look();
  forge();
  refused(1, model::ResizeRefusal::kOtherGrant);
  look();
  EXPECT_EQ(grant().revision, 2);
  EXPECT_EQ(grant().issued_at, issued_at_);
  applied(2);
  EXPECT_EQ(state(), "");
}

TEST_F(ForgedTimeTest, IfItIsAllThatIsKnownTheResizeIsInfeasible) {
  forge();
  rig_.pods.change(kube::EventType::kDeleted, rig_.read("p"));  // what an extender forgets that ends
  rig_.show("p");
  request("0.7");
  look();
  EXPECT_EQ(grant().revision, 1);
  refused(1, model::ResizeRefusal::kOtherGrant);
  for (int i = 0; i < 5; ++i) look();
  EXPECT_EQ(state(), "Infeasible");
  EXPECT_EQ(writes(), 1U);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("does not take its grant for a revision"), std::string::npos);
}

}  // namespace
}  // namespace tangram::extender
