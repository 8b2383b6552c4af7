#include "extender/scheduling/promises.hpp"

#include "model/ledger.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/pod_recorder.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using testing::allocation;
using testing::granted;

/// Nodes "a" and "b", each with a victim of the same name, and a pod "p" that evicts one of them.
class PromisesTest : public ::testing::Test {
 protected:
  PromisesTest() {
    for (const char* name : {"a", "b"}) {
      ledger_.put_node(testing::inventory(name, {testing::card(name)}));
      show_victim(name);
    }
    show("");
  }
  void show_victim(const std::string& name, bool terminating = false) {
    model::Allocation victim = allocation(name, name, {granted(name, 500, 500)});
    victim.terminating = terminating;
    ledger_.observe(std::move(victim));
  }
  void show(const std::string& nominated) {
    pod_.uid = "p";
    pod_.nominated_node = nominated;
    testing::put_pending(table_, pod_);
  }
  void promise(const std::vector<std::string>& nodes) {
    std::map<std::string, Victims, std::less<>> victims;
    for (const std::string& node : nodes) victims[node] = {.uids = {node}};
    promises_.made(pod_, victims);
  }
  /// The nodes that are kept for the pod.
  std::vector<std::string> kept() {
    promises_.review(*ledger_.snapshot(), table_);
    std::vector<std::string> nodes;
    for (const Nomination& one : promises_.nominated()) nodes.push_back(one.node);
    EXPECT_EQ(promises_.made_to("p"), !nodes.empty());
    return nodes;
  }
  using Nodes = std::vector<std::string>;

  testing::ManualClock clock_;
  model::Ledger ledger_{clock_};
  cluster::PodTable table_;
  kube::Pod pod_;
  Promises promises_{clock_};
};

TEST_F(PromisesTest, ConcernAllNodesUntilOneIsChosen) {
  promise({"a", "b"});
  EXPECT_EQ(kept(), (Nodes{"a", "b"}));
  show("b");
  EXPECT_EQ(kept(), Nodes{"b"});
}

TEST_F(PromisesTest, ShareOnePodWithoutItsLabels) {
  pod_.labels = {{"app", "db"}};
  promise({"a", "b"});
  const auto nominated = promises_.nominated();
  ASSERT_EQ(nominated.size(), 2U);
  EXPECT_EQ(nominated[0].pod, nominated[1].pod);
  EXPECT_TRUE(nominated[0].pod->labels.empty());
}

TEST_F(PromisesTest, ConcernTheNodeThatAVictimLeaves) {
  promise({"a", "b"});
  show_victim("b", true);
  EXPECT_EQ(kept(), Nodes{"b"});
  clock_.advance(Promises::kUntilEviction + 60s);
  EXPECT_EQ(kept(), Nodes{"b"}) << "a victim may take its time to end";
}

TEST_F(PromisesTest, OutliveTheNomination) {
  promise({"a"});
  show("a");
  show_victim("a", true);
  EXPECT_EQ(kept(), Nodes{"a"});
  show("");
  EXPECT_EQ(kept(), Nodes{"a"});
}

TEST_F(PromisesTest, EndIfNobodyIsEvicted) {
  promise({"a", "b"});
  clock_.advance(Promises::kUntilEviction - 1ms);
  EXPECT_EQ(kept(), (Nodes{"a", "b"}));
  clock_.advance(1ms);
  EXPECT_EQ(kept(), Nodes{});
}

TEST_F(PromisesTest, EndSomeTimeAfterTheVictimsAreGone) {
  promise({"a"});
  ledger_.release("a");
  EXPECT_EQ(kept(), Nodes{"a"});
  clock_.advance(Promises::kUntilAsked - 1ms);
  EXPECT_EQ(kept(), Nodes{"a"});
  clock_.advance(1ms);
  EXPECT_EQ(kept(), Nodes{});
}

TEST_F(PromisesTest, EndWithThePod) {
  promise({"a"});
  promises_.forget("p");
  EXPECT_EQ(kept(), Nodes{});
  promise({"a"});
  table_.erase("p");
  EXPECT_EQ(kept(), Nodes{"a"}) << "the watch may be behind";
  clock_.advance(Promises::kUntilEviction);
  EXPECT_EQ(kept(), Nodes{});
}

TEST_F(PromisesTest, AreReplacedByTheNextOne) {
  promise({"a"});
  promise({"b"});
  EXPECT_EQ(kept(), Nodes{"b"});
}

TEST_F(PromisesTest, AreForgottenIfThereAreTooMany) {
  promise({"a"});
  for (std::size_t i = 0; i < Promises::kMost; ++i) {
    clock_.advance(1ms);
    pod_.uid = "q" + std::to_string(i);
    promise({"b"});
  }
  EXPECT_FALSE(promises_.made_to("p"));
  EXPECT_TRUE(promises_.made_to("q0"));
}

}  // namespace
}  // namespace tangram::extender
