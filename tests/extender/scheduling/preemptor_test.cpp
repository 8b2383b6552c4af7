#include "tests/extender/scheduling/verbs_fixture.hpp"

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::json_at;

/// Pods that may evict others, and those that are in their way.
class PreemptorTest : public VerbsTest {
 protected:
  /// @returns its UID
  std::string bound(const std::string& name, const std::string& fraction, const std::string& node) {
    std::string uid = wait(name, fraction);
    EXPECT_EQ(rig_.bind(name, uid, node).outcome, BindOutcome::kBound);
    rig_.show(name);
    return uid;
  }
  std::string preempt(const std::string& pod, const std::string& nodes) {
    return verbs().preempt(R"({"Pod":)" + rig_.read(pod) + R"(,"NodeNameToMetaVictims":)" + nodes +
                           "}");
  }
  static std::string victims(const std::string& node, const std::string& uid) {
    return "\"" + node + R"(":{"Pods":[{"UID":")" + uid + R"("}],"NumPDBViolations":0})";
  }
  std::string names(const std::string& pod, const std::string& asked) {
    return json_at(verbs(1).filter(ask(pod, asked)), "NodeNames");
  }

  static constexpr const char* kNobody = R"({"NodeNameToMetaVictims":{}})";
};

// ---- After an Error kube-scheduler forgets a nomination.

TEST_F(PreemptorTest, GetsNoErrorOnceNominated) {
  wait_urgently("other", "0.7");
  wait_urgently("p", "0.7");
  EXPECT_EQ(names("other", R"(["a"])"), R"(["a"])");
  EXPECT_NE(json_at(verbs().filter(ask("p", R"(["a"])")), "Error"), "");
  rig_.nominate("p", "a");
  const std::string settling = verbs().filter(ask("p", R"(["a"])"));
  EXPECT_EQ(json_at(settling, "Error"), "");
  EXPECT_NE(json_at(settling, "FailedNodes.a").find("another"), std::string::npos) << settling;
  synced_ = false;
  const std::string early = verbs().filter(ask("p", R"(["a","b"])"));
  EXPECT_EQ(json_at(early, "Error"), "");
  EXPECT_NE(json_at(early, "FailedNodes.b").find("try again"), std::string::npos) << early;
}

TEST_F(PreemptorTest, EvictsNobodyWhileItsRoomIsBeingDecided) {
  const std::string less = bound("less", "1", "b");
  wait_urgently("other", "0.7");
  wait_urgently("p", "0.7");
  EXPECT_EQ(names("other", R"(["a"])"), R"(["a"])");
  rig_.nominate("p", "a");
  (void)verbs().filter(ask("p", R"(["a"])"));
  EXPECT_EQ(preempt("p", "{" + victims("b", less) + "}"), kNobody);
  rig_.clock.advance(3s);
  EXPECT_EQ(names("p", R"(["a"])"), R"(["a"])");
}

// ---- Reservations of less important pods.

TEST_F(PreemptorTest, GetsWhatIsReservedForALessImportantPod) {
  const std::string less = wait("less", "0.7");
  const std::string uid = wait_urgently("p", "0.7");
  EXPECT_EQ(names("less", R"(["a"])"), R"(["a"])");
  EXPECT_EQ(names("p", R"(["a"])"), R"(["a"])");
  EXPECT_EQ(rig_.bind("less", less, "a").outcome, BindOutcome::kNoRoom);
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
}

TEST_F(PreemptorTest, GetsNothingThatIsReservedForItsEqual) {
  const std::string equal = wait_urgently("equal", "0.7");
  wait_urgently("p", "0.7");
  EXPECT_EQ(names("equal", R"(["a"])"), R"(["a"])");
  EXPECT_NE(json_at(verbs().filter(ask("p", R"(["a"])")), "Error"), "");
  EXPECT_EQ(rig_.bind("equal", equal, "a").outcome, BindOutcome::kBound);
}

TEST_F(PreemptorTest, GetsNothingForWhichABindWasSent) {
  const std::string less = wait("less", "0.7");
  wait_urgently("p", "0.7");
  rig_.api.will(testing::binding_of("less"), testing::Fault::Kind::kLoseBefore);
  ASSERT_EQ(rig_.bind("less", less, "a").outcome, BindOutcome::kUnknown);
  EXPECT_NE(json_at(verbs().filter(ask("p", R"(["a"])")), "Error"), "");
}

TEST_F(PreemptorTest, LeavesReservationsAloneWhereAnotherNodeIsFree) {
  const std::string less = wait("less", "0.7");
  wait_urgently("p", "0.7");
  EXPECT_EQ(names("less", R"(["a"])"), R"(["a"])");
  EXPECT_EQ(names("p", R"(["a","b"])"), R"(["b"])");
  EXPECT_EQ(rig_.bind("less", less, "a").outcome, BindOutcome::kBound);
}

TEST_F(PreemptorTest, TakesAReservationAtItsBindToo) {
  const std::string less = wait("less", "0.7");
  const std::string uid = wait_urgently("p", "0.7");
  EXPECT_EQ(names("p", R"(["a"])"), R"(["a"])");
  rig_.clock.advance(3s);  // a volume is provisioned
  EXPECT_EQ(names("less", R"(["a"])"), R"(["a"])");
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kBound);
  EXPECT_EQ(rig_.bind("less", less, "a").outcome, BindOutcome::kNoRoom);
}

TEST_F(PreemptorTest, EvictsNobodyForRoomThatIsOnlyReserved) {
  const std::string there = bound("there", "0.5", "a");
  wait("less", "0.5");
  wait_urgently("p", "0.5");
  EXPECT_EQ(names("less", R"(["a"])"), R"(["a"])");
  EXPECT_EQ(preempt("p", R"({"a":{"Pods":[],"NumPDBViolations":0}})"), kNobody);
}

// ---- What /preempt promised.

TEST_F(PreemptorTest, KeepsTheRoomOfItsVictims) {
  const std::string victim = bound("victim", "1", "a");
  wait("less", "0.5");
  wait_urgently("p", "0.7");
  EXPECT_NE(preempt("p", "{" + victims("a", victim) + "}").find(victim), std::string::npos);
  rig_.end_pod("victim");  // and the API server has not shown the nomination yet
  EXPECT_EQ(names("less", R"(["a"])"), "[]");
  EXPECT_EQ(names("p", R"(["a"])"), R"(["a"])");
}

TEST_F(PreemptorTest, KeepsTheRoomForSomeSecondsOnly) {
  const std::string victim = bound("victim", "1", "a");
  wait("less", "0.5");
  wait_urgently("p", "0.7");
  (void)preempt("p", "{" + victims("a", victim) + "}");
  rig_.end_pod("victim");
  EXPECT_EQ(names("less", R"(["a"])"), "[]");
  rig_.clock.advance(Promises::kUntilAsked);
  EXPECT_EQ(names("less", R"(["a"])"), R"(["a"])");
}

TEST_F(PreemptorTest, EvictsNobodyElseWhileItsVictimsLeave) {
  const std::string victim = bound("victim", "1", "a");
  const std::string other = bound("other", "1", "b");
  wait_urgently("p", "0.7");
  (void)preempt("p", "{" + victims("a", victim) + "}");
  rig_.ask(testing::write_request(kube::Method::kDelete, "/api/v1/namespaces/ml/pods/victim", ""));
  rig_.show("victim");
  EXPECT_EQ(preempt("p", "{" + victims("b", other) + "}"), kNobody);
  const std::string reply = verbs().filter(ask("p", R"(["a"])"));
  EXPECT_EQ(json_at(reply, "Error"), "");
  EXPECT_NE(json_at(reply, "FailedNodes"), "{}") << reply;
}

// kube-scheduler deletes all of them before it tries the pod again, but its watch and ours show one
// after the other.
TEST_F(PreemptorTest, EvictsNobodyElseWhileTheFirstOfItsVictimsLeaves) {
  const std::string first = bound("first", "0.5", "a");
  const std::string second = bound("second", "0.5", "a");
  const std::string other = bound("other", "1", "b");
  wait_urgently("p", "0.7");
  const std::string both = R"("a":{"Pods":[{"UID":")" + first + R"("},{"UID":")" + second +
                           R"("}],"NumPDBViolations":0})";
  EXPECT_NE(preempt("p", "{" + both + "}").find(second), std::string::npos);
  rig_.ask(testing::write_request(kube::Method::kDelete, "/api/v1/namespaces/ml/pods/first", ""));
  rig_.show("first");
  EXPECT_EQ(preempt("p", "{" + victims("a", second) + "," + victims("b", other) + "}"), kNobody);
}

TEST_F(PreemptorTest, EvictsOthersIfNobodyLeft) {
  const std::string victim = bound("victim", "1", "a");
  const std::string other = bound("other", "1", "b");
  wait_urgently("p", "0.7");
  (void)preempt("p", "{" + victims("a", victim) + "}");
  EXPECT_NE(preempt("p", "{" + victims("b", other) + "}").find(other), std::string::npos);
}

TEST_F(PreemptorTest, NamesNoVictimWhoseBindIsUnderWay) {
  wait_urgently("p", "1");
  rig_.ledger.apply([](model::Ledger& ledger) {
    return ledger
        .assume(testing::allocation("busy", "b", {testing::granted("b-0", 81'920, 1000)}), 70s)
        .has_value();
  });
  EXPECT_EQ(preempt("p", R"({"b":{"Pods":[],"NumPDBViolations":0}})"), kNobody);
  EXPECT_EQ(preempt("p", "{" + victims("b", "busy") + "}"), kNobody);
}

}  // namespace
}  // namespace tangram::extender
