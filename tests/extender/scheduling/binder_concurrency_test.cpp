#include "extender/scheduling/decide.hpp"
#include "tests/extender/rig.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace tangram::extender {
namespace {

using testing::any_binding;
using testing::binding_of;
using testing::Fault;

/// One node, "a", with two cards; its API server holds a bind for as long as a test wants.
class BinderConcurrencyTest : public ::testing::Test {
 protected:
  BinderConcurrencyTest() {
    rig_.add_node("a", 2);
    rig_.sync();
  }
  std::string waiting(const std::string& name, const std::string& fraction) {
    std::string uid = rig_.add_pod(name, {{"tangram.dev/gpu-fraction", fraction}});
    rig_.show(name);
    return uid;
  }
  /// Binds on a thread of its own, and returns once the request is held at the API server.
  std::future<Binder::BindResult> held_bind(const std::string& pod, const std::string& uid) {
    rig_.api.will(binding_of(pod), Fault::Kind::kHold);
    auto answer = std::async(std::launch::async, [=, this] { return rig_.bind(pod, uid, "a"); });
    rig_.api.await_held(++held_);
    return answer;
  }

  Rig rig_;
  std::size_t held_ = 0;
};

TEST_F(BinderConcurrencyTest, GoesOnWhileAnotherBindWaitsForTheApiServer) {
  const std::string slow_uid = waiting("slow", "0.5");
  auto slow = held_bind("slow", slow_uid);
  EXPECT_EQ(rig_.entry(slow_uid).phase, model::Phase::kAssumed);
  // On the same node: a filter sees what is booked, and another bind goes through.
  const auto plan = rig_.policies.plan(*rig_.table.find(slow_uid));
  ASSERT_TRUE(plan);
  const std::vector<std::string_view> names{"a"};
  const auto cluster = rig_.ledger.snapshot();
  model::SearchBudget budget;
  auto pass = plan->policies->cache.open(*plan->policy, plan->demand, *cluster, budget, slow_uid);
  const auto result =
      filter({.names = names, .demand = plan->demand, .refused = {}}, *cluster,
             [&](auto nodes, auto verdicts) { return pass.judge(nodes, verdicts); });
  EXPECT_EQ(result.kept.size(), 1U);
  EXPECT_EQ(rig_.bind("quick", waiting("quick", "1"), "a").outcome, BindOutcome::kBound);
  EXPECT_EQ(rig_.used("a", 0), MilliGpu(500));
  EXPECT_EQ(rig_.used("a", 1), MilliGpu(1'000));
  rig_.api.release();
  EXPECT_EQ(slow.get().outcome, BindOutcome::kBound);
  EXPECT_EQ(rig_.entry(slow_uid).phase, model::Phase::kConfirmed);
}

TEST_F(BinderConcurrencyTest, AnswersASecondBindOfThePodAtOnce) {
  const std::string uid = waiting("p", "0.5");
  auto first = held_bind("p", uid);
  const auto second = rig_.bind("p", uid, "a");
  EXPECT_EQ(second.outcome, BindOutcome::kUnavailable);
  EXPECT_NE(second.error.find("still under way"), std::string::npos) << second.error;
  EXPECT_EQ(rig_.used("a"), MilliGpu(500));
  rig_.api.release();
  EXPECT_EQ(first.get().outcome, BindOutcome::kBound);
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kAlreadyBound);
  EXPECT_EQ(rig_.api.calls(any_binding()).size(), 1U);
}

TEST_F(BinderConcurrencyTest, KeepsTheGrantOfAnotherWriterWhoBoundThePodMeanwhile) {
  const std::string uid = waiting("p", "0.5");
  auto ours = held_bind("p", uid);
  // Another Tangram binds it, with a smaller grant, and the watch shows that.
  const std::string theirs = model::encode(model::Grant{
      .pod_uid = uid,
      .node = "a",
      .issued_at = "2026-01-01T00:00:00Z",
      .isolation = model::Isolation::kMps,
      .containers = {{.container = "main", .cards = {testing::granted("a-1", 1'000, 100)}}},
      .signature = {}});
  rig_.ask(testing::write_request(
      kube::Method::kPost, "/api/v1/namespaces/ml/pods/p/binding",
      testing::binding_json("p", uid, "a", {{"tangram.dev/gpu-grant", theirs}})));
  rig_.show("p");
  rig_.api.release();
  EXPECT_EQ(ours.get().outcome, BindOutcome::kRefused);  // 409: bound already
  EXPECT_EQ(rig_.used("a", 0), MilliGpu(0));
  EXPECT_EQ(rig_.used("a", 1), MilliGpu(100));
  EXPECT_EQ(rig_.bind("p", uid, "a").outcome, BindOutcome::kAlreadyBound);
}

TEST_F(BinderConcurrencyTest, ReleasesAPodThatIsDeletedBeforeItsBindArrives) {
  const std::string uid = waiting("p", "0.5");
  const std::string before = rig_.picture();
  auto bind = held_bind("p", uid);
  rig_.end_pod("p");
  rig_.api.release();
  EXPECT_EQ(bind.get().outcome, BindOutcome::kRefused);
  EXPECT_EQ(rig_.picture(), before);
}

TEST_F(BinderConcurrencyTest, KeepsAPodReleasedThatEndsWhileItsAnswerIsOnTheWay) {
  const std::string uid = waiting("p", "0.5");
  const std::string before = rig_.picture();
  rig_.api.will(binding_of("p"), Fault::Kind::kLoseAnswer);
  rig_.api.will(testing::read_of("p"), Fault::Kind::kHold);
  auto bind = std::async(std::launch::async, [&] { return rig_.bind("p", uid, "a"); });
  rig_.api.await_held(1);  // bound, and about to be read
  rig_.show("p");
  rig_.end_pod("p");
  rig_.api.release();
  (void)bind.get();
  EXPECT_EQ(rig_.picture(), before);
}

TEST_F(BinderConcurrencyTest, BooksOnlyOneOfManyBindsOfOnePod) {
  const std::string uid = waiting("p", "0.5");
  std::atomic<int> bound{0};
  std::atomic<int> others{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(8);
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        const auto answer = rig_.bind("p", uid, "a");
        ++(answer.outcome == BindOutcome::kBound ? bound : others);
      });
    }
  }
  EXPECT_EQ(bound, 1);
  EXPECT_EQ(others, 7);
  EXPECT_EQ(rig_.api.calls(any_binding()).size(), 1U);
  EXPECT_EQ(rig_.used("a", 0) + rig_.used("a", 1), MilliGpu(500));
}

TEST_F(BinderConcurrencyTest, NeverBooksACardTwiceUnderManyBinds) {
  constexpr int kPods = 40;  // of 0.1; two cards hold 20
  std::vector<std::string> uids;
  uids.reserve(kPods);
  for (int i = 0; i < kPods; ++i) uids.push_back(waiting("p" + std::to_string(i), "0.1"));
  std::atomic<int> next{0};
  std::atomic<int> bound{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(6);
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&] {
        for (int i = next++; i < kPods; i = next++) {
          const auto at = static_cast<std::size_t>(i);
          const auto answer = rig_.bind("p" + std::to_string(i), uids[at], "a");
          if (answer.outcome == BindOutcome::kBound) ++bound;
        }
      });
    }
  }
  EXPECT_EQ(bound, 20);
  EXPECT_EQ(rig_.used("a", 0), MilliGpu(1'000));
  EXPECT_EQ(rig_.used("a", 1), MilliGpu(1'000));
  const std::string booked = rig_.picture();
  rig_.sync();
  EXPECT_EQ(rig_.picture(), booked);
}

}  // namespace
}  // namespace tangram::extender
