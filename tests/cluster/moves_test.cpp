// The rules of moves, one by one. moves_property_test.cpp has them all together.

#include "cluster/moves.hpp"

#include "tests/cluster/plain_cluster.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::testing {
namespace {

PlainRequest share(int milli, int cpu = 0) { return {.milli = milli, .memory = milli, .cpu = cpu}; }
PlainRequest whole_cards(int cards = 1) { return {.cards = cards, .milli = 1000, .memory = 1000}; }
PlainPod pod_on(std::size_t node, std::size_t card, int milli) {
  return {.request = share(milli), .node = node, .cards = {card}};
}

/// Two nodes of a card each, half full: a pod that wants a whole card fits neither.
PlainCluster two_half_full() {
  return {.nodes = {{}, {}},
          .pods = {pod_on(0, 0, 500), pod_on(1, 0, 400)},
          .wanted = {{whole_cards()}}};
}

std::vector<std::string> movers(const cluster::MovePlan& plan) {
  std::vector<std::string> uids;
  for (const cluster::Move& move : plan.moves) uids.push_back(move.pod->pod_uid);
  return uids;
}

void expect_nothing(const PlainCluster& cluster) {
  const auto plan = plan_for(cluster);
  EXPECT_EQ(movers(plan), std::vector<std::string>{});
  EXPECT_TRUE(plan.arrivals.empty());
  EXPECT_EQ(plan.gained_milli, 0);
  EXPECT_EQ(mistake_in(cluster, plan), "");
}

void expect_movers(const PlainCluster& cluster, const std::vector<std::string>& uids) {
  const auto plan = plan_for(cluster);
  EXPECT_EQ(movers(plan), uids);
  EXPECT_EQ(mistake_in(cluster, plan), "");
}

TEST(MovesTest, MakeRoomForAWholeCardByTheSmallerPod) {
  const PlainCluster cluster = two_half_full();
  const auto plan = plan_for(cluster);
  ASSERT_EQ(movers(plan), std::vector<std::string>{"pod-001"});
  EXPECT_EQ(plan.moves[0].pod->node, "node-001");
  EXPECT_EQ(plan.moves[0].next.node, "node-000");
  ASSERT_EQ(plan.arrivals.size(), 1U);
  EXPECT_EQ(plan.arrivals[0].place.node, "node-001");
  EXPECT_EQ(plan.arrivals[0].after, 1U);
  EXPECT_EQ(plan.gained_milli, 1000);
  EXPECT_EQ(plan.moved_milli, 400);
  EXPECT_FALSE(plan.cut_short);
  EXPECT_EQ(mistake_in(cluster, plan), "");
}

TEST(MovesTest, AreNotNeededForAPodThatFits) {
  PlainCluster cluster = two_half_full();
  cluster.wanted = {{share(500)}};
  const auto plan = plan_for(cluster);
  EXPECT_TRUE(plan.moves.empty());
  ASSERT_EQ(plan.fit_already.size(), 1U);
  EXPECT_EQ(plan.fit_already[0].place.node, "node-000");
}

// The first wanted pod takes what the next pod would need.
TEST(MovesTest, LeaveTheRoomOfPodsThatFitAlready) {
  PlainCluster cluster = two_half_full();
  cluster.wanted = {{share(500)}, {whole_cards()}};
  expect_nothing(cluster);
}

TEST(MovesTest, StayWithinANodeWhereThatHelps) {
  const PlainCluster cluster{.nodes = {{.cards = 2}},
                             .pods = {pod_on(0, 0, 500), pod_on(0, 1, 400)},
                             .wanted = {{whole_cards()}}};
  expect_movers(cluster, {"pod-001"});
}

// Each could go where the other is, if one could leave first.
TEST(MovesTest, NeverNeedRoomThatAnotherMoveFrees) {
  const PlainCluster cluster{.nodes = {{}, {}},
                             .pods = {pod_on(0, 0, 600), pod_on(1, 0, 600)},
                             .wanted = {{whole_cards()}}};
  expect_nothing(cluster);
}

// Without its origin there would be room for the next pod on the same node's other card.
TEST(MovesTest, LetNextPodsStartBesideTheirOrigins) {
  PlainCluster cluster{.nodes = {{.cards = 2, .cpu = 10}},
                       .pods = {pod_on(0, 0, 500), pod_on(0, 1, 400)},
                       .wanted = {{whole_cards()}}};
  cluster.pods[1].request.cpu = 6;
  cluster.pods[0].request.cpu = 3;
  expect_nothing(cluster);
}

TEST(MovesTest, KeepTheFreedRoomForTheWantedPod) {
  // The pod of 300 could come back to where it was, were that not kept.
  const PlainCluster cluster{
      .nodes = {{}}, .pods = {pod_on(0, 0, 300), pod_on(0, 0, 300)}, .wanted = {{share(700)}}};
  expect_nothing(cluster);
}

TEST(MovesTest, AreAsFewAsPossible) {
  PlainCluster cluster{.nodes = {{}, {}, {.cards = 2}},
                       .pods = {pod_on(0, 0, 100), pod_on(0, 0, 100), pod_on(0, 0, 100),
                                pod_on(1, 0, 600), pod_on(2, 0, 100), pod_on(2, 1, 100)},
                       .wanted = {{whole_cards()}}};
  expect_movers(cluster, {"pod-004"});
  cluster.pods[4].movable = cluster.pods[5].movable = false;
  expect_movers(cluster, {"pod-003"});
}

TEST(MovesTest, AreTheSmallestOfThoseThatSuffice) {
  const PlainCluster cluster{.nodes = {{}, {}},
                             .pods = {pod_on(0, 0, 450), pod_on(0, 0, 50), pod_on(0, 0, 200),
                                      pod_on(0, 0, 100), pod_on(1, 0, 750)},
                             .wanted = {{share(300)}}};
  expect_movers(cluster, {"pod-003"});
}

// The second pod has no compute, and more memory than the first.
TEST(MovesTest, AreMeasuredByWhicheverOfComputeAndMemoryDecides) {
  PlainCluster cluster = two_half_full();
  cluster.pods[0].request = {.milli = 400, .memory = 100};
  cluster.pods[1].request = {.milli = 0, .memory = 500};
  const auto plan = plan_for(cluster);
  EXPECT_EQ(movers(plan), std::vector<std::string>{"pod-000"});
  EXPECT_EQ(plan.moved_milli, 400);
  EXPECT_EQ(mistake_in(cluster, plan), "");
}

TEST(MovesTest, EmptySeveralCardsForAPodThatWantsThem) {
  PlainCluster cluster{
      .nodes = {{.cards = 2}, {.cards = 2}},
      .pods = {pod_on(0, 0, 300), pod_on(0, 1, 300), pod_on(1, 0, 500), pod_on(1, 1, 600)},
      .wanted = {{whole_cards(2)}}};
  expect_movers(cluster, {"pod-000", "pod-001"});
  cluster.most_moves = 1;
  expect_nothing(cluster);
}

TEST(MovesTest, TakePodsOfSeveralCards) {
  PlainCluster cluster{
      .nodes = {{.cards = 2}, {.cards = 2}},
      .pods = {{.request = {.cards = 2, .milli = 200, .memory = 200}, .node = 0, .cards = {0, 1}},
               pod_on(1, 0, 700),
               pod_on(1, 1, 700)},
      .wanted = {{whole_cards(2)}}};
  expect_movers(cluster, {"pod-000"});
}

TEST(MovesTest, AreOfMovablePodsOnly) {
  PlainCluster cluster = two_half_full();
  cluster.pods[1].movable = false;
  expect_movers(cluster, {"pod-000"});
  cluster.pods[0].movable = false;
  expect_nothing(cluster);
}

TEST(MovesTest, SpareReservationsAndTerminatingPodsAndTakeTheirRoomForTaken) {
  PlainCluster cluster = two_half_full();
  cluster.pods[1].reserved = true;
  expect_movers(cluster, {"pod-000"});
  cluster.pods[1].reserved = false;
  cluster.pods[1].terminating = true;
  expect_movers(cluster, {"pod-000"});
  cluster.pods[0].reserved = true;
  expect_nothing(cluster);
  // Nor is the room of one that terminates a target.
  cluster.pods[0].reserved = false;
  cluster.pods[1].request = share(600);
  expect_nothing(cluster);
}

TEST(MovesTest, StayWithinEachBudgetCountedTogether) {
  PlainCluster cluster{
      .nodes = {{}, {}, {.cards = 2}},
      .pods = {pod_on(0, 0, 200), pod_on(1, 0, 200), pod_on(2, 0, 600), pod_on(2, 1, 600)},
      .wanted = {{whole_cards()}, {whole_cards()}}};
  cluster.pods[2].movable = cluster.pods[3].movable = false;
  EXPECT_EQ(plan_for(cluster).moves.size(), 2U);
  cluster.allowed[0] = 1;
  EXPECT_EQ(plan_for(cluster).moves.size(), 1U);
  EXPECT_EQ(mistake_in(cluster, plan_for(cluster)), "");
  cluster.allowed[0] = 0;
  expect_nothing(cluster);
}

TEST(MovesTest, NeverGoToBrokenCardsNorToNodesThatTakeNoPods) {
  PlainCluster cluster = two_half_full();
  cluster.nodes.push_back({.cards = 2, .closed = true});
  cluster.nodes.push_back({.cards = 1, .broken = {0}});
  cluster.pods[0].request = cluster.pods[1].request = share(600);
  expect_nothing(cluster);
  cluster.nodes[2].closed = false;
  EXPECT_EQ(plan_for(cluster).fit_already.size(), 1U);
}

TEST(MovesTest, GoOnlyToNodesThatTakeThatPod) {
  PlainCluster cluster = two_half_full();
  cluster.pods[1].not_on = {0};
  expect_movers(cluster, {"pod-000"});
  cluster.pods[0].not_on = {1};
  expect_nothing(cluster);
}

TEST(MovesTest, MakeRoomInCpuToo) {
  PlainCluster cluster{.nodes = {{.cpu = 10}, {.cpu = 10}},
                       .pods = {pod_on(0, 0, 100), pod_on(1, 0, 600)},
                       .wanted = {{share(500, 8)}}};
  cluster.pods[0].request.cpu = 4;
  expect_movers(cluster, {"pod-000"});
  cluster.pods[1].request.cpu = 7;
  expect_nothing(cluster);
}

/// Many nodes have an idle card, and no CPU beside a pod that stays. They look like little effort.
PlainCluster one_useful_node_of_many(const PlainPod& stays) {
  PlainCluster cluster{.nodes = std::vector<PlainNode>(100, {.cpu = 10})};
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    cluster.pods.push_back(stays);
    cluster.pods.back().node = i;
  }
  cluster.nodes.insert(cluster.nodes.end(), 2, {});
  cluster.pods.push_back(pod_on(100, 0, 500));
  cluster.pods.push_back(pod_on(101, 0, 400));
  cluster.wanted = {{whole_cards()}};
  cluster.wanted.front().request.cpu = 5;
  return cluster;
}

TEST(MovesTest, LookFirstAtNodesWhoseCpuCanBeFreed) {
  const PlainPod without_cards{.request = {.cards = 0, .cpu = 10}, .movable = false};
  expect_movers(one_useful_node_of_many(without_cards), {"pod-101"});
}

TEST(MovesTest, CountThePodsThatHaveToLeaveForTheirCpu) {
  PlainCluster cluster{.nodes = std::vector<PlainNode>(100, {.cards = 7, .cpu = 12})};
  for (std::size_t i = 0; i < 600; ++i) {
    cluster.pods.push_back(pod_on(i / 6, i % 6, 100));
    cluster.pods.back().request.cpu = 2;
  }
  cluster.nodes.insert(cluster.nodes.end(), 2, {});
  cluster.pods.push_back(pod_on(100, 0, 500));
  cluster.pods.push_back(pod_on(101, 0, 400));
  cluster.wanted = {{whole_cards()}};
  cluster.wanted.front().request.cpu = 12;
  expect_movers(cluster, {"pod-601"});
}

TEST(MovesTest, ComeFirstWhereTheyGainMost) {
  PlainCluster cluster{
      .nodes = {{}, {}, {.cards = 2}},
      .pods = {pod_on(0, 0, 200), pod_on(1, 0, 800), pod_on(2, 0, 200), pod_on(2, 1, 200)},
      .wanted = {{share(850)}, {whole_cards()}},
      .most_moves = 1};
  auto plan = plan_for(cluster);
  ASSERT_EQ(plan.arrivals.size(), 1U);
  EXPECT_EQ(plan.arrivals[0].wanted, 1U);
  cluster.wanted[0].weight = 2;
  plan = plan_for(cluster);
  ASSERT_EQ(plan.arrivals.size(), 1U);
  EXPECT_EQ(plan.arrivals[0].wanted, 0U);
}

TEST(MovesTest, LetOthersUseTheRestOfTheRoomTheyMake) {
  PlainCluster cluster{
      .nodes = {{.cards = 2}, {.cards = 2}},
      .pods = {{.request = {.cards = 2, .milli = 400, .memory = 400}, .node = 0, .cards = {0, 1}},
               pod_on(1, 0, 500),
               pod_on(1, 1, 500)},
      .wanted = {{whole_cards()}, {whole_cards()}}};
  cluster.pods[1].movable = cluster.pods[2].movable = false;
  const auto plan = plan_for(cluster);
  EXPECT_EQ(movers(plan), std::vector<std::string>{"pod-000"});
  EXPECT_EQ(plan.arrivals.size(), 2U);
  EXPECT_EQ(plan.gained_milli, 2000);
  EXPECT_EQ(mistake_in(cluster, plan), "");
}

// As pods of a StatefulSet during an update: no node on which room can be made takes the first.
TEST(MovesTest, MakeRoomForAPodThatOtherNodesTakeThanItsLike) {
  PlainCluster cluster = two_half_full();
  const PlainWanted wanted{.request = whole_cards(), .controller = "set"};
  cluster.wanted = {wanted, wanted};
  cluster.wanted[0].not_on = {0, 1};
  const auto plan = plan_for(cluster);
  ASSERT_EQ(plan.arrivals.size(), 1U);
  EXPECT_EQ(plan.arrivals[0].wanted, 1U);
  EXPECT_EQ(mistake_in(cluster, plan), "");
}

// Each kind gets one of the options that are compared.
TEST(MovesTest, TakePodsOfOneControllerForFewKindsInWhateverOrder) {
  PlainCluster cluster = two_half_full();
  cluster.wanted.clear();
  for (int i = 0; i < 100; ++i) {
    cluster.wanted.push_back({.request = whole_cards(), .controller = "set"});
    cluster.wanted.back().request.cpu = i % 2;
  }
  cluster.wanted.push_back({.request = whole_cards(), .weight = 2});
  const auto plan = plan_for(cluster);
  ASSERT_EQ(plan.arrivals.size(), 1U);
  EXPECT_EQ(plan.arrivals[0].wanted, 100U);
  EXPECT_FALSE(plan.cut_short);
}

// The rest of the room is not for the second pod. The third is its like, and takes it.
TEST(MovesTest, LetOthersUseTheRestThoughTheirLikeMayNot) {
  PlainCluster cluster{
      .nodes = {{.cards = 2}, {.cards = 2}},
      .pods = {{.request = {.cards = 2, .milli = 400, .memory = 400}, .node = 0, .cards = {0, 1}},
               pod_on(1, 0, 500),
               pod_on(1, 1, 500)},
      .wanted = {}};
  cluster.pods[1].movable = cluster.pods[2].movable = false;
  cluster.wanted.assign(3, {.request = whole_cards(), .controller = "set"});
  cluster.wanted[1].not_on = {0};
  const auto plan = plan_for(cluster);
  ASSERT_EQ(plan.arrivals.size(), 2U);
  EXPECT_EQ(plan.arrivals[0].wanted, 0U);
  EXPECT_EQ(plan.arrivals[1].wanted, 2U);
  EXPECT_EQ(mistake_in(cluster, plan), "");
}

TEST(MovesTest, AreTheSameEachTime) {
  Random random(7);
  const PlainCluster cluster = random_cluster(random, 24);
  const auto one = plan_for(cluster);
  const auto two = plan_for(cluster);
  EXPECT_EQ(movers(one), movers(two));
}

TEST(MovesTest, SayWhereTheStepsDidNotSuffice) {
  const auto plan = plan_for(two_half_full(), "binpack", cluster::MoveLimits{.steps = 0});
  EXPECT_TRUE(plan.moves.empty());
  EXPECT_TRUE(plan.cut_short);
}

// The last pod would fit. The steps do not suffice to find out, so nothing is said of it.
TEST(MovesTest, HaveStepsLeftHoweverManyShapesWait) {
  PlainCluster cluster = two_half_full();
  for (int cpu = 1; cpu < 100; ++cpu) {
    cluster.wanted.push_back({whole_cards()});
    cluster.wanted.back().request.cpu = cpu;
  }
  cluster.wanted.push_back({share(100)});
  const auto plan = plan_for(cluster, "binpack", cluster::MoveLimits{.steps = 100});
  EXPECT_EQ(movers(plan), std::vector<std::string>{"pod-001"});
  EXPECT_TRUE(plan.fit_already.empty());
  EXPECT_TRUE(plan.cut_short);
  EXPECT_EQ(mistake_in(cluster, plan), "");
}

// Only one of ten pods has a place elsewhere, and it is not among the first ones that are tried.
TEST(MovesTest, SayWhereNotAllSetsOfPodsWereTried) {
  PlainCluster cluster{.nodes = {{}, {}}, .wanted = {{.request = share(100), .not_on = {1}}}};
  for (int i = 0; i < 10; ++i) {
    cluster.pods.push_back(pod_on(0, 0, 100));
    if (i > 0) cluster.pods.back().not_on = {1};
  }
  EXPECT_TRUE(plan_for(cluster).cut_short);
  cluster.pods.resize(5);
  cluster.wanted.front().request = share(600);
  expect_movers(cluster, {"pod-000"});
  EXPECT_FALSE(plan_for(cluster).cut_short);
}

TEST(MovesTest, SayWhereTheSearchesDidNotSuffice) {
  PlainCluster cluster = two_half_full();
  cluster.wanted.front().request = {.containers = 2, .milli = 400, .memory = 400};
  expect_movers(cluster, {"pod-001"});
  const auto without_searches = [&] {
    return plan_for(cluster, "binpack", cluster::MoveLimits{.searches = 0});
  };
  EXPECT_TRUE(without_searches().cut_short);
  // Nor is the place of a next pod found.
  cluster = two_half_full();
  cluster.pods[0].movable = false;
  cluster.pods[1].request = {.containers = 2, .milli = 200, .memory = 200};
  cluster.pods[1].cards = {0, 0};
  expect_movers(cluster, {"pod-001"});
  EXPECT_TRUE(without_searches().moves.empty());
  EXPECT_TRUE(without_searches().cut_short);
}

}  // namespace
}  // namespace tangram::testing
