#include "cluster/broken_cards.hpp"

#include "cluster/places.hpp"
#include "tests/extender/rig.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tangram::cluster {
namespace {

using testing::card;
using testing::granted;

class BrokenCardsTest : public ::testing::Test {
 protected:
  BrokenCardsTest() {
    for (const char* id : {"A", "B"}) node_.cards.push_back(card(id));
    node_.cards.push_back(card("MIG-1"));
    node_.cards.back().parent = "C";
  }
  void granted_to(const std::string& pod, const std::vector<std::string>& cards,
                  bool terminating = false) {
    std::vector<model::GrantedCard> parts;
    for (const std::string& id : cards) parts.push_back(granted(id, 100, 100));
    model::Allocation allocation = testing::allocation(pod, "n", std::move(parts));
    allocation.terminating = terminating;
    ledger_.observe(std::move(allocation));
  }
  std::vector<std::string> found() {
    ledger_.put_node(node_);
    std::vector<std::string> lines;
    for (const PodOnBrokenCard& pod : pods_on_broken_cards(*ledger_.snapshot())) {
      lines.push_back(pod.pod.uid + ": " + pod.why + (pod.draining ? ", drained" : ""));
    }
    return lines;
  }
  using Lines = std::vector<std::string>;

  testing::ManualClock clock_;
  model::NodeInventory node_ = testing::inventory("n", {});
  model::Ledger ledger_{clock_};
};

TEST_F(BrokenCardsTest, NobodyWhereAllIsWell) {
  granted_to("p", {"A"});
  node_.cards[0].cordoned = true;
  EXPECT_EQ(found(), Lines{});
}

TEST_F(BrokenCardsTest, PodsWithAPartOfAnUnhealthyCard) {
  granted_to("on-a", {"A"});
  granted_to("on-b", {"B"});
  granted_to("on-both", {"B", "A"});
  granted_to("leaving", {"A"}, true);
  node_.cards[0].healthy = false;
  node_.cards[0].unavailable_reason = "XID 79";
  EXPECT_EQ(found(), (Lines{"on-a: its card A is unhealthy: XID 79",
                            "on-both: its card A is unhealthy: XID 79"}));
}

TEST_F(BrokenCardsTest, PodsOfACardThatIsDrained) {
  granted_to("on-a", {"A"});
  granted_to("on-part", {"MIG-1"});
  granted_to("on-b", {"B"});
  node_.draining = {"C", "A"};
  EXPECT_EQ(found(), Lines{}) << "they would take the next pods, too";
  for (model::Card& card : node_.cards) card.cordoned = true;
  EXPECT_EQ(found(), (Lines{"on-a: its card A is to be emptied, drained",
                            "on-part: its card MIG-1 is to be emptied, drained"}));
}

TEST(PlacesTest, EachPodTakesRoomFromTheNext) {
  extender::Rig rig;
  rig.add_node("a", 1);
  rig.add_node("b", 1);
  rig.sync();
  const auto half = [&](const std::string& name) {
    rig.add_half(name);
    rig.show(name);
    const PodPtr pod = rig.table.find("ml", name);
    return PlacelessPod{pod, *rig.policies.plan(*pod)};
  };
  std::vector<PlacelessPod> pods;
  model::SearchBudget budget;
  for (const char* name : {"p", "q", "r", "s"}) {
    pods.push_back(half(name));
    EXPECT_TRUE(all_find_places(pods, *rig.ledger.snapshot(), budget)) << name;
  }
  pods.push_back(half("t"));
  EXPECT_FALSE(all_find_places(pods, *rig.ledger.snapshot(), budget));
}

TEST(PlacesTest, NodesMayTakeOnePodAndNotAnotherLikeIt) {
  extender::Rig rig;
  rig.add_node("a", 1);
  rig.add_node("b", 1);
  rig.sync();
  std::vector<PlacelessPod> pods;
  for (const char* name : {"p", "q"}) {
    rig.add_half(name);
    rig.show(name);
    const PodPtr pod = rig.table.find("ml", name);
    pods.push_back({pod, *rig.policies.plan(*pod)});
  }
  const auto fit = [&](const std::set<std::string>& takes) {
    model::SearchBudget budget;
    return all_find_places(pods, *rig.ledger.snapshot(), budget,
                           [&](const kube::Pod& pod, const model::NodeState& node) {
                             return takes.contains(pod.name + " on " + node.inventory->name);
                           });
  };
  EXPECT_TRUE(fit({"p on b", "q on a"}));
  EXPECT_TRUE(fit({"p on a", "q on a"}));
  EXPECT_FALSE(fit({"p on a", "p on b"}));
}

}  // namespace
}  // namespace tangram::cluster
