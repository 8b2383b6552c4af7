#include "tests/testing/fault_plan.hpp"

#include "kube/local/api.hpp"
#include "tests/testing/fault_api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace tangram::testing {
namespace {

using std::chrono::milliseconds;
using Kind = Fault::Kind;

FaultScript script(const std::string& text) {
  auto parsed = parse_faults(text);
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  return parsed ? *parsed : FaultScript{};
}

/// "x" for a call with a fault, "." for one that does not.
std::string met(FaultPlan& plan, int calls) {
  std::string line;
  for (int i = 0; i < calls; ++i) {
    line += plan.next(get_request("/api/v1/pods"), false) ? 'x' : '.';
  }
  return line;
}

TEST(FaultPlanTest, ReadsYamlAndJson) {
  const auto from_yaml = script(
      "seed: 7\n"
      "rules:\n"
      "- {method: POST, path-ends: /binding, fault: answer, status: 503, retry-after: 2, times: "
      "3}\n"
      "- {path-starts: /api, fault: delay, delay-ms: 40, every: 2, probability: 0.5}\n"
      "- {fault: cut-watch, frames: 5}\n");
  ASSERT_EQ(from_yaml.rules.size(), 3U);
  EXPECT_EQ(from_yaml.seed, 7U);
  const FaultRule& answer = from_yaml.rules[0];
  EXPECT_EQ(answer.match.method, kube::Method::kPost);
  EXPECT_EQ(answer.match.path_ends, "/binding");
  EXPECT_EQ(answer.fault.status, 503);
  EXPECT_EQ(answer.fault.retry_after, std::chrono::seconds(2));
  EXPECT_EQ(answer.times, 3U);
  EXPECT_EQ(from_yaml.rules[1].fault.delay, milliseconds(40));
  EXPECT_EQ(from_yaml.rules[1].every, 2U);
  EXPECT_DOUBLE_EQ(from_yaml.rules[1].probability, 0.5);
  EXPECT_TRUE(from_yaml.rules[2].match.watch);
  EXPECT_EQ(from_yaml.rules[2].fault.frames, 5U);
  EXPECT_EQ(script(R"({"rules":[{"fault":"lose-answer"}]})").rules[0].fault.kind,
            Kind::kLoseAnswer);
  EXPECT_TRUE(script("").rules.empty());
}

TEST(FaultPlanTest, SaysWhatToWriteInstead) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"rules: [{fault: explode}]", "write one of refuse, lose-before"},
      {"rules: [{times: 1}]", "a rule needs fault"},
      {"rules: [{fault: answer}]", "answer needs status"},
      {"rules: [{fault: answer, status: 99}]", "write 100 to 599"},
      {"rules: [{fault: hold, method: FETCH}]", "write GET, POST"},
      {"rules: [{fault: hold, every: 0}]", "write 1 to"},
      {"rules: [{fault: hold, probability: 1.5}]", "write 0 to 1"},
      {"rules: [{fault: hold, tiems: 1}]", "tiems"},
      {"rulse: []", "write seed or rules"},
      {"{}\n---\n{}", "write one document"},
      {"rules: [", "not valid YAML"},
  };
  for (const auto& [text, says] : cases) {
    const auto parsed = parse_faults(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, Errc::kInvalidArgument);
    EXPECT_NE(parsed.error().message.find(says), std::string::npos) << parsed.error().message;
  }
}

TEST(FaultPlanTest, HitsAsOftenAsItSays) {
  FaultPlan plan;
  plan.set(script("rules: [{fault: refuse, times: 2}]"));
  EXPECT_EQ(plan.left(), 2U);
  EXPECT_EQ(met(plan, 4), "xx..");
  EXPECT_EQ(plan.left(), 0U);
  plan.set(script("rules: [{fault: refuse, every: 3}]"));
  EXPECT_EQ(met(plan, 7), "..x..x.");
  plan.set(script("rules: [{fault: refuse, every: 2, times: 2}]"));
  EXPECT_EQ(met(plan, 7), ".x.x...");
  plan.set(script("rules: [{fault: refuse, probability: 0}]"));
  EXPECT_EQ(met(plan, 50).find('x'), std::string::npos);
}

TEST(FaultPlanTest, ChanceFollowsTheSeed) {
  const auto drawn = [](const std::string& seed) {
    FaultPlan plan;
    plan.set(script("seed: " + seed + "\nrules: [{fault: refuse, probability: 0.5}]"));
    return met(plan, 64);
  };
  EXPECT_EQ(drawn("5"), drawn("5"));
  EXPECT_NE(drawn("5"), drawn("6"));
  EXPECT_NE(drawn("5").find('x'), std::string::npos);
  EXPECT_NE(drawn("5").find('.'), std::string::npos);
}

TEST(FaultPlanTest, FirstRuleThatIsDueTakesTheCall) {
  FaultPlan plan;
  plan.set(
      script("rules: [{path-ends: /pods, fault: refuse, times: 1}, {fault: hold},"
             " {watch: true, fault: lose-before}]"));
  EXPECT_EQ(plan.next(get_request("/api/v1/nodes"), false)->kind, Kind::kHold);
  EXPECT_EQ(plan.next(get_request("/api/v1/pods"), false)->kind, Kind::kRefuseBefore);
  EXPECT_EQ(plan.next(get_request("/api/v1/pods"), false)->kind, Kind::kHold);
  EXPECT_EQ(plan.next(get_request("/api/v1/pods"), true)->kind, Kind::kLoseBefore);
}

TEST(FaultPlanTest, WhatItSaysCanBeReadBack) {
  FaultPlan plan;
  plan.set(
      script("seed: 9\nrules: [{method: PUT, path-starts: /a, path-ends: /b, fault: answer,"
             " status: 429, retry-after: 3, times: 4, every: 2, probability: 0.25},"
             " {fault: delay, delay-ms: 5}, {fault: expire-watch, frames: 0}]"));
  met(plan, 3);
  const std::string text = plan.to_json();
  EXPECT_NE(text.find(R"("delay-ms":5,"seen":3,"hits":3)"), std::string::npos) << text;
  FaultPlan again;
  again.set(script(text));
  met(again, 3);
  EXPECT_EQ(again.to_json(), text);
}

/// A LocalApi with one pod, and a network before it.
class FaultApiTest : public ::testing::Test {
 protected:
  FaultApiTest() {
    (void)server.call(
        write_request(kube::Method::kPost, "/api/v1/namespaces/ml/pods", pod_json({})));
  }
  struct Heard {
    std::vector<std::string> types;
    Result<kube::Response> end;
  };
  /// A watch that its client ends after `count` frames.
  Heard watch(std::size_t count) {
    std::vector<std::string> types;
    auto end = api.watch(
        get_request("/api/v1/pods", {{"allowWatchBookmarks", "true"}}),
        [&](const std::string& frame) {
          types.push_back(json_at(frame, "type"));
          return types.size() < count;
        },
        std::stop_token());
    return {std::move(types), std::move(end)};
  }

  ManualClock clock;
  kube::LocalApi server{clock};
  std::vector<milliseconds> slept;
  FaultApi api{server, FaultApi::Record::kNothing,
               [this](milliseconds wait, const std::stop_token&) { slept.push_back(wait); }};
};

TEST_F(FaultApiTest, DelaysBeforeAndAfter) {
  api.plan().set(
      script("rules: [{method: POST, fault: delay-answer, delay-ms: 30},"
             " {fault: delay, delay-ms: 20}]"));
  EXPECT_EQ(api.call(get_request("/api/v1/pods"))->status, 200);
  const auto made = api.call(write_request(kube::Method::kPost, "/api/v1/namespaces/ml/pods",
                                           pod_json({.name = "train-1"})));
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(slept, (std::vector{milliseconds(20), milliseconds(30)}));
  EXPECT_TRUE(api.calls().empty()) << "nothing was to be recorded";
}

TEST_F(FaultApiTest, DelaysEachFrameOfAWatch) {
  api.plan().set(script("rules: [{fault: delay-frames, delay-ms: 40}]"));
  EXPECT_EQ(watch(2).types, (std::vector<std::string>{"ADDED", "BOOKMARK"}));
  EXPECT_EQ(slept, (std::vector<milliseconds>{milliseconds(40), milliseconds(40)}));
}

TEST_F(FaultApiTest, CutsAWatchAfterSoManyFrames) {
  api.plan().set(script("rules: [{fault: cut-watch, frames: 1, times: 1}]"));
  const Heard cut = watch(2);
  EXPECT_EQ(cut.types, std::vector<std::string>{"ADDED"});
  ASSERT_FALSE(cut.end.has_value());
  EXPECT_EQ(cut.end.error().code, Errc::kTimeout);
  EXPECT_EQ(watch(2).types, (std::vector<std::string>{"ADDED", "BOOKMARK"}));
}

TEST_F(FaultApiTest, ExpiresAWatch) {
  api.plan().set(
      script("rules: [{fault: expire-watch, times: 1},"
             " {fault: expire-watch, frames: 1}]"));
  EXPECT_EQ(watch(9).types, std::vector<std::string>{"ERROR"});
  const Heard later = watch(9);
  EXPECT_EQ(later.types, (std::vector<std::string>{"ADDED", "ERROR"}));
  ASSERT_TRUE(later.end.has_value());
  EXPECT_EQ(later.end->status, 200);
}

TEST_F(FaultApiTest, RefusesWatches) {
  api.plan().set(
      script("rules: [{watch: true, fault: answer, status: 410, times: 1},"
             " {watch: true, fault: refuse}]"));
  EXPECT_EQ(watch(1).end->status, 410);
  const Heard refused = watch(1);
  ASSERT_FALSE(refused.end.has_value());
  EXPECT_EQ(refused.end.error().code, Errc::kUnavailable);
  EXPECT_EQ(api.call(get_request("/api/v1/pods"))->status, 200) << "a list is no watch";
}

TEST_F(FaultApiTest, HeldCallsGoOnWhenReleasedAndLaterOnesAreHeldAgain) {
  api.plan().set(script("rules: [{fault: hold}]"));
  for (std::size_t round = 1; round <= 2; ++round) {
    int status = 0;
    std::jthread caller(
        [&] { status = api.call(get_request("/api/v1/namespaces/ml/pods/train-0"))->status; });
    api.await_held(round);
    EXPECT_EQ(status, 0);
    api.release_held();
    caller.join();
    EXPECT_EQ(status, 200);
  }
}

}  // namespace
}  // namespace tangram::testing
