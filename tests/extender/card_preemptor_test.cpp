#include "extender/card_preemptor.hpp"

#include "extender/health_routes.hpp"
#include "extender/waker.hpp"
#include "tests/extender/scheduling/verbs_fixture.hpp"
#include "tests/testing/exposition.hpp"

#include <optional>

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::json_at;
using Lines = std::vector<std::string>;

const testing::CallMatch kEvictions{.method = kube::Method::kPost, .path_ends = "/eviction"};

/// Nodes a, b and c with two cards each. Pods fill 600 of each card of a; kube-scheduler asks about
/// a alone.
class CardPreemptorTest : public VerbsTest {
 protected:
  CardPreemptorTest() : VerbsTest(2) {
    bound("left", 10);
    bound("right", 20);
    make();
  }
  void make(CardPreemptorSettings settings = {}) {
    preemptor_.emplace(settings, CardPreemptor::Parts{
                                     .api = rig_.api,
                                     .clock = rig_.clock,
                                     .ledger = rig_.ledger,
                                     .pods = rig_.table,
                                     .promises = rig_.promises,
                                     .policies = rig_.policies,
                                     .denials = rig_.denials,
                                     .budgets =
                                         [this] {
                                           std::exchange(while_looking_, [] {})();
                                           return budgets_known_ ? budgets_.all() : nullptr;
                                         },
                                     .following = [this] { return following_; },
                                     .may_write = [this](auto) { return leads_; },
                                     .report =
                                         [this](const cluster::PodName& pod,
                                                std::string_view reason, const std::string&) {
                                           reports_.push_back(pod.name + " " + std::string(reason));
                                         }});
  }
  std::string pod(const std::string& name, const std::string& fraction, int priority,
                  const std::map<std::string, std::string>& labels = {}) {
    testing::PodText text;
    text.name = name;
    text.annotations = {{"tangram.dev/gpu-fraction", fraction}};
    text.priority = priority;
    text.labels = labels;
    std::string uid = rig_.add_pod(text);
    rig_.show(name);
    return uid;
  }
  void bound(const std::string& name, int priority, const std::string& fraction = "0.6",
             const std::string& node = "a") {
    const std::string uid = pod(name, fraction, priority, {{"app", name}});
    EXPECT_EQ(rig_.bind(name, uid, node).outcome, BindOutcome::kBound);
    rig_.show(name);
  }
  /// A pod that waits, of which kube-scheduler has heard that it fits none of the nodes.
  void denied(const std::string& name, const std::string& fraction = "0.8", int priority = kUrgent,
              const std::string& nodes = R"(["a"])") {
    pod(name, fraction, priority);
    ask_again(name, nodes);
  }
  void ask_again(const std::string& name, const std::string& nodes = R"(["a"])") {
    EXPECT_EQ(json_at(verbs().filter(ask(name, nodes)), "NodeNames"), "[]") << name;
  }
  /// Looks twice a second, as the service does.
  void look_for(std::chrono::milliseconds time) {
    for (auto passed = 0ms; passed < time; passed += 500ms) {
      preemptor_->look();
      rig_.clock.advance(500ms);
    }
  }
  void protect(const std::string& app) {
    budgets_.change(kube::EventType::kAdded,
                    R"({"metadata":{"name":")" + app + R"(","namespace":"ml","uid":"u-)" + app +
                        R"("},"spec":{"selector":{"matchLabels":{"app":")" + app +
                        R"("}}},"status":{"disruptionsAllowed":0}})");
  }
  double metric(const std::string& series) {
    return testing::Exposition(exposition({&*preemptor_})).value(series);
  }
  double tries(const std::string& result) {
    return metric("tangram_card_preemptions_total{result=\"" + result + "\"}");
  }

  bool leads_ = true;
  bool budgets_known_ = true;
  std::function<void()> while_looking_ = [] {};  ///< happens once
  Lines reports_;
  std::optional<CardPreemptor> preemptor_;
};

TEST_F(CardPreemptorTest, EvictsTheLeastImportantPodsOfOneCard) {
  denied("urgent");
  look_for(500ms);
  EXPECT_EQ(leaving(), Lines{}) << "kube-scheduler may have victims of its own";
  look_for(500ms);
  EXPECT_EQ(leaving(), Lines{"left"});
  EXPECT_EQ(json_at(rig_.read("urgent"), "status.nominatedNodeName"), "a");
  EXPECT_EQ(reports_, (Lines{"urgent Preempting", "left Preempted"}));
  EXPECT_EQ(tries("evicted"), 1);
  EXPECT_EQ(metric("tangram_card_preemption_victims_total"), 1);
  look_for(60s);
  EXPECT_EQ(leaving(), Lines{"left"}) << "the watch has not shown yet that it leaves";
  rig_.show("left");
  look_for(600s);
  EXPECT_EQ(leaving(), Lines{"left"});
}

TEST_F(CardPreemptorTest, KeepsTheRoomUntilThePodIsBound) {
  denied("urgent");
  look_for(1s);
  rig_.show("urgent");
  rig_.end_pod("left");
  pod("thief", "0.6", 50);
  EXPECT_EQ(json_at(verbs().filter(ask("thief", R"(["a"])")), "NodeNames"), "[]");
  rig_.clock.advance(60s);
  EXPECT_EQ(json_at(verbs().filter(ask("thief", R"(["a"])")), "NodeNames"), "[]");
  EXPECT_EQ(json_at(verbs().filter(ask("urgent", R"(["a"])")), "NodeNames"), R"(["a"])");
  EXPECT_EQ(rig_.bind("urgent", rig_.table.find("ml", "urgent")->uid, "a").outcome,
            BindOutcome::kBound);
}

TEST_F(CardPreemptorTest, AsksOnlyForNodesThatKubeSchedulerAskedAbout) {
  bound("small", 0, "0.1", "b");
  bound("large", 0, "1", "b");
  denied("urgent", "1", kUrgent, R"(["a"])");
  look_for(2s);
  EXPECT_EQ(leaving(), Lines{"left"}) << "\"small\" would be cheaper";
}

TEST_F(CardPreemptorTest, EvictsNobodyInVain) {
  denied("equal", "0.8", 10);
  pod("polite", "0.8", kUrgent);
  rig_.ask(testing::write_request(kube::Method::kPatch, "/api/v1/namespaces/ml/pods/polite",
                                  R"({"spec":{"preemptionPolicy":"Never"}})"));
  rig_.show("polite");
  ask_again("polite");
  denied("gone");
  rig_.end_pod("gone");
  look_for(30s);
  EXPECT_EQ(leaving(), Lines{});
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U);
}

TEST_F(CardPreemptorTest, ActsOnlyWhereItKnowsEnough) {
  denied("urgent");
  leads_ = false;
  look_for(2s);
  leads_ = true;
  following_ = false;
  look_for(2s);
  following_ = true;
  budgets_known_ = false;
  look_for(2s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U);
  budgets_known_ = true;
  make({.enabled = false});
  look_for(2s);
  EXPECT_EQ(rig_.api.calls(kEvictions).size(), 0U);
  make();
  look_for(1s);
  EXPECT_EQ(leaving(), Lines{"left"});
}

TEST_F(CardPreemptorTest, BreaksNoBudget) {
  protect("left");
  denied("urgent");
  look_for(1s);
  EXPECT_EQ(leaving(), Lines{"right"});
}

TEST_F(CardPreemptorTest, BreaksNoBudgetThatTheWatchHasNotShown) {
  bound("beside", 5, "0.2");  // on one of the cards; both its pods have to leave
  denied("urgent", "1");
  rig_.api.will({.method = kube::Method::kPost, .path_ends = "/beside/eviction"},
                testing::Fault{.kind = testing::Fault::Kind::kAnswer, .status = 429});
  look_for(2s);
  EXPECT_EQ(leaving(), Lines{}) << "a dry run comes first";
  EXPECT_EQ(tries("refused"), 1);
  EXPECT_EQ(json_at(rig_.read("urgent"), "status.nominatedNodeName"), "<none>");
  look_for(10s);
  EXPECT_EQ(leaving(), Lines{"right"}) << "the pod whose eviction was refused is spared";
}

TEST_F(CardPreemptorTest, LooksAgainWhereThePodWasAskedAboutMeanwhile) {
  denied("urgent");
  while_looking_ = [this] { ask_again("urgent"); };
  look_for(1s);
  EXPECT_EQ(tries("overtaken"), 1);
  EXPECT_EQ(tries("failed"), 0) << "the API server has refused nothing";
  EXPECT_EQ(leaving(), Lines{});
  look_for(5s);
  EXPECT_EQ(leaving(), Lines{"left"});
}

TEST_F(CardPreemptorTest, WithdrawsTheNominationIfNobodyIsEvicted) {
  denied("urgent");
  rig_.api.plan().add({.match = kEvictions,
                       .fault = {.kind = testing::Fault::Kind::kAnswer, .status = 500},
                       .times = 1,
                       .every = 2});
  look_for(1s);
  EXPECT_EQ(tries("failed"), 1);
  EXPECT_EQ(leaving(), Lines{});
  EXPECT_EQ(json_at(rig_.read("urgent"), "status.nominatedNodeName"), "");
  EXPECT_FALSE(rig_.promises.made_to(rig_.table.find("ml", "urgent")->uid));
}

TEST_F(CardPreemptorTest, TakesAnotherNodeIfKubeSchedulerAsksNoMoreAboutTheFirst) {
  bound("b-left", 10, "0.6", "b");
  bound("b-right", 10, "0.6", "b");
  denied("urgent");
  look_for(1s);
  EXPECT_EQ(leaving(), Lines{"left"});
  ask_again("urgent", R"(["b"])");  // a was cordoned
  look_for(20s);
  EXPECT_EQ(leaving().size(), 2U);
}

TEST_F(CardPreemptorTest, SecondPodCountsOnNothingThatTheFirstGets) {
  denied("urgent");
  look_for(1s);
  EXPECT_EQ(leaving(), Lines{"left"});
  denied("second");  // the watch has not shown yet that "left" leaves
  look_for(3s);
  EXPECT_EQ(leaving(), (Lines{"left", "right"}));
}

TEST_F(CardPreemptorTest, GoesOnWhereOneOfTwoIsNotEvicted) {
  bound("beside", 5, "0.2");
  denied("urgent", "1");
  // Of each victim two requests: the dry run, and the eviction.
  rig_.api.plan().add({.match = kEvictions,
                       .fault = {.kind = testing::Fault::Kind::kAnswer, .status = 500},
                       .times = 1,
                       .every = 4});
  look_for(1s);
  EXPECT_EQ(tries("failed"), 1);
  ASSERT_EQ(leaving().size(), 1U);
  const std::string first = leaving().front();
  rig_.show(first);
  look_for(10s);
  EXPECT_EQ(tries("evicted"), 1);
  EXPECT_EQ(leaving().size(), 2U) << "the other one of the same card";
}

TEST_F(CardPreemptorTest, LeavesAPodToKubeSchedulerThatEvictsForIt) {
  bound("other", 0, "1", "b");
  const std::string other = json_at(rig_.read("other"), "metadata.uid");
  denied("urgent");
  rig_.promises.made(*rig_.table.find("ml", "urgent"), {{"b", Victims{.uids = {other}}}});
  look_for(4s);
  EXPECT_EQ(leaving(), Lines{});
  look_for(3s);
  EXPECT_EQ(leaving(), Lines{"left"}) << "it did not";
}

TEST_F(CardPreemptorTest, WaitsForPodsThatEndAnyway) {
  rig_.ask(testing::write_request(kube::Method::kDelete, "/api/v1/namespaces/ml/pods/right", ""));
  rig_.show("right");
  denied("urgent");
  look_for(CardPreemptor::kLeaving);
  EXPECT_EQ(leaving(), Lines{"right"});
  look_for(10s);
  EXPECT_EQ(leaving(), (Lines{"left", "right"})) << "it does not end";
}

TEST_F(CardPreemptorTest, GoesOnWhereAnotherLeaderBegan) {
  bound("beside", 5, "0.2");
  bound("cheap", 0, "1", "b");
  bound("dear", 90, "1", "b");
  denied("urgent", "1", kUrgent, R"(["a","b"])");
  rig_.nominate("urgent", "b");
  ask_again("urgent", R"(["a","b"])");
  rig_.ask(testing::write_request(kube::Method::kDelete, "/api/v1/namespaces/ml/pods/cheap", ""));
  rig_.show("cheap");
  look_for(60s);
  EXPECT_EQ(leaving(), Lines{"cheap"});
}

TEST_F(CardPreemptorTest, EvictsSoManyAMinute) {
  make({.per_minute = 6});
  denied("first");
  bound("b-left", 10, "0.6", "b");
  bound("b-right", 10, "0.6", "b");
  denied("second", "0.8", kUrgent, R"(["b"])");
  look_for(5s);
  EXPECT_EQ(leaving().size(), 1U);
  look_for(8s);
  EXPECT_EQ(leaving().size(), 2U);
}

TEST_F(CardPreemptorTest, HasKubeSchedulerAskAgainFirstAfterALongTime) {
  leads_ = false;
  denied("urgent");
  look_for(CardPreemptor::kFresh + 1s);
  leads_ = true;
  look_for(2s);
  EXPECT_EQ(leaving(), Lines{}) << "a may have been cordoned since";
  EXPECT_EQ(rig_.denials.offered_in_vain().size(), 1U) << "so the waker wakes kube-scheduler";
  ask_again("urgent");
  look_for(6s);
  EXPECT_EQ(leaving(), Lines{"left"});
}

TEST_F(CardPreemptorTest, TriesAgainLaterAndLater) {
  rig_.api.plan().add({.match = kEvictions,
                       .fault = {.kind = testing::Fault::Kind::kAnswer, .status = 429},
                       .times = 1'000});
  denied("urgent");
  Lines at;
  double before = 0;
  for (int second = 1; second < 700; ++second) {
    look_for(1s);
    if (std::exchange(before, tries("refused")) < before) at.push_back(std::to_string(second));
    ask_again("urgent");
  }
  ASSERT_GE(at.size(), 5U);
  EXPECT_EQ(at.front(), "1");
  EXPECT_LE(at.size(), 16U) << "each of two pods after 10 s, 20 s, 40 s … 5 minutes";
}

}  // namespace
}  // namespace tangram::extender
