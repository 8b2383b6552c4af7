#include "tests/extender/scheduling/verbs_fixture.hpp"
#include "tests/testing/pod_group_text.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::json_at;

/// Three nodes with a card each.
class VerbsGroupTest : public VerbsTest {
 protected:
  /// A gang of whole cards, of which all members must run.
  void gang(const std::string& name, int members) { gang_of(name, members, members); }
  void gang_of(const std::string& name, int members, int min_count) {
    rig_.pod_groups.change(kube::EventType::kAdded, testing::pod_group_json(name, min_count));
    for (int i = 0; i < members; ++i) {
      testing::PodText pod;
      pod.name = name + std::to_string(i);
      pod.annotations = {{"tangram.dev/gpu-fraction", "1"}};
      pod.group = name;
      rig_.add_pod(pod);
      rig_.show(pod.name);
    }
  }
  /// By its PodGroup's condition.
  void say_that_it_failed(const std::string& name, const std::string& why) {
    rig_.pod_groups.change(kube::EventType::kModified, testing::pod_group_json(name, 3, why));
  }
  std::string filter(const std::string& pod, const std::string& names = R"(["a","b","c"])") {
    return verbs(short_list_).filter(ask(pod, names));
  }
  std::string nodes_for(const std::string& pod) { return json_at(filter(pod), "NodeNames"); }
  std::size_t reserved() {
    return rig_.ledger.apply([](const model::Ledger& ledger) { return ledger.reserved_count(); });
  }
  void pass(milliseconds time) {
    rig_.clock.advance(time);
    rig_.ledger.apply([](model::Ledger& ledger) { ledger.expire_reservations(); });
  }
  std::string uid(const std::string& pod) { return json_at(rig_.read(pod), "metadata.uid"); }
  cluster::Wait told(const std::string& pod) { return *rig_.table.last_answer(uid(pod)); }

  std::size_t short_list_ = 1;
};

TEST_F(VerbsGroupTest, MembersSeeEachOther) {
  gang("g", 3);
  EXPECT_EQ(nodes_for("g0"), R"(["a"])");
  EXPECT_EQ(nodes_for("g1"), R"(["b"])");
  EXPECT_EQ(nodes_for("g2"), R"(["c"])");
  EXPECT_EQ(reserved(), 3U);
  Verbs all = verbs(1);
  for (const auto& [pod, node] :
       {std::pair("g2", "c"), std::pair("g0", "a"), std::pair("g1", "b")}) {
    EXPECT_EQ(all.bind(bind_body(pod, uid(pod), node), rig_.in_time()).outcome, BindOutcome::kBound)
        << pod;
  }
}

TEST_F(VerbsGroupTest, AMemberGetsOneNodeHoweverManyNamesAreKept) {
  short_list_ = 0;
  gang("g", 2);
  EXPECT_EQ(nodes_for("g0"), R"(["a"])");
  EXPECT_EQ(nodes_for("g1"), R"(["b"])");
}

TEST_F(VerbsGroupTest, AGroupThatDoesNotFitReleasesAllAtOnceAndIsUnschedulable) {
  gang("g", 5);
  for (const char* pod : {"g0", "g1", "g2"}) EXPECT_NE(nodes_for(pod), "[]");
  EXPECT_EQ(reserved(), 3U);
  const std::string reply = filter("g3");
  EXPECT_EQ(json_at(reply, "NodeNames"), "[]");
  EXPECT_EQ(json_at(reply, "Error"), "") << "an Error ends the attempt";
  EXPECT_EQ(reserved(), 0U);
  const std::string last = filter("g4");
  EXPECT_EQ(json_at(last, "Error"), "");
  EXPECT_NE(json_at(last, "FailedAndUnresolvableNodes.a").find("members of its pod group"),
            std::string::npos)
      << last;
  EXPECT_EQ(reserved(), 0U) << "the attempt has failed";
  EXPECT_EQ(told("g0"), cluster::Wait::kGroup);
  EXPECT_EQ(told("g3"), cluster::Wait::kRoom) << "its own group has the room";
  EXPECT_EQ(told("g4"), cluster::Wait::kGroup);
  wait("single", "1");
  EXPECT_EQ(nodes_for("single"), R"(["a"])") << "another pod has the room now";
}

TEST_F(VerbsGroupTest, MembersThatAreNotNeededMayBeRefused) {
  gang_of("g", 4, 3);
  for (const char* pod : {"g0", "g1", "g2"}) EXPECT_NE(nodes_for(pod), "[]");
  EXPECT_EQ(nodes_for("g3"), "[]");
  EXPECT_EQ(reserved(), 3U);
}

TEST_F(VerbsGroupTest, TheNextAttemptBeginsAnew) {
  gang("g", 4);
  for (const char* pod : {"g0", "g1", "g2", "g3"}) (void)filter(pod);
  EXPECT_EQ(reserved(), 0U);
  pass(seconds(1));
  rig_.end_pod("g3");
  gang("h", 1);
  for (const char* pod : {"g0", "g1", "g2"}) EXPECT_NE(nodes_for(pod), "[]") << pod;
}

TEST_F(VerbsGroupTest, OnlyTheLastOfferOfAPlacementSearchCounts) {
  gang("g", 2);
  (void)filter("g0", R"(["a","b"])");
  (void)filter("g1", R"(["a","b"])");
  EXPECT_EQ(json_at(filter("g0", R"(["c"])"), "NodeNames"), R"(["c"])");
  EXPECT_EQ(reserved(), 1U);
  EXPECT_EQ(json_at(filter("g1", R"(["c"])"), "NodeNames"), "[]");
  EXPECT_EQ(reserved(), 0U);
}

TEST_F(VerbsGroupTest, ReservationsLastAsLongAsTheAttempt) {
  gang("g", 3);
  for (const char* pod : {"g0", "g1", "g2"}) {
    (void)filter(pod);
    pass(seconds(2));
  }
  EXPECT_EQ(reserved(), 3U);
  pass(seconds(1));
  EXPECT_EQ(reserved(), 0U);
}

TEST_F(VerbsGroupTest, AGroupOfWhichTheSchedulerSaysThatItFailedKeepsNothing) {
  gang("g", 3);
  (void)filter("g0");
  (void)filter("g1");
  say_that_it_failed("g", "no CPU");
  pass(cluster::kLeftAfterFailure);
  EXPECT_EQ(reserved(), 0U);
}

TEST_F(VerbsGroupTest, WhatTheSchedulerSaysLateOfAnEarlierAttemptEndsNoOther) {
  gang("g", 3);
  (void)filter("g0");
  say_that_it_failed("g", "no CPU");
  (void)filter("g1");
  pass(seconds(2));
  EXPECT_EQ(reserved(), 2U) << "the attempt goes on";
}

TEST_F(VerbsGroupTest, BindsOfTheGroupKeepTheRoomOfThoseThatWaitForAWorker) {
  gang("g", 2);
  (void)filter("g0");
  (void)filter("g1");
  pass(milliseconds(2'900));
  ASSERT_EQ(verbs(1).bind(bind_body("g0", uid("g0"), "a"), rig_.in_time()).outcome,
            BindOutcome::kBound);
  pass(milliseconds(2'900));
  EXPECT_EQ(reserved(), 1U);
}

TEST_F(VerbsGroupTest, YieldsToNoOtherPodWhileItsBindsMayBeUnderWay) {
  gang("g", 3);
  for (const char* pod : {"g0", "g1", "g2"}) (void)filter(pod);
  wait_urgently("urgent", "1");
  const std::string reply = filter("urgent");
  EXPECT_NE(json_at(reply, "Error").find("being given to another"), std::string::npos) << reply;
  EXPECT_EQ(reserved(), 3U);
}

TEST_F(VerbsGroupTest, TheNominatedNodeAloneIsNoAnswerForTheGroup) {
  gang("g", 3);
  gang("taker", 1);
  ASSERT_EQ(rig_.bind("taker0", uid("taker0"), "c").outcome, BindOutcome::kBound);
  rig_.show("taker0");
  gang("h", 2);
  rig_.nominate("h1", "c");
  (void)filter("h0");
  EXPECT_EQ(json_at(filter("h1", R"(["c"])"), "NodeNames"), "[]");
  EXPECT_EQ(reserved(), 1U) << "all nodes come next";
  EXPECT_EQ(nodes_for("h1"), R"(["b"])");
  EXPECT_EQ(reserved(), 2U);
}

TEST_F(VerbsGroupTest, TwoGroupsThatFitOneAtATimeDoNotShareTheRoom) {
  gang("g", 2);
  gang("h", 2);
  (void)filter("g0");
  (void)filter("g1");
  EXPECT_EQ(nodes_for("h0"), R"(["c"])");
  const std::string reply = filter("h1");
  EXPECT_EQ(json_at(reply, "NodeNames"), "[]");
  EXPECT_EQ(json_at(reply, "Error"), "");
  EXPECT_EQ(reserved(), 2U) << "those of the first";
  for (const auto& [pod, node] : {std::pair("g0", "a"), std::pair("g1", "b")}) {
    ASSERT_EQ(verbs(1).bind(bind_body(pod, uid(pod), node), rig_.in_time()).outcome,
              BindOutcome::kBound);
    rig_.show(pod);
  }
  for (const char* pod : {"g0", "g1"}) rig_.end_pod(pod);
  pass(seconds(1));
  EXPECT_NE(nodes_for("h0"), "[]");
  EXPECT_NE(nodes_for("h1"), "[]");
}

TEST_F(VerbsGroupTest, WhatOthersAreBeingBoundToIsNotOfferedToTheNextAttempt) {
  gang_of("g", 4, 2);
  for (const char* pod : {"g0", "g1", "g2"}) (void)filter(pod);
  ASSERT_EQ(verbs(1).bind(bind_body("g0", uid("g0"), "a"), rig_.in_time()).outcome,
            BindOutcome::kBound);
  const std::string reply = filter("g3");
  EXPECT_EQ(json_at(reply, "NodeNames"), "[]") << "two more binds are on their way";
  EXPECT_EQ(reserved(), 2U);
  for (const auto& [pod, node] : {std::pair("g1", "b"), std::pair("g2", "c")}) {
    EXPECT_EQ(verbs(1).bind(bind_body(pod, uid(pod), node), rig_.in_time()).outcome,
              BindOutcome::kBound)
        << pod;
  }
}

/// As for one whose third member lacks CPU: kube-scheduler does not ask about that one.
TEST_F(VerbsGroupTest, AGroupThatIsTriedForEverWithoutBindsKeepsNoRoomFromOthers) {
  gang("g", 3);
  wait("single", "1");
  gang("h", 2);
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_NE(nodes_for("g0"), "[]");
    EXPECT_NE(nodes_for("g1"), "[]");
  }
  EXPECT_NE(nodes_for("h0"), "[]") << "the third card";
  EXPECT_NE(nodes_for("h1"), "[]") << "one that is reserved for a group in doubt";
  EXPECT_NE(nodes_for("single"), "[]");
  EXPECT_EQ(reserved(), 3U);
}

TEST_F(VerbsGroupTest, OffersWithoutBindsSayNothingOfTheNodes) {
  gang("g", 2);
  EXPECT_EQ(nodes_for("g0"), R"(["a"])");
  EXPECT_EQ(nodes_for("g0"), R"(["a"])");
  EXPECT_EQ(nodes_for("g0"), R"(["a"])");
}

TEST_F(VerbsGroupTest, MembersThatCannotBeReadCountAsRefused) {
  gang("g", 2);
  rig_.ask(testing::write_request(
      kube::Method::kPatch, "/api/v1/namespaces/ml/pods/g1",
      R"({"metadata":{"annotations":{"tangram.dev/gpu-fraction":"half"}}})"));
  rig_.show("g1");
  (void)filter("g0");
  EXPECT_EQ(json_at(filter("g1"), "NodeNames"), "[]");
  EXPECT_EQ(reserved(), 0U);
}

TEST_F(VerbsGroupTest, ReservesForMembersEvenIfNothingIsHeldForOtherPods) {
  hold_ttl_ = milliseconds(0);
  gang("g", 2);
  EXPECT_EQ(nodes_for("g0"), R"(["a"])");
  EXPECT_EQ(nodes_for("g1"), R"(["b"])");
}

TEST_F(VerbsGroupTest, NobodyIsEvictedForOneMember) {
  const auto proposal = [&](const std::string& pod) {
    return R"({"Pod":)" + rig_.read(pod) + R"(,"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":")" +
           uid("low") + R"("}]}}})";
  };
  const std::string low = wait("low", "1");
  ASSERT_EQ(rig_.bind("low", low, "a").outcome, BindOutcome::kBound);
  rig_.show("low");
  for (const char* group : {"", "g"}) {
    testing::PodText pod;
    pod.name = std::string("urgent") + group;
    pod.annotations = {{"tangram.dev/gpu-fraction", "1"}};
    pod.priority = kUrgent;
    pod.group = group;
    rig_.add_pod(pod);
    rig_.show(pod.name);
  }
  EXPECT_NE(verbs(1).preempt(proposal("urgent")), R"({"NodeNameToMetaVictims":{}})");
  EXPECT_EQ(verbs(1).preempt(proposal("urgentg")), R"({"NodeNameToMetaVictims":{}})");
}

}  // namespace
}  // namespace tangram::extender
