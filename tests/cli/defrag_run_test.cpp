#include "cli/defrag/run.hpp"
#include "tests/cli/rig.hpp"
#include "tests/testing/fault_api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace tangram::cli {
namespace {

using namespace std::chrono_literals;
using cluster::MoveProgress;
using cluster::MoveRequest;
using cluster::MoveState;
using ::testing::HasSubstr;

class DefragRunTest : public ::testing::Test {
 protected:
  DefragRunTest() { create(); }
  void create() {
    rig_.ask(testing::write_request(kube::Method::kPost,
                                    "/api/v1/namespaces/tangram-system/configmaps",
                                    R"({"metadata":{"name":"tangram-defrag"}})"));
  }
  static Defrag plan() {
    Defrag plan;
    for (const char* uid : {"a", "b"}) plan.moves.push_back({.pod = {uid, "ml", uid}});
    plan.runs.push_back({.pod = {"w", "ml", "w"}});
    return plan;
  }
  [[nodiscard]] MovesPlace place() { return {.api = rig_.api, .ns = "tangram-system"}; }
  Result<void> request() {
    const WallTime now = rig_.clock.wall();
    request_ = move_request_of(plan(), now, 60s);
    return request_moves(place(), request_, now);
  }
  void write(const char* key, const std::string& value) {
    rig_.ask({.method = kube::Method::kPatch,
              .path = cluster::move_requests_path("tangram-system"),
              .body = cluster::move_request_patch(key, value),
              .content_type = "application/merge-patch+json"});
  }
  void report(MoveProgress progress) {
    if (progress.id.empty()) progress.id = request_.id;
    write(cluster::kProgressKey, cluster::to_json(progress));
  }
  std::string written() {
    const auto map = rig_.ask(testing::get_request(cluster::move_requests_path("tangram-system")));
    return cluster::read_move_requests(map.body).value().request;
  }
  /// @param steps  what happens in each second
  Result<MoveProgress> await(std::vector<std::function<void()>> steps) {
    std::size_t step = 0;
    return await_moves(place(), request_,
                       {.clock = rig_.clock,
                        .sleep =
                            [&](std::chrono::milliseconds time, const std::stop_token&) {
                              rig_.clock.advance(time);
                              if (step < steps.size()) steps[step++]();
                            },
                        .report =
                            [&](const MoveProgress& progress) {
                              reports_.push_back(progress_text(request_, progress));
                            }});
  }

  Rig rig_;
  MoveRequest request_;
  std::vector<std::string> reports_;
};

TEST_F(DefragRunTest, WaitsForTheEndOfWhatItRequests) {
  ASSERT_TRUE(request());
  EXPECT_EQ(written(), cluster::to_json(request_));
  EXPECT_EQ(request_.movers, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request_.waiting, (std::vector<std::string>{"w"}));
  const MoveProgress done{.id = request_.id, .state = MoveState::kDone, .evicted = 2, .placed = 1};
  const auto outcome =
      await({[&] { report({.id = "an earlier one", .evicted = 9}); }, [&] { report({}); }, [] {},
             [&] { report({.evicted = 1}); }, [&] { report(done); }});
  EXPECT_EQ(outcome.value(), done);
  EXPECT_EQ(reports_,
            (std::vector<std::string>{"0 of 2 pods evicted; room for 0 of 1 waiting pod",
                                      "1 of 2 pods evicted; room for 0 of 1 waiting pod"}));
  EXPECT_EQ(draw_outcome(file_screen(), request_, *outcome),
            "2 of 2 pods evicted; room for 1 of 1 waiting pod; done\n");
}

TEST_F(DefragRunTest, SaysWhyItWasStopped) {
  ASSERT_TRUE(request());
  report({.state = MoveState::kStopped, .evicted = 1, .message = "a place was\nlost"});
  const auto outcome = await({});
  EXPECT_THAT(draw_outcome(file_screen(), request_, outcome.value()),
              HasSubstr("1 of 2 pods evicted; room for 0 of 1 waiting pod; stopped: a place was"));
  std::string json = defrag_json(plan(), *outcome);
  EXPECT_THAT(json, HasSubstr(R"("run":{"state":"stopped","evicted":1,"placed":0,)"
                              R"("message":"a place was\nlost"})"));
}

TEST_F(DefragRunTest, WaitsForAnotherRequestToEnd) {
  ASSERT_TRUE(request());
  const MoveRequest first = request_;
  rig_.clock.advance(1s);
  const auto second = request();
  EXPECT_EQ(second.error().code, Errc::kConflict);
  EXPECT_THAT(second.error().message, HasSubstr("another request is under way, until 2026"));
  EXPECT_EQ(written(), cluster::to_json(first));
  report({.id = first.id, .state = MoveState::kStopped});
  EXPECT_TRUE(request());
  rig_.clock.advance(119s);
  EXPECT_FALSE(request()) << "the other one's clock may differ";
  rig_.clock.advance(2s);
  EXPECT_TRUE(request()) << "the time of the last one is over";
  write(cluster::kRequestKey, "{broken");
  EXPECT_TRUE(request()) << "no extender takes that";
}

TEST_F(DefragRunTest, KnowsThatARequestWithoutAnAnswerWasWritten) {
  testing::FaultApi faulty(rig_.server);
  faulty.plan().add({.match = {.method = kube::Method::kPatch},
                     .fault = {.kind = testing::Fault::Kind::kLoseAnswer},
                     .times = 1});
  const WallTime now = rig_.clock.wall();
  const MoveRequest request = move_request_of(plan(), now, 60s);
  EXPECT_TRUE(request_moves({.api = faulty, .ns = "tangram-system"}, request, now));
  EXPECT_EQ(written(), cluster::to_json(request));
}

TEST_F(DefragRunTest, WithdrawsWhatNoExtenderTakes) {
  ASSERT_TRUE(request());
  const auto outcome = await({});
  EXPECT_EQ(outcome.error().code, Errc::kUnavailable);
  EXPECT_THAT(outcome.error().message, HasSubstr("no extender has taken the request in 30 s, so"));
  EXPECT_EQ(written(), "");
}

TEST_F(DefragRunTest, EndsWhereTheRequestIsNotItsOwnAnyMore) {
  ASSERT_TRUE(request());
  const auto outcome = await({[&] { report({}); }, [&] { write(cluster::kRequestKey, ""); }});
  EXPECT_EQ(outcome.error().code, Errc::kConflict);
}

TEST_F(DefragRunTest, KnowsItsEndThoughAnotherRequestFollowsAtOnce) {
  ASSERT_TRUE(request());
  const auto outcome = await({[&] {
    report({.state = MoveState::kDone, .evicted = 2, .placed = 1});
    write(cluster::kRequestKey, "another one");
  }});
  EXPECT_EQ(outcome.value().state, MoveState::kDone);
}

TEST_F(DefragRunTest, EndsWhereNobodyReportsTheEnd) {
  ASSERT_TRUE(request());
  const auto begin = rig_.clock.now();
  const auto outcome = await({[&] { report({}); }});
  EXPECT_EQ(outcome.error().code, Errc::kUnavailable);
  EXPECT_THAT(outcome.error().message, HasSubstr("no more moves begin"));
  EXPECT_LE(rig_.clock.now() - begin, 122s);
}

TEST_F(DefragRunTest, SaysWhatIsMissing) {
  rig_.ask(
      {.method = kube::Method::kDelete, .path = cluster::move_requests_path("tangram-system")});
  EXPECT_EQ(request().error().code, Errc::kNotFound);
  EXPECT_THAT(request().error().message, HasSubstr("set defrag.on_request: true"));
  rig_.api.answer(cluster::move_requests_path("tangram-system"), 403, "no");
  EXPECT_EQ(request().error().code, Errc::kConflict);
  EXPECT_THAT(request().error().message, HasSubstr("tangram-pod-mover"));
  Defrag large = plan();
  large.runs.resize(MoveRequest::kMostPods + 1);
  EXPECT_EQ(
      request_moves(place(), move_request_of(large, rig_.clock.wall(), 60s), rig_.clock.wall())
          .error()
          .code,
      Errc::kInvalidArgument);
}

}  // namespace
}  // namespace tangram::cli
