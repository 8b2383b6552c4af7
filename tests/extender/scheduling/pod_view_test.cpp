#include "extender/scheduling/pod_view.hpp"

#include "model/ledger.hpp"
#include "tests/extender/rig.hpp"
#include "tests/testing/builders.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::allocation;
using testing::card;
using testing::granted;
using testing::inventory;

/// A node "n" with two cards, and pods that wait.
class PodViewTest : public ::testing::Test {
 protected:
  PodViewTest() { ledger_.put_node(inventory("n", {card("A"), card("B")})); }

  static kube::Pod asking(const std::string& uid, const std::string& share, int priority = 0) {
    kube::Pod pod;
    pod.uid = uid;
    pod.ns = "ml";
    pod.name = uid;
    pod.priority = priority;
    pod.annotations = {{"gpu-fraction", share}};
    pod.containers = {{.name = "main", .slots = 1}};
    return pod;
  }
  void nominate(kube::Pod pod) {
    pod.nominated_node = "n";
    testing::put_pending(table_, std::move(pod));
  }
  /// Free compute of both cards, as the pod sees them.
  std::vector<std::int64_t> seen_by(const kube::Pod& pod, std::string_view held_on = "") {
    const auto snapshot = ledger_.snapshot();
    PodView view(*snapshot);
    fit_to_pod(view, pod, held_on, {table_, promises_}, policies_);
    const auto* node = view.find("n");
    std::vector<std::int64_t> free;
    for (std::size_t i = 0; i < node->cards().size(); ++i) {
      free.push_back(free_compute(node->cards()[i], node->use[i]).count());
    }
    return free;
  }
  using Free = std::vector<std::int64_t>;

  testing::ManualClock clock_;
  model::Ledger ledger_{clock_};
  cluster::PodTable table_;
  Promises promises_{clock_};
  cluster::PolicySource policies_{Rig::binpack()};
};

TEST_F(PodViewTest, IsTheSnapshotWhereNothingIsSpecial) {
  const auto snapshot = ledger_.snapshot();
  const PodView view(*snapshot);
  EXPECT_EQ(view.find("n"), snapshot->find("n"));
  EXPECT_EQ(view.find("m"), nullptr);
}

TEST_F(PodViewTest, DoesNotCountWhatIsHeldForThePodItself) {
  ASSERT_TRUE(
      ledger_.reserve(allocation("p", "n", {granted("A", 100, 700)}), std::chrono::seconds(1)));
  EXPECT_EQ(seen_by(asking("q", "0.5")), (Free{300, 1000}));
  EXPECT_EQ(seen_by(asking("p", "0.7"), "n"), (Free{1000, 1000}));
}

TEST_F(PodViewTest, KeepsTheRoomOfAPodNominatedThere) {
  nominate(asking("first", "0.5", 10));
  EXPECT_EQ(seen_by(asking("lower", "0.1", 9)), (Free{500, 1000}));
  EXPECT_EQ(seen_by(asking("equal", "0.1", 10)), (Free{500, 1000}));
  EXPECT_EQ(seen_by(asking("higher", "0.1", 11)), (Free{1000, 1000}));
  EXPECT_EQ(seen_by(asking("first", "0.5", 10)), (Free{1000, 1000}));
}

TEST_F(PodViewTest, KeepsTheCardThatTerminatingPodsStillHold) {
  model::Allocation leaving = allocation("leaving", "n", {granted("B", 100, 800)});
  leaving.terminating = true;
  ledger_.observe(std::move(leaving));
  ledger_.observe(allocation("stays", "n", {granted("A", 100, 600)}));
  nominate(asking("first", "0.6", 10));
  // B has 200 free and 800 on the way: they are spoken for, the rest of A is not.
  EXPECT_EQ(seen_by(asking("lower", "0.1")), (Free{400, 0}));
}

TEST_F(PodViewTest, KeepsNothingForAPodThatWouldNotFit) {
  ledger_.observe(allocation("stays", "n", {granted("A", 100, 600)}));
  ledger_.observe(allocation("too", "n", {granted("B", 100, 600)}));
  nominate(asking("first", "0.6", 10));
  EXPECT_EQ(seen_by(asking("lower", "0.1")), (Free{400, 400}));
}

TEST_F(PodViewTest, CountsANominatedPodOnceWhenItIsBooked) {
  nominate(asking("first", "0.5", 10));
  ASSERT_TRUE(
      ledger_.assume(allocation("first", "n", {granted("A", 100, 500)}), std::chrono::seconds(1)));
  EXPECT_EQ(seen_by(asking("lower", "0.1")), (Free{500, 1000}));
}

TEST_F(PodViewTest, ServesTheMoreImportantNominatedPodFirst) {
  nominate(asking("small", "0.4", 5));
  nominate(asking("large", "0.9", 10));
  EXPECT_EQ(seen_by(asking("lower", "0.1")), (Free{100, 600}));
}

TEST_F(PodViewTest, ForgetsANominationThatIsOver) {
  nominate(asking("first", "0.5", 10));
  testing::put_pending(table_, asking("first", "0.5", 10));  // no longer nominated
  EXPECT_EQ(seen_by(asking("lower", "0.1")), (Free{1000, 1000}));
  nominate(asking("first", "0.5", 10));
  table_.erase("first");
  EXPECT_EQ(seen_by(asking("lower", "0.1")), (Free{1000, 1000}));
  nominate(asking("first", "0.5", 10));
  EXPECT_EQ(table_.retain([](const std::string& /*uid*/) { return false; }),
            std::vector<std::string>{"first"});
  EXPECT_EQ(seen_by(asking("lower", "0.1")), (Free{1000, 1000}));
}

}  // namespace
}  // namespace tangram::extender
