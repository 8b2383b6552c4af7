#include "model/snapshot.hpp"

#include "model/ledger.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tangram::model {
namespace {

using testing::allocation;
using testing::card;
using testing::granted;
using testing::inventory;

/// "node-007": sorts as it counts.
std::string node_name(int i) {
  const std::string digits = std::to_string(i);
  return "node-" + std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits;
}

class SnapshotTest : public ::testing::Test {
 protected:
  void put(const std::string& name) { ledger_.put_node(inventory(name, {card("GPU-" + name)})); }
  void observe(const std::string& uid, const std::string& node) {
    ledger_.observe(allocation(uid, node, {granted("GPU-" + node, 10, 10)}));
  }
  std::vector<std::string> names(const ClusterSnapshot& snapshot) const {
    std::vector<std::string> all;
    for (const NodeState* node : snapshot.sorted_nodes()) all.push_back(node->name);
    return all;
  }

  testing::ManualClock clock_;
  Ledger ledger_{clock_};
};

using Names = std::vector<std::string>;

TEST_F(SnapshotTest, NoNodesNoAnswers) {
  const auto empty = ledger_.snapshot();
  EXPECT_EQ(empty->find("a"), nullptr);
  EXPECT_FALSE(empty->lookup("a").has_value());
  EXPECT_EQ(empty->at(0), nullptr);
  EXPECT_EQ(empty->node_count(), 0U);
  EXPECT_TRUE(empty->sorted_nodes().empty());
  empty->for_each([](const NodeState& node) { FAIL() << node.name; });
}

TEST_F(SnapshotTest, WithoutAChangeItIsTheSameSnapshot) {
  put("a");
  const auto first = ledger_.snapshot();
  EXPECT_EQ(ledger_.snapshot(), first);
}

TEST_F(SnapshotTest, FindsANodeByNameAndByIndex) {
  put("a");
  put("b");
  const auto ledger = ledger_.snapshot();
  ASSERT_NE(ledger->find("b"), nullptr);
  EXPECT_EQ(ledger->find("b")->name, "b");
  const auto found = ledger->lookup("b");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->node, ledger->find("b"));
  EXPECT_EQ(ledger->at(found->index), found->node);
  EXPECT_EQ(ledger->find("c"), nullptr);
}

TEST_F(SnapshotTest, ANodeThatLeftIsNotFoundButIsStillListed) {
  put("a");
  put("b");
  observe("p", "a");
  ledger_.remove_node("a");
  const auto ledger = ledger_.snapshot();
  EXPECT_EQ(ledger->find("a"), nullptr);
  EXPECT_FALSE(ledger->lookup("a").has_value());
  EXPECT_EQ(ledger->node_count(), 2U);
  EXPECT_EQ(names(*ledger), (Names{"a", "b"}));
}

TEST_F(SnapshotTest, OldSnapshotsNeverChange) {
  put("a");
  observe("p", "a");
  const auto old = ledger_.snapshot();
  const NodeState* const node = old->find("a");
  ASSERT_NE(node, nullptr);
  const NodeState copy = *node;
  const std::uint64_t version = old->version();

  observe("q", "a");
  put("b");
  ledger_.release("p");
  ledger_.put_node(inventory("a", {card("other")}));
  ledger_.remove_node("a");
  EXPECT_NE(ledger_.snapshot(), old);

  EXPECT_EQ(old->version(), version);
  EXPECT_EQ(names(*old), (Names{"a"}));
  EXPECT_EQ(old->find("a"), node);
  EXPECT_EQ(node->version, copy.version);
  EXPECT_EQ(node->use, copy.use);
  EXPECT_EQ(node->allocations, copy.allocations);
  EXPECT_EQ(node->inventory, copy.inventory);
  EXPECT_TRUE(node->present);
}

TEST_F(SnapshotTest, EveryChangeHasALaterVersion) {
  std::uint64_t last = ledger_.snapshot()->version();
  const auto grew = [&] {
    const std::uint64_t now = ledger_.snapshot()->version();
    return now > std::exchange(last, now);
  };
  put("a");
  EXPECT_TRUE(grew());
  observe("p", "a");
  EXPECT_TRUE(grew());
  EXPECT_EQ(ledger_.snapshot()->find("a")->version, last);
  ledger_.release("p");
  EXPECT_TRUE(grew());
  ledger_.remove_node("a");
  EXPECT_TRUE(grew());
  EXPECT_FALSE(grew());
}

TEST_F(SnapshotTest, AnIndexIsStableWhileItsNodeIsKnownAndReusedAfterwards) {
  put("a");
  put("b");
  const auto before = ledger_.snapshot();
  const NodeIndex of_a = before->lookup("a").value().index;
  const NodeIndex of_b = before->lookup("b").value().index;
  observe("p", "b");
  ledger_.remove_node("b");  // still known: it holds a pod
  EXPECT_EQ(ledger_.snapshot()->at(of_b)->name, "b");
  ledger_.remove_node("a");
  EXPECT_EQ(ledger_.snapshot()->at(of_a), nullptr);
  put("c");
  const auto after = ledger_.snapshot();
  EXPECT_EQ(after->lookup("c").value().index, of_a);
  ASSERT_NE(after->at(of_a), nullptr);
  EXPECT_EQ(after->at(of_a)->name, "c");
  EXPECT_EQ(before->at(of_a)->name, "a");
  EXPECT_EQ(after->find("a"), nullptr);
}

TEST_F(SnapshotTest, AnIndexOfANewerSnapshotIsNothingInAnOlderOne) {
  const auto old = ledger_.snapshot();
  put("a");
  EXPECT_EQ(old->at(ledger_.snapshot()->lookup("a").value().index), nullptr);
}

class LargeSnapshotTest : public SnapshotTest {
 protected:
  static constexpr int kNodes = 1000;  // 16 runs, the last one not full
  LargeSnapshotTest() {
    for (int i = kNodes - 1; i >= 0; --i) put(node_name(i));
  }
};

TEST_F(LargeSnapshotTest, HoldsEveryNodeOnce) {
  const auto ledger = ledger_.snapshot();
  std::set<std::string> seen;
  std::set<NodeIndex> indices;
  ledger->for_each([&](const NodeState& node) {
    EXPECT_TRUE(seen.insert(node.name).second) << node.name;
    EXPECT_TRUE(indices.insert(ledger->lookup(node.name).value().index).second) << node.name;
    EXPECT_EQ(ledger->find(node.name), &node);
  });
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kNodes));
  EXPECT_EQ(ledger->node_count(), static_cast<std::size_t>(kNodes));
}

TEST_F(LargeSnapshotTest, SortsByName) {
  const Names sorted = names(*ledger_.snapshot());
  ASSERT_EQ(sorted.size(), static_cast<std::size_t>(kNodes));
  for (int i = 0; i < kNodes; ++i) EXPECT_EQ(sorted[static_cast<std::size_t>(i)], node_name(i));
}

TEST_F(LargeSnapshotTest, SharesTheNodesThatDidNotChange) {
  const auto before = ledger_.snapshot();
  observe("p", node_name(500));
  const auto after = ledger_.snapshot();
  int changed = 0;
  after->for_each([&](const NodeState& node) {
    if (before->find(node.name) == &node) return;
    ++changed;
    EXPECT_EQ(node.name, node_name(500));
  });
  EXPECT_EQ(changed, 1);
}

TEST_F(LargeSnapshotTest, SurvivesHalfOfTheNodesLeaving) {
  const auto before = ledger_.snapshot();
  for (int i = 0; i < kNodes; i += 2) ledger_.remove_node(node_name(i));
  const auto half = ledger_.snapshot();
  EXPECT_EQ(half->node_count(), static_cast<std::size_t>(kNodes / 2));
  for (int i = 0; i < kNodes; ++i) {
    EXPECT_EQ(half->find(node_name(i)) != nullptr, i % 2 == 1) << i;
    EXPECT_NE(before->find(node_name(i)), nullptr) << i;
  }
  for (int i = 0; i < kNodes; i += 2) put(node_name(i));
  EXPECT_EQ(names(*ledger_.snapshot()), names(*before));
}

// Runs are what makes publishing cheap: one that did not change is not copied.
TEST(NodeTableTest, SharesTheRunsThatDidNotChange) {
  NodeTable table;
  for (int i = 0; i < 3 * static_cast<int>(kNodesPerRun); ++i) {
    table.put(testing::node(inventory(node_name(i), {})));
  }
  const auto before = table.publish();
  const NodeState* const untouched = before->at(0);
  table.put(testing::node(inventory(node_name(static_cast<int>(kNodesPerRun)), {card("new")})));
  EXPECT_EQ(table.publish()->at(0), untouched);
  EXPECT_TRUE(before->at(kNodesPerRun)->cards().empty());
  EXPECT_EQ(table.publish()->at(kNodesPerRun)->cards().size(), 1U);
}

// Names stand in a node's tag as far as they have room there, and beside it.
/// Else the heap grows with the number of changes: such blocks leave holes that nothing fits.
TEST(NodeTableTest, WritesAgainIntoTheMemoryOfRunsThatNobodyReads) {
  NodeTable table;
  const auto change = [&table](std::int64_t cpu) {
    NodeState node = table.checkout("n");
    node.present = true;
    node.requested.cpu = MilliCpu(cpu);
    table.put(std::move(node));
    return table.publish();
  };
  auto reader = change(0);
  std::set<const NodeBrief*> places;
  for (std::int64_t cpu = 1; cpu <= 1000; ++cpu) {
    const auto next = change(cpu);
    EXPECT_EQ(reader->at(0)->requested.cpu, MilliCpu(cpu - 1));
    EXPECT_EQ(next->at(0)->requested.cpu, MilliCpu(cpu));
    reader = next;
    places.insert(&reader->brief(0));
  }
  EXPECT_LT(places.size(), 10U);
}

TEST_F(SnapshotTest, FindsNodesWhateverTheLengthOfTheirNames) {
  std::vector<std::string> all;
  for (std::size_t length = 1; length < 110; ++length) {
    all.push_back(std::string(length - 1, 'x') + "a");
    all.push_back(std::string(length - 1, 'x') + "b");
    all.push_back("y" + std::string(length, 'x'));
  }
  for (const std::size_t length : {253U, 254U, 255U, 300U}) {
    all.push_back(std::string(length, 'x'));
  }
  for (const std::string& name : all) put(name);
  const auto snapshot = ledger_.snapshot();
  std::vector<std::string_view> names(all.begin(), all.end());
  std::vector<ClusterSnapshot::Found> together(names.size());
  snapshot->lookup(names, together);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string& name = all[i];
    const auto found = snapshot->lookup(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->node->name, name);
    EXPECT_EQ(together[i].node, found->node);
    EXPECT_EQ(snapshot->at(found->index), found->node);
    EXPECT_FALSE(snapshot->lookup(name.substr(1) + "c"));
  }
}

TEST_F(SnapshotTest, FindsManyNodesAtATime) {
  for (const char* name : {"a", "b", "gone"}) put(name);
  observe("pod", "gone");
  ledger_.remove_node("gone");
  const auto snapshot = ledger_.snapshot();
  const std::vector<std::string_view> names{"b", "gone", "a", "unknown", "b"};
  std::vector<ClusterSnapshot::Found> found(names.size());
  snapshot->lookup(names, found);
  EXPECT_EQ(found[0].node, snapshot->find("b"));
  EXPECT_EQ(found[1].node, nullptr);
  EXPECT_EQ(found[1].index, snapshot->index_of("gone"));
  EXPECT_EQ(found[2].node, snapshot->find("a"));
  EXPECT_EQ(found[2].index, snapshot->lookup("a")->index);
  EXPECT_EQ(found[3].node, nullptr);
  EXPECT_EQ(found[3].index, kNoNode);
  EXPECT_EQ(found[4].node, found[0].node);
}

TEST_F(SnapshotTest, FindsNodesWhoseNamesShareAHash) {
  std::map<std::uint32_t, std::string> by_hash;
  std::array<std::string, 2> alike;
  for (int i = 0; alike[0].empty(); ++i) {
    const std::string name = "n" + std::to_string(i);
    const auto [other, is_new] = by_hash.emplace(hash_of(name), name);
    if (!is_new) alike = {other->second, name};
  }
  for (const std::string& name : alike) put(name);
  const auto snapshot = ledger_.snapshot();
  const std::vector<std::string_view> names(alike.begin(), alike.end());
  std::vector<ClusterSnapshot::Found> found(names.size());
  snapshot->lookup(names, found);
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(found[i].node->name, names[i]);
  ledger_.remove_node(alike[0]);
  EXPECT_FALSE(ledger_.snapshot()->lookup(alike[0]));
  EXPECT_TRUE(ledger_.snapshot()->lookup(alike[1]));
}

TEST_F(SnapshotTest, ForgetsTheNameOfTheNodeThatStoodInAPlaceBefore) {
  const std::string before = "gke-cluster-name-default-pool-a100-1a2b3c4d-abcd";
  const std::string after = "gke-cluster-name-default-pool-a100-1a2b3c4d-wxyz";
  put(before);
  ledger_.remove_node(before);
  put(after);
  EXPECT_FALSE(ledger_.snapshot()->lookup(before));
  EXPECT_EQ(ledger_.snapshot()->lookup(after).value().node->name, after);
}

TEST_F(SnapshotTest, TellsTheLeastPriorityOnANode) {
  put("a");
  const auto least = [&] { return ledger_.snapshot()->lookup("a").value().least_priority; };
  EXPECT_EQ(least(), kNoPriority);
  observe("p", "a");
  EXPECT_EQ(least(), 0);
  EXPECT_TRUE(ledger_.release("p"));
  EXPECT_EQ(least(), kNoPriority);
}

class LookTest : public SnapshotTest {
 protected:
  Look look_of(const std::string& node) { return ledger_.snapshot()->lookup(node).value().look; }
};

TEST_F(LookTest, NodesThatAreAlikeHaveOne) {
  put("a");
  put("b");
  EXPECT_EQ(look_of("a"), look_of("b"));
  const Look idle = look_of("a");
  observe("p", "a");
  EXPECT_NE(look_of("a"), idle);
  EXPECT_EQ(look_of("b"), idle);
  observe("q", "b");
  EXPECT_EQ(look_of("a"), look_of("b"));
  ledger_.release("p");
  EXPECT_NE(look_of("a").version, idle.version) << "a look without nodes is forgotten";
}

TEST_F(LookTest, NodesThatDifferInACardHaveTwo) {
  put("a");
  Card cordoned = card("GPU-b");
  cordoned.cordoned = true;
  ledger_.put_node(inventory("b", {cordoned}));
  EXPECT_NE(look_of("a"), look_of("b"));
}

TEST_F(LookTest, AChangeThatCountsForNoPodKeepsIt) {
  put("a");
  observe("p", "a");
  const Look before = look_of("a");
  auto same = allocation("p", "a", {granted("GPU-a", 10, 10)});
  same.terminating = true;
  ledger_.observe(same);
  EXPECT_EQ(look_of("a"), before);
}

// As when all pods are listed once more.
TEST_F(LookTest, ManyChangesBeforeAnybodyLooksLeaveNoTrace) {
  constexpr int kNodes = 10;
  constexpr int kPods = 500;
  for (int i = 0; i < kNodes; ++i) put("n" + std::to_string(i));
  (void)ledger_.snapshot();
  for (int pod = 0; pod < kPods; ++pod) {
    observe("p" + std::to_string(pod), "n" + std::to_string(pod % kNodes));
  }
  for (int i = 0; i < kNodes; ++i) {
    EXPECT_LT(look_of("n" + std::to_string(i)).index, 2U * kNodes);
  }
}

TEST_F(LookTest, HasAPlaceAmongThoseThatTheSnapshotCounts) {
  constexpr int kNodes = 100;
  for (int i = 0; i < kNodes; ++i) put(node_name(i));
  std::vector<std::shared_ptr<const ClusterSnapshot>> all{ledger_.snapshot()};
  // The looks of the last snapshot stay until the next one: for a while there are twice as many.
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kNodes; ++i) {
      const std::string uid = std::to_string(round) + "-" + std::to_string(i);
      ledger_.observe(
          allocation(uid, node_name(i), {granted("GPU-" + node_name(i), i + 1, i + 1)}));
    }
    all.push_back(ledger_.snapshot());
  }
  std::uint32_t highest = 0;
  for (const auto& snapshot : all) {
    for (const auto& node : snapshot->present()) {
      ASSERT_LT(node.look.index, snapshot->look_places());
      highest = std::max(highest, node.look.index);
    }
  }
  EXPECT_GE(highest, static_cast<std::uint32_t>(kNodes));
}

TEST_F(LookTest, ANodeThatLeftHasNone) {
  put("a");
  observe("p", "a");
  const auto before = ledger_.snapshot();
  ledger_.remove_node("a");
  EXPECT_FALSE(ledger_.snapshot()->lookup("a"));
  put("a");
  EXPECT_NE(look_of("a").version, before->lookup("a")->look.version);
}

TEST(NodeTableTest, NodesOfOneMakeShareIt) {
  NodeTable table;
  for (const char* name : {"a", "b", "c"}) {
    const bool odd = name[0] == 'c';
    table.put(testing::node(
        testing::inventory(name, {testing::card(std::string(name) + "-0", odd ? "H100" : "A100",
                                                Mebibytes(odd ? 81'559 : 81'920))})));
  }
  EXPECT_EQ(table.find("a")->make, table.find("b")->make);
  EXPECT_NE(table.find("a")->make, table.find("c")->make);
  EXPECT_EQ(table.find("c")->traits()[0].memory, Mebibytes(81'559));
}

TEST(NodeTableTest, ChecksOutAnEmptyNodeForANewName) {
  const NodeTable table;
  const NodeState fresh = table.checkout("a");
  EXPECT_EQ(fresh.name, "a");
  EXPECT_FALSE(fresh.present);
  EXPECT_TRUE(fresh.cards().empty());
  EXPECT_EQ(table.find("a"), nullptr);
}

TEST(NodeTableTest, DropsANodeThatIsGoneAndHoldsNothing) {
  NodeTable table;
  table.put(testing::node(inventory("a", {})));
  NodeState gone = table.checkout("a");
  gone.present = false;
  table.put(gone);
  EXPECT_EQ(table.find("a"), nullptr);
  table.put(table.checkout("never seen"));
  EXPECT_EQ(table.publish()->node_count(), 0U);
}

}  // namespace
}  // namespace tangram::model
