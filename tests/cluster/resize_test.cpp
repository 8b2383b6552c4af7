#include "cluster/resize.hpp"

#include "model/placement.hpp"
#include "tests/extender/rig.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace tangram::cluster {
namespace {

using model::Allocation;
using model::Isolation;
using model::MemoryLimits;

constexpr const char* kUid = "uid";

/// A node with one card of 1000 MiB, so that a thousandth of it is 1 MiB.
model::NodeInventory node(MemoryLimits means = MemoryLimits::kLibrary) {
  auto card = testing::card("a", "T4", Mebibytes(1000));
  card.memory_limits = means;
  return testing::inventory("n", {card});
}

class ResizeOfTest : public ::testing::Test {
 protected:
  ResizeOfTest() { grant(testing::fraction(500)); }

  /// The pod as it was bound with this share.
  void grant(const model::Share& share, Isolation mode = Isolation::kTimeSlice) {
    request_ = testing::request(share);
    request_.isolation = mode;
    pod_ = testing::allocation(kUid, "n", {});
    pod_.isolation = mode;
    pod_.containers = grants_of(request_, testing::node(node_), {0});
  }
  void ask(const model::Share& share) { request_.containers[0].share = share; }
  /// The revision that answers the request is written.
  void write() { pod_ = next_revision(pod_, request_, now()); }
  void answer(model::ResizeAnswer answer) { node_.resizes[kUid] = answer; }

  model::NodeState now() {
    const model::NodeState with_its = with_pod(testing::node(node_), pod_);
    return other_ ? with_pod(with_its, *other_) : with_its;
  }
  std::string state() {
    const auto resize = now_of();
    return resize ? std::string(to_string(resize->state)) : "none";
  }
  std::string reason() { return std::string(now_of()->reason); }
  std::optional<Resize> now_of() {
    const ResizablePod pod{.pod = {}, .node = "n", .request = request_, .revision = pod_.revision};
    return resize_of(pod_, &pod, now());
  }

  model::NodeInventory node_ = node();
  model::GpuRequest request_;
  Allocation pod_;
  std::optional<Allocation> other_;  ///< on the same card
};

TEST_F(ResizeOfTest, GoesFromProposedToItsEnd) {
  EXPECT_EQ(state(), "none");
  ask(testing::fraction(700));
  EXPECT_EQ(state(), "Proposed");
  write();
  EXPECT_EQ(state(), "InProgress");
  answer({.applied = 0});
  EXPECT_EQ(state(), "InProgress");
  answer({.applied = 1});
  EXPECT_EQ(state(), "none");
}

TEST_F(ResizeOfTest, ARevisionIsWaitedForEvenIfTheRequestChangesAgain) {
  ask(testing::fraction(700));
  write();
  ask(testing::fraction(200));
  EXPECT_EQ(state(), "InProgress");
  answer({.applied = 1});
  EXPECT_EQ(state(), "Proposed");
}

TEST_F(ResizeOfTest, SaysWhatTheAgentRefuses) {
  ask(testing::fraction(100));
  write();
  answer({.applied = 0, .refused = 1, .why = model::ResizeRefusal::kInUse});
  EXPECT_EQ(state(), "Infeasible");
  EXPECT_NE(reason().find("use more memory"), std::string::npos);
  answer({.applied = 0, .refused = 1, .why = model::ResizeRefusal::kCannotChange});
  EXPECT_EQ(state(), "Infeasible");
  EXPECT_NE(reason().find("cannot change the limits"), std::string::npos);
  answer({.applied = 0, .refused = 1, .why = model::ResizeRefusal::kNoRoom});
  EXPECT_EQ(state(), "Deferred");
  answer({.applied = 0, .refused = 1, .why = model::ResizeRefusal::kUnknown});
  EXPECT_EQ(state(), "Infeasible");
  EXPECT_NE(reason().find("only a newer version knows"), std::string::npos);
  EXPECT_FALSE(must_be_taken_back(pod_, now()));
  ask(testing::fraction(300));
  EXPECT_EQ(state(), "Proposed");
}

TEST_F(ResizeOfTest, WhatWasTakenBackForGoodIsInfeasibleUntilTheRequestChanges) {
  ask(testing::fraction(700));
  write();
  answer({.applied = 0, .refused = 1, .why = model::ResizeRefusal::kCannotChange});
  ASSERT_TRUE(must_be_taken_back(pod_, now()));
  pod_ = taken_back(pod_, now());
  EXPECT_EQ(pod_.revision, 2);
  EXPECT_EQ(pod_.containers[0].cards[0].compute, MilliGpu(500));
  EXPECT_EQ(state(), "Infeasible") << "also until the agent has applied that";
  answer({.applied = 2});
  EXPECT_EQ(state(), "Infeasible");
  EXPECT_NE(reason().find("cannot change the limits"), std::string::npos);
  ask(testing::fraction(500));
  EXPECT_EQ(state(), "none");
  ask(testing::fraction(800));
  EXPECT_EQ(state(), "Proposed");
  write();
  EXPECT_FALSE(pod_.former_refused);
}

TEST_F(ResizeOfTest, WhatTakesARevisionBackIsNotTakenBackItself) {
  ask(testing::fraction(700));
  write();
  answer({.applied = 0, .refused = 1, .why = model::ResizeRefusal::kCannotChange});
  pod_ = taken_back(pod_, now());
  answer({.applied = 0, .refused = 2, .why = model::ResizeRefusal::kCannotChange});
  EXPECT_FALSE(must_be_taken_back(pod_, now()));
  EXPECT_EQ(state(), "Infeasible");
}

TEST_F(ResizeOfTest, AGrantThatWasPutBackIsReplacedWhateverItsNumber) {
  ask(testing::fraction(500));
  const auto held = testing::granted("a", 700, 700).amounts();
  for (const int applied : {0, 2}) {
    answer({.applied = applied, .held = {{"main", {{"a", held}}}}});
    EXPECT_EQ(state(), "Proposed") << applied;
    const Allocation next = next_revision(pod_, request_, now());
    EXPECT_EQ(next.revision, applied + 1);
    EXPECT_EQ(next.containers[0].cards[0].compute, MilliGpu(500));
    EXPECT_EQ(next.containers[0].cards[0].former, held);
  }
}

TEST_F(ResizeOfTest, WithoutAValidRequestItIsInfeasible) {
  const ResizablePod unreadable{.pod = {}, .node = "n", .request = {}, .revision = 0};
  const auto resize = resize_of(pod_, &unreadable, now());
  ASSERT_TRUE(resize);
  EXPECT_EQ(resize->state, ResizeState::kInfeasible);
  EXPECT_NE(resize->reason.find("no valid request"), std::string_view::npos);
  ask(testing::fraction(700));
  write();
  EXPECT_EQ(resize_of(pod_, &unreadable, now())->state, ResizeState::kInProgress);
}

TEST_F(ResizeOfTest, ACardThatIsAwayIsWaitedFor) {
  ask(testing::fraction(100));
  node_.cards.clear();
  EXPECT_EQ(state(), "Deferred");
}

TEST_F(ResizeOfTest, AWholeCardStaysWhole) {
  grant(testing::whole());
  ask(testing::fraction(500));
  EXPECT_EQ(state(), "Infeasible");
  grant(testing::fraction(500));
  ask(testing::fraction(1000));
  EXPECT_EQ(state(), "Infeasible");
}

TEST_F(ResizeOfTest, AGrantThatDoesNotSayWhoIsAloneCannotBeRevised) {
  pod_.containers[0].cards[0].whole = std::nullopt;
  ask(testing::fraction(100));
  EXPECT_EQ(state(), "Infeasible");
}

model::Share with_compute(std::int64_t mib, std::int64_t milli) {
  model::Share share = testing::memory(mib);
  share.compute = MilliGpu(milli);
  return share;
}

TEST_F(ResizeOfTest, ARevisionIsTakenBackToWhatTheContainersHave) {
  ask(with_compute(300, 600));
  write();
  answer({.applied = 0, .refused = 1, .why = model::ResizeRefusal::kInUse});
  ask(with_compute(300, 800));
  write();
  const auto had = testing::granted("a", 500, 500).amounts();
  answer({.applied = 0,
          .refused = 2,
          .why = model::ResizeRefusal::kNoRoom,
          .held = {{"main", {{"a", had}}}}});
  ASSERT_TRUE(must_be_taken_back(pod_, now()));
  EXPECT_EQ(taken_back(pod_, now()).containers[0].cards[0].amounts(), had)
      << "and not the 600 of the first, which nobody had";
}

TEST_F(ResizeOfTest, WhatMpsLimitsCannotChangeInARunningProcess) {
  grant(with_compute(500, 500), Isolation::kMps);
  ask(with_compute(500, 400));
  EXPECT_EQ(state(), "Infeasible");
  EXPECT_NE(reason().find("MPS"), std::string::npos);
  ask(with_compute(400, 500));
  EXPECT_EQ(state(), "Proposed") << "the library limits the memory";
  ask(with_compute(600, 500));
  EXPECT_EQ(state(), "Infeasible") << "MPS has a limit of the start beside the library's";
  node_ = node(MemoryLimits::kMps);
  grant(with_compute(500, 500), Isolation::kMps);
  ask(with_compute(400, 500));
  EXPECT_EQ(state(), "Infeasible");
}

TEST_F(ResizeOfTest, WhatTheDriverLimitsChangesUnlessTheAgentCannot) {
  node_ = node(MemoryLimits::kDriver);
  grant(with_compute(500, 500));
  ask(with_compute(400, 500));
  EXPECT_EQ(state(), "Proposed");
  write();
  EXPECT_EQ(state(), "InProgress");
  answer({.applied = 0, .refused = 1, .why = model::ResizeRefusal::kCannotChange});
  EXPECT_EQ(state(), "Infeasible") << "an earlier agent, or a container that one has started";
  EXPECT_NE(reason().find("cannot change the limits"), std::string::npos);
}

TEST_F(ResizeOfTest, SaysHowToMoveAmountsOnAFullCard) {
  grant(with_compute(300, 700));
  other_ = testing::allocation("other", "n", {testing::shared("a", 700, 300)});
  other_->isolation = Isolation::kTimeSlice;
  ask(with_compute(400, 700));
  EXPECT_EQ(state(), "Deferred");
  EXPECT_EQ(reason(), "its card has no room for it now");
  ask(with_compute(400, 600));
  EXPECT_EQ(state(), "Deferred");
  EXPECT_NE(reason().find("first request less of what shrinks"), std::string::npos);
  ask(with_compute(300, 600));
  EXPECT_EQ(state(), "Proposed");
}

TEST_F(ResizeOfTest, APodWhoseGrantIsNotValidAnyMoreHasTheOneThatCounts) {
  ask(testing::fraction(400));
  kube::Pod pod;
  pod.uid = kUid;
  pod.node = "n";
  Recorded shown{.allocation = pod_};
  shown.allocation.by_start = true;
  const Result<PodPlan> plan =
      PodPlan{.demand = {.gpu = request_, .footprint = {}}, .policies = {}};
  const model::NodeState here = now();
  const auto found = resizable(pod, plan, shown, &here);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->request, request_);
  EXPECT_EQ(resizable(pod, plan, shown, nullptr), nullptr) << "nothing counts";
  pod_.by_start = true;
  const model::NodeState by_start = now();
  EXPECT_EQ(resizable(pod, plan, shown, &by_start), nullptr) << "what counts is not valid either";
}

TEST_F(ResizeOfTest, APodIsJudgedByTheGrantThatCounts) {
  kube::Pod pod;
  pod.uid = kUid;
  pod.node = "n";
  const Result<PodPlan> plan =
      PodPlan{.demand = {.gpu = request_, .footprint = {}}, .policies = {}};
  EXPECT_NE(resizable(pod, plan, {.allocation = pod_}, nullptr), nullptr)
      << "its node is not known";
  const model::NodeState has_it = now();
  EXPECT_EQ(resizable(pod, plan, {.allocation = pod_}, &has_it), nullptr);
  // Somebody has written what the pod requests over what it has.
  const Allocation shown = pod_;
  pod_.containers[0].cards[0].compute = MilliGpu(100);
  const model::NodeState has_less = now();
  EXPECT_NE(resizable(pod, plan, {.allocation = shown}, &has_less), nullptr);
}

TEST_F(ResizeOfTest, APodWithoutCardsHasNone) {
  pod_.containers.clear();
  EXPECT_EQ(state(), "none");
}

}  // namespace
}  // namespace tangram::cluster
