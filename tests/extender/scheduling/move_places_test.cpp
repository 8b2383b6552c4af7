#include "extender/scheduling/move_places.hpp"

#include "cluster/allocations.hpp"
#include "tests/extender/scheduling/verbs_fixture.hpp"

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::json_at;

/// A pod of a ReplicaSet on node a, which is to move to b.
class MovePlacesTest : public VerbsTest {
 protected:
  MovePlacesTest() {
    for (const char* name : {"mover", "next"}) {
      testing::PodText pod;
      pod.name = name;
      pod.annotations = {{"tangram.dev/gpu-fraction", "0.5"}};
      pod.owner = "ReplicaSet";
      uids_[name] = rig_.add_pod(pod);
      rig_.show(name);
    }
    EXPECT_EQ(rig_.bind("mover", uids_["mover"], "a").outcome, BindOutcome::kBound);
    rig_.show("mover");
  }
  MovePlace place(int priority = 0) {
    const cluster::PodPtr next = rig_.table.find(uids_["next"]);
    const auto plan = rig_.policies.plan(*next);
    const model::NodeState node = *rig_.ledger.snapshot()->find("b");
    const auto choice = plan->policy->choose(plan->demand, node);
    model::Allocation room = cluster::allocation_for(*next, node, plan->demand, choice->placement);
    room.pod_uid = "next/mover";
    room.pod_name = "mover";
    room.priority = priority;
    return {.mover = "mover",
            .room = std::move(room),
            .ns = next->ns,
            .controller = next->controller,
            .demand = plan->demand};
  }
  std::string nodes_for(const std::string& pod) {
    return json_at(verbs().filter(ask(pod)), "NodeNames");
  }
  int used() { return static_cast<int>(rig_.used("b").count()); }

  MovePlaces& places_ = rig_.move_places;
  std::map<std::string, std::string> uids_;
};

TEST_F(MovePlacesTest, GiveThePlaceToTheNextPodOfTheController) {
  ASSERT_TRUE(places_.reserve({place()}));
  EXPECT_EQ(used(), 500);
  const cluster::PodPtr next = rig_.table.find(uids_["next"]);
  const model::PodDemand demand = rig_.policies.plan(*next)->demand;
  EXPECT_FALSE(places_.place_for(*next, demand)) << "the mover has not left yet";
  ASSERT_TRUE(places_.evicted("mover"));
  EXPECT_EQ(nodes_for("next"), R"(["b"])");
  EXPECT_EQ(used(), 500) << "reserved once, not twice";
  EXPECT_EQ(rig_.bind("next", uids_["next"], "b").outcome, BindOutcome::kBound);
  EXPECT_TRUE(places_.keep());
  EXPECT_TRUE(places_.is_bound("mover"));
  rig_.clock.advance(60s);
  EXPECT_TRUE(places_.keep());
  EXPECT_EQ(used(), 500);
}

TEST_F(MovePlacesTest, GiveNoPlaceToOthers) {
  ASSERT_TRUE(places_.reserve({place()}));
  ASSERT_TRUE(places_.evicted("mover"));
  wait("bare");
  EXPECT_EQ(nodes_for("bare"), R"(["a","b","c"])");
  testing::PodText other;
  other.name = "other";
  other.annotations = {{"tangram.dev/gpu-fraction", "0.4"}};
  other.owner = "ReplicaSet";
  rig_.add_pod(other);
  rig_.show("other");
  EXPECT_EQ(nodes_for("other"), R"(["b","c"])") << "it requests something else";
  wait("large", "0.6");
  EXPECT_EQ(nodes_for("large"), R"(["c"])") << "the place is reserved";
}

TEST_F(MovePlacesTest, LastWhileTheyAreKept) {
  ASSERT_TRUE(places_.reserve({place()}));
  for (int i = 0; i < 10; ++i) {
    rig_.clock.advance(5s);
    EXPECT_TRUE(places_.keep());
  }
  EXPECT_EQ(used(), 500);
  places_.end_unused();
  EXPECT_EQ(used(), 0);
  ASSERT_TRUE(places_.reserve({place()}));
  ASSERT_TRUE(places_.evicted("mover"));
  places_.end_unused();
  EXPECT_EQ(used(), 500) << "the next pod of an evicted one still needs it";
  rig_.clock.advance(MovePlaces::kUntilTaken);
  EXPECT_TRUE(places_.keep());
  EXPECT_EQ(used(), 0);
}

TEST_F(MovePlacesTest, OutliveAPodThatTookOneAndWasDeleted) {
  ASSERT_TRUE(places_.reserve({place()}));
  ASSERT_TRUE(places_.evicted("mover"));
  EXPECT_EQ(nodes_for("next"), R"(["b"])");
  rig_.end_pod("next");
  rig_.clock.advance(4s);  // its own reservation ends
  EXPECT_TRUE(places_.keep());
  EXPECT_EQ(used(), 500);
  testing::PodText again;
  again.name = "again";
  again.annotations = {{"tangram.dev/gpu-fraction", "0.5"}};
  again.owner = "ReplicaSet";
  rig_.add_pod(again);
  rig_.show("again");
  EXPECT_EQ(nodes_for("again"), R"(["b"])");
}

TEST_F(MovePlacesTest, YieldToMoreImportantPodsUntilTheEviction) {
  ASSERT_TRUE(places_.reserve({place()}));
  wait_urgently("urgent", "0.6");
  EXPECT_EQ(json_at(verbs().filter(ask("urgent", R"(["b"])")), "NodeNames"), R"(["b"])");
  EXPECT_FALSE(places_.keep()) << "lost";
  places_.end("mover");
  rig_.end_pod("urgent");
  rig_.clock.advance(4s);
  ASSERT_TRUE(places_.reserve({place()}));
  ASSERT_TRUE(places_.evicted("mover"));
  wait_urgently("urgent", "0.6");
  EXPECT_EQ(json_at(verbs().filter(ask("urgent", R"(["b"])")), "NodeNames"), "[]");
  EXPECT_TRUE(places_.keep());
}

TEST_F(MovePlacesTest, StayForAPodThatTookOneWhileMoreImportantOnesCome) {
  ASSERT_TRUE(places_.reserve({place()}));
  ASSERT_TRUE(places_.evicted("mover"));
  EXPECT_EQ(nodes_for("next"), R"(["b"])");
  wait_urgently("urgent", "0.6");
  EXPECT_EQ(json_at(verbs().filter(ask("urgent", R"(["b"])")), "NodeNames"), "<none>");
  EXPECT_EQ(rig_.bind("next", uids_["next"], "b").outcome, BindOutcome::kBound);
}

TEST_F(MovePlacesTest, AreOfferedAgainAfterAFailedBind) {
  for (const char* node : {"a", "c"}) {
    const std::string uid = wait(std::string("full-") + node, node[0] == 'a' ? "0.5" : "1");
    EXPECT_EQ(rig_.bind(std::string("full-") + node, uid, node).outcome, BindOutcome::kBound);
  }
  ASSERT_TRUE(places_.reserve({place()}));
  ASSERT_TRUE(places_.evicted("mover"));
  EXPECT_EQ(nodes_for("next"), R"(["b"])");
  EXPECT_EQ(nodes_for("next"), R"(["b"])") << "there is no other room, though b refused it";
}

TEST_F(MovePlacesTest, EndIfOneIsLostAtTheEviction) {
  ASSERT_TRUE(places_.reserve({place()}));
  EXPECT_FALSE(places_.reserve({place()})) << "of the same mover";
  wait_urgently("urgent", "0.6");
  EXPECT_EQ(json_at(verbs().filter(ask("urgent", R"(["b"])")), "NodeNames"), R"(["b"])");
  EXPECT_FALSE(places_.evicted("mover"));
  rig_.end_pod("urgent");
  rig_.clock.advance(4s);
  EXPECT_TRUE(places_.keep());
  EXPECT_EQ(used(), 0) << "nothing is reserved for a pod that stays";
}

TEST_F(MovePlacesTest, AreReservedAllOrNone) {
  MovePlace second = place();
  second.mover = "other";
  second.room.pod_uid = "next/other";
  MovePlace third = second;
  third.mover = "third";
  third.room.pod_uid = "next/third";
  EXPECT_FALSE(places_.reserve({place(), second, third}));
  EXPECT_EQ(used(), 0);
  EXPECT_TRUE(places_.reserve({place(), second}));
}

}  // namespace
}  // namespace tangram::extender
