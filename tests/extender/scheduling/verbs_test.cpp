#include "extender/scheduling/verbs.hpp"

#include "tests/extender/scheduling/verbs_fixture.hpp"
#include "tests/testing/golden.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::any_binding;
using testing::json_at;

TEST_F(VerbsTest, FiltersByTheBooks) {
  ASSERT_EQ(rig_.bind("full", wait("full", "1"), "b").outcome, BindOutcome::kBound);
  wait("p");
  EXPECT_EQ(verbs().filter(ask("p", R"(["a","b","c","elsewhere"])")),
            R"({"Nodes":null,"NodeNames":["a","c"],)"
            R"("FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""})");
  EXPECT_EQ(verbs().filter(ask("p", R"(["b","elsewhere"])")),
            R"({"Nodes":null,"NodeNames":[],"FailedNodes":{},)"
            R"("FailedAndUnresolvableNodes":{"b":"no GPU card has enough free memory and compute",)"
            R"("elsewhere":"node has not reported its GPU cards"},)"
            R"("Error":""})");
}

TEST_F(VerbsTest, RecordsTheOutcomeOfEachFilter) {
  using cluster::Wait;
  using Waits = std::map<Wait, std::int64_t>;
  const auto waits = [&] {
    Waits now = rig_.table.waits();
    std::erase_if(now, [](const auto& entry) { return entry.second == 0; });
    return now;
  };
  const std::string taker = wait("taker", "1");
  wait("large", "0.7");
  rig_.add_pod("many", {{"tangram.dev/gpu-count", "2"}});
  rig_.show("many");
  Verbs all = verbs();
  EXPECT_EQ(waits(), (Waits{{Wait::kNotAsked, 3}}));
  (void)all.filter(ask("taker", R"(["a"])"));
  EXPECT_EQ(waits(), (Waits{{Wait::kNotAsked, 2}, {Wait::kOffered, 1}}));
  (void)all.filter(ask("large", R"(["a"])"));  // while a is reserved
  EXPECT_EQ(waits(), (Waits{{Wait::kNotAsked, 1}, {Wait::kOffered, 1}, {Wait::kSettling, 1}}));
  ASSERT_EQ(all.bind(bind_body("taker", taker, "a"), rig_.in_time()).outcome, BindOutcome::kBound);
  rig_.show("taker");
  EXPECT_EQ(waits(), (Waits{{Wait::kNotAsked, 1}, {Wait::kSettling, 1}}));
  (void)all.filter(ask("large", R"(["elsewhere","a"])"));
  EXPECT_EQ(waits(), (Waits{{Wait::kNotAsked, 1}, {Wait::kRoom, 1}}));
  (void)all.filter(ask("many"));
  const Waits after{{Wait::kNoSuchCard, 1}, {Wait::kRoom, 1}};
  EXPECT_EQ(waits(), after);
  synced_ = false;
  (void)all.filter(ask("many"));
  EXPECT_EQ(waits(), after) << "a replica that cannot answer says nothing about the pod";
}

// ---- Room held between filter and bind.

TEST_F(VerbsTest, DoesNotOfferTheRoomOfThePodBefore) {
  const std::string first = wait("first", "0.7");
  wait("second", "0.7");
  Verbs both = verbs(1);
  EXPECT_EQ(json_at(both.filter(ask("first")), "NodeNames"), R"(["a"])");
  EXPECT_EQ(json_at(both.filter(ask("second")), "NodeNames"), R"(["b"])");
  EXPECT_EQ(both.bind(bind_body("first", first, "a"), rig_.in_time()).outcome, BindOutcome::kBound);
  EXPECT_EQ(
      both.bind(bind_body("second", rig_.table.find("ml", "second")->uid, "b"), rig_.in_time())
          .outcome,
      BindOutcome::kBound);
}

TEST_F(VerbsTest, HoldsNothingIfSoConfigured) {
  hold_ttl_ = std::chrono::milliseconds(0);
  wait("first", "0.7");
  wait("second", "0.7");
  EXPECT_EQ(json_at(verbs(1).filter(ask("first")), "NodeNames"), R"(["a"])");
  EXPECT_EQ(json_at(verbs(1).filter(ask("second")), "NodeNames"), R"(["a"])");
}

TEST_F(VerbsTest, AsksForAnotherTryWhileTheLastRoomIsHeld) {
  wait("first", "0.7");
  wait("second", "0.7");
  (void)verbs(1).filter(ask("first", R"(["a"])"));
  const std::string reply = verbs(1).filter(ask("second", R"(["a"])"));
  EXPECT_NE(json_at(reply, "Error").find("being given to another"), std::string::npos) << reply;
  rig_.clock.advance(std::chrono::seconds(3));
  rig_.binder.resolve_overdue();
  EXPECT_EQ(json_at(verbs(1).filter(ask("second", R"(["a"])")), "NodeNames"), R"(["a"])");
}

TEST_F(VerbsTest, SaysThatAPodDoesNotFitOnlyWhileItFollowsTheCluster) {
  wait("large", "1");
  wait("half", "0.5");
  for (const char* name : {"a", "b", "c"}) {
    rig_.ledger.apply([&](model::Ledger& ledger) {
      ledger.observe(testing::allocation(std::string("on-") + name, name,
                                         {testing::granted(std::string(name) + "-0", 100, 100)}));
    });
  }
  following_ = false;
  const std::string reply = verbs().filter(ask("large"));
  EXPECT_NE(json_at(reply, "Error").find("watch of the cluster is interrupted"), std::string::npos)
      << reply;
  EXPECT_EQ(rig_.table.waits().at(cluster::Wait::kSettling), 1);
  EXPECT_NE(json_at(verbs().filter(ask("half")), "NodeNames"), "[]") << "what fits, fits";
  rig_.nominate("large", "b");
  const std::string nominated = verbs().filter(ask("large"));
  EXPECT_EQ(json_at(nominated, "Error"), "") << "it would cost the nomination";
  EXPECT_NE(json_at(nominated, "FailedNodes.b").find("interrupted"), std::string::npos)
      << nominated;
  following_ = true;
  rig_.nominate("large", "");
  EXPECT_EQ(json_at(verbs().filter(ask("large")), "Error"), "");
}

TEST_F(VerbsTest, SaysThatAPodDoesNotFitWhateverBecomesOfTheHeldRoom) {
  wait("first", "0.7");
  rig_.ledger.apply([](model::Ledger& ledger) {
    ledger.observe(testing::allocation("there", "a", {testing::granted("a-0", 100, 600)}));
  });
  wait("second", "0.7");
  (void)verbs(1).filter(ask("first", R"(["a"])"));  // nothing is held: it does not fit
  const std::string reply = verbs(1).filter(ask("second", R"(["a"])"));
  EXPECT_EQ(json_at(reply, "Error"), "");
  EXPECT_NE(json_at(reply, "FailedAndUnresolvableNodes"), "{}");
}

TEST_F(VerbsTest, HoldsTheRoomOfAPodThatBindsLate) {
  testing::PodText pod;
  pod.name = "first";
  pod.annotations = {{"tangram.dev/gpu-fraction", "0.7"}};
  pod.labels = {{"scheduling.x-k8s.io/pod-group", "ring"}};
  rig_.add_pod(pod);
  rig_.show("first");
  wait("second", "0.7");
  (void)verbs(1).filter(ask("first", R"(["a"])"));
  rig_.clock.advance(std::chrono::seconds(119));
  EXPECT_NE(json_at(verbs(1).filter(ask("second", R"(["a"])")), "Error"), "");
  rig_.clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(json_at(verbs(1).filter(ask("second", R"(["a"])")), "NodeNames"), R"(["a"])");
}

TEST_F(VerbsTest, HoldsTheRoomOfAPodAsLongAsItIsNominated) {
  wait("first", "0.7");
  wait("second", "0.7");
  wait("small", "0.3");
  (void)verbs(1).filter(ask("first", R"(["a"])"));
  // Before a long PreBind, newer schedulers say so where the pod goes.
  rig_.nominate("first", "a");
  EXPECT_EQ(json_at(verbs(1).filter(ask("small", R"(["a"])")), "NodeNames"), R"(["a"])")
      << "nominated and reserved is counted once";
  rig_.clock.advance(std::chrono::seconds(600));
  EXPECT_EQ(json_at(verbs(1).filter(ask("second", R"(["a"])")), "NodeNames"), "[]");
  rig_.nominate("first", "");
  EXPECT_EQ(json_at(verbs(1).filter(ask("second", R"(["a"])")), "NodeNames"), R"(["a"])");
}

TEST_F(VerbsTest, KeepsOneNodeByDefault) { EXPECT_EQ(Verbs::Settings{}.short_list, 1U); }

TEST_F(VerbsTest, MovesWhatIsHeldWithThePodsLastFilter) {
  wait("first", "0.7");
  wait("second", "0.7");
  (void)verbs(1).filter(ask("first", R"(["a"])"));
  (void)verbs(1).filter(ask("first", R"(["b"])"));
  EXPECT_EQ(json_at(verbs(1).filter(ask("second", R"(["a","b"])")), "NodeNames"), R"(["a"])");
}

TEST_F(VerbsTest, ScoresTheHeldNodeAsThePodsOwn) {
  wait("p", "0.7");
  (void)verbs(0).filter(ask("p"));
  EXPECT_EQ(verbs(0).prioritize(ask("p")),
            R"([{"Host":"a","Score":10},{"Host":"b","Score":9},{"Host":"c","Score":9}])");
}

TEST_F(VerbsTest, OffersOnlyTheNodeThatAnUncertainBindWasSentTo) {
  const std::string uid = wait("p");
  rig_.api.will(testing::binding_of("p"), testing::Fault::Kind::kLoseBefore);
  ASSERT_EQ(verbs().bind(bind_body("p", uid, "b"), rig_.in_time()).outcome, BindOutcome::kUnknown);
  EXPECT_EQ(json_at(verbs(2).filter(ask("p")), "NodeNames"), R"(["b"])");
  const std::string elsewhere = verbs(2).filter(ask("p", R"(["a","c"])"));
  EXPECT_NE(json_at(elsewhere, "Error").find("may still take effect"), std::string::npos);
  EXPECT_EQ(verbs().bind(bind_body("p", uid, "b"), rig_.in_time()).outcome, BindOutcome::kBound);
}

TEST_F(VerbsTest, MakesNoApiCallInFilterPrioritizeOrPreempt) {
  wait("p");
  hold_ttl_ = std::chrono::milliseconds(0);
  const std::string before = rig_.picture();
  EXPECT_EQ(json_at(verbs(1).filter(ask("p")), "Error"), "");
  EXPECT_NE(verbs().prioritize(ask("p")), "[]");
  EXPECT_NE(verbs().preempt(
                R"({"Pod":)" + rig_.read("p") +
                R"(,"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"x"}],"NumPDBViolations":0}}})"),
            R"({"NodeNameToMetaVictims":{}})");
  EXPECT_TRUE(rig_.api.calls().empty());
  EXPECT_EQ(rig_.picture(), before);
}

TEST_F(VerbsTest, OffersAShortListAndNothingElse) {
  wait("p");
  EXPECT_EQ(json_at(verbs(2).filter(ask("p", R"(["c","a","b"])")), "NodeNames"), R"(["c","a"])");
  const std::string reply = verbs(1).filter(ask("p"));
  EXPECT_EQ(json_at(reply, "FailedNodes"), "{}");
  EXPECT_EQ(json_at(reply, "FailedAndUnresolvableNodes"), "{}");
}

TEST_F(VerbsTest, PutsThePolicysChoiceFirstAndScoresItTen) {
  ASSERT_EQ(rig_.bind("started", wait("started", "0.25"), "b").outcome, BindOutcome::kBound);
  wait("p");
  // Binpack: b is fuller.
  EXPECT_EQ(json_at(verbs().filter(ask("p")), "NodeNames"), R"(["b","a","c"])");
  EXPECT_EQ(verbs().prioritize(ask("p")),
            R"([{"Host":"a","Score":0},{"Host":"b","Score":10},{"Host":"c","Score":0}])");
}

TEST_F(VerbsTest, RefusesVerbsUntilTheClusterIsRead) {
  const std::string uid = wait("p");
  synced_ = false;
  const std::string filtered = verbs().filter(ask("p"));
  EXPECT_NE(json_at(filtered, "Error").find("try again"), std::string::npos) << filtered;
  EXPECT_NE(filtered.find(R"("NodeNames":null)"), std::string::npos) << filtered;
  const auto bound = verbs().bind(bind_body("p", uid, "a"), rig_.in_time());
  EXPECT_EQ(bound.outcome, BindOutcome::kUnavailable);
  EXPECT_NE(json_at(bound.body, "Error").find("try again"), std::string::npos);
  EXPECT_EQ(verbs().preempt("{}"), R"({"NodeNameToMetaVictims":{}})");
  EXPECT_TRUE(rig_.api.calls().empty());
  EXPECT_EQ(rig_.offers.pods(), 0U);
}

TEST_F(VerbsTest, RefusesAPodWithInvalidAnnotationsUntilItChanges) {
  rig_.add_pod("bad", {{"tangram.dev/gpu-mem", "8"}});
  const std::string reply = verbs().filter(ask("bad", R"(["a","b"])"));
  EXPECT_EQ(json_at(reply, "Error"), "") << "kube-scheduler would ask every second";
  const std::string why = json_at(reply, "FailedAndUnresolvableNodes.b");
  EXPECT_NE(why.find("RequestInvalid"), std::string::npos) << reply;
  rig_.nominate("bad", "a");
  const std::string nominated = verbs().filter(ask("bad", R"(["a","b"])"));
  EXPECT_EQ(json_at(nominated, "FailedNodes.a"), why);
  EXPECT_EQ(verbs().prioritize(ask("bad")), "[]");
  EXPECT_EQ(verbs().preempt(R"({"Pod":)" + rig_.read("bad") + "}"),
            R"({"NodeNameToMetaVictims":{}})");
}

TEST_F(VerbsTest, SaysTheSameAtEveryAttempt) {
  for (const char* node : {"a", "b", "c"}) {
    ASSERT_EQ(rig_.bind(std::string("full-") + node, wait(std::string("full-") + node, "1"), node)
                  .outcome,
              BindOutcome::kBound);
  }
  wait("p");
  const std::string first = verbs(8).filter(ask("p"));
  EXPECT_EQ(json_at(first, "NodeNames"), "[]");
  rig_.clock.advance(std::chrono::hours(1));
  EXPECT_EQ(verbs(8).filter(ask("p")), first);
}

TEST_F(VerbsTest, RanksANodeLastWhoseBindFailed) {
  const std::string uid = wait("p");
  Verbs some = verbs(2);
  EXPECT_EQ(json_at(some.filter(ask("p")), "NodeNames"), R"(["a","b"])");
  rig_.api.will_answer(any_binding(), 409);
  const auto reply = some.bind(bind_body("p", uid, "a"), rig_.in_time());
  EXPECT_EQ(reply.outcome, BindOutcome::kRefused);
  EXPECT_NE(json_at(reply.body, "Error"), "");
  EXPECT_EQ(json_at(some.filter(ask("p")), "NodeNames"), R"(["b","c","a"])");
  EXPECT_EQ(some.prioritize(ask("p", R"(["a","c"])")),
            R"([{"Host":"a","Score":0},{"Host":"c","Score":10}])");
}

TEST_F(VerbsTest, RanksNodesLastThatWereOfferedInVain) {
  wait("p");
  Verbs one = verbs(1);
  EXPECT_EQ(json_at(one.filter(ask("p")), "NodeNames"), R"(["a"])");
  EXPECT_EQ(json_at(one.filter(ask("p")), "NodeNames"), R"(["b","c","a"])");
  EXPECT_EQ(json_at(one.filter(ask("p")), "NodeNames"), R"(["c"])");
  EXPECT_EQ(json_at(one.filter(ask("p")), "NodeNames"), R"(["a","b","c"])");
  rig_.clock.advance(std::chrono::seconds(61));
  EXPECT_EQ(json_at(one.filter(ask("p")), "NodeNames"), R"(["b","c","a"])")
      << "a was offered just now";
}

TEST_F(VerbsTest, OffersAllNodesAndOneInTurnOnceOneWasTriedInVain) {
  wait("p");
  Verbs some = verbs(2);
  EXPECT_EQ(json_at(some.filter(ask("p")), "NodeNames"), R"(["a","b"])");
  EXPECT_EQ(json_at(some.filter(ask("p")), "NodeNames"), R"(["b","c","a"])");
  EXPECT_EQ(json_at(some.filter(ask("p")), "NodeNames"), R"(["c"])");
  EXPECT_EQ(json_at(some.filter(ask("p")), "NodeNames"), R"(["a","b","c"])");
}

TEST_F(VerbsTest, BindsAndForgetsTheOffers) {
  const std::string uid = wait("p");
  Verbs one = verbs(1);
  (void)one.filter(ask("p"));
  const auto reply = one.bind(bind_body("p", uid, "a"), rig_.in_time());
  EXPECT_EQ(reply.outcome, BindOutcome::kBound);
  EXPECT_EQ(reply.body, R"({"Error":""})");
  EXPECT_EQ(rig_.offers.pods(), 0U);
  EXPECT_EQ(rig_.node_of("p"), "a");
}

TEST_F(VerbsTest, KeepsNodesWhereEvictionMakesRoom) {
  const std::string low = wait("low", "1");
  ASSERT_EQ(rig_.bind("low", low, "a").outcome, BindOutcome::kBound);
  ASSERT_EQ(rig_.bind("stays", wait("stays", "1"), "b").outcome, BindOutcome::kBound);
  wait("p");
  const std::string body =
      R"({"Pod":)" + rig_.read("p") + R"(,"NodeNameToVictims":null,)" +
      R"("NodeNameToMetaVictims":{"a":{"Pods":[{"UID":")" + low +
      R"("}],"NumPDBViolations":2},"b":{"Pods":[{"UID":"x"}],"NumPDBViolations":0}}})";
  EXPECT_EQ(verbs().preempt(body), R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":")" + low +
                                       R"("}],"NumPDBViolations":2}}})");
}

TEST_F(VerbsTest, NeverNamesAVictimWhoseBindHasAnUnknownOutcome) {
  ASSERT_EQ(rig_.bind("sure", wait("sure", "1"), "a").outcome, BindOutcome::kBound);
  const std::string unsure = wait("unsure", "1");
  rig_.api.will(testing::binding_of("unsure"), testing::Fault::Kind::kLoseBefore);
  ASSERT_EQ(rig_.bind("unsure", unsure, "b").outcome, BindOutcome::kUnknown);
  wait("p");
  const std::string pod = rig_.read("p");
  const std::string spec = "\"spec\":{";
  const std::size_t at = pod.find(spec) + spec.size();
  const std::string body = R"({"Pod":)" + pod.substr(0, at) + R"("priority":100,)" +
                           pod.substr(at) + R"(,"NodeNameToMetaVictims":{)" +
                           R"("a":{"Pods":[],"NumPDBViolations":0},)" +
                           R"("b":{"Pods":[],"NumPDBViolations":0}}})";
  const std::string reply = verbs().preempt(body);
  EXPECT_NE(reply.find(R"("a":{)"), std::string::npos) << reply;
  EXPECT_EQ(reply.find(unsure), std::string::npos) << reply;
  EXPECT_EQ(reply.find(R"("b":{)"), std::string::npos) << reply;
}

TEST_F(VerbsTest, AnswersKubeSchedulersOwnRequests) {
  using testing::golden;
  EXPECT_EQ(json_at(verbs().filter(golden("extender/filter_node_names.json")), "Error"), "");
  EXPECT_EQ(json_at(verbs().filter(golden("extender/filter_full_nodes.json")), "Nodes.items"),
            "[]");
  EXPECT_EQ(verbs().prioritize(golden("extender/prioritize_node_names.json")),
            R"([{"Host":"gpu-c-03","Score":0},{"Host":"gpu-a-01","Score":0}])");
  const auto bound = verbs().bind(golden("extender/bind.json"), rig_.in_time());
  EXPECT_EQ(bound.outcome, BindOutcome::kRefused);  // there is no such pod here
  EXPECT_EQ(verbs().preempt(golden("extender/preempt_victims.json")),
            R"({"NodeNameToMetaVictims":{}})");
}

class HostileBodyTest : public VerbsTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(HostileBodyTest, IsAnsweredWithAnErrorAndChangesNothing) {
  wait("p");
  const std::string before = rig_.picture();
  EXPECT_EQ(json_at(verbs().filter(GetParam()), "Error").substr(0, 16), "filter request: ");
  EXPECT_EQ(verbs().prioritize(GetParam()), "[]");
  EXPECT_EQ(verbs().preempt(GetParam()), R"({"NodeNameToMetaVictims":{}})");
  const auto bound = verbs().bind(GetParam(), rig_.in_time());
  EXPECT_EQ(bound.outcome, BindOutcome::kInvalid);
  EXPECT_EQ(json_at(bound.body, "Error").substr(0, 14), "bind request: ");
  EXPECT_EQ(rig_.picture(), before);
  EXPECT_EQ(rig_.offers.pods(), 0U);
  EXPECT_TRUE(rig_.api.calls().empty());
}

INSTANTIATE_TEST_SUITE_P(Bodies, HostileBodyTest,
                         ::testing::Values("", " ", "null", "[]", "{}", "7", "{\"Pod\":[]}",
                                           "{\"Pod\":null}", "\xff\xfe", "{\"Pod\":{},\"Pod\":{}}",
                                           "{\"Pod\":{\"metadata\":{\"uid\":7}}}", "{\"Pod\":"));

TEST_F(VerbsTest, TreatsHostileNamesAsNamesOnly) {
  const std::string before = rig_.picture();
  for (const std::string name :
       {"../../nodes/a", "p/binding", "p?x=y", "%2e%2e", "a b", "\\u0000"}) {
    const auto reply = verbs().bind(bind_body(name, "u", "a"), rig_.in_time());
    EXPECT_NE(reply.outcome, BindOutcome::kBound);
    EXPECT_NE(json_at(reply.body, "Error"), "");
  }
  EXPECT_EQ(rig_.picture(), before);
}

}  // namespace
}  // namespace tangram::extender
