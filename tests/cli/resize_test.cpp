#include "cli/resize.hpp"

#include "model/resizes.hpp"
#include "tests/cli/rig.hpp"
#include "tests/testing/fault_api.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

namespace tangram::cli {
namespace {

using cluster::ResizeState;

using namespace std::chrono_literals;

constexpr const char* kPod = "/api/v1/namespaces/ml/pods/half";

class ResizeTest : public ::testing::Test {
 protected:
  ResizeTest() {
    rig_.add_node("a", {testing::card("GPU-a0"), testing::card("GPU-a1")});
    uid_ = rig_.add_pod("half", {{"gpu-fraction", "0.5"}});
    rig_.bind("half", uid_, "a", {testing::shared("GPU-a0", 40'960, 500)});
  }

  std::string request(const model::Annotations& amounts, const std::string& pod = "half",
                      const std::string& container = "", kube::KubeApi* api = nullptr) {
    const auto done =
        request_resize(api != nullptr ? *api : rig_.api,
                       {.ns = "ml", .pod = pod, .amounts = amounts, .container = container}, {});
    return done ? *done : "error: " + done.error().message;
  }
  std::string annotation(const std::string& key) {
    const std::string text = rig_.ask(testing::get_request(kPod)).body;
    const auto pod = kube::decode_pod(text);
    if (!pod) throw std::runtime_error(pod.error().message);
    const auto found = pod->annotations.find(key);
    return found == pod->annotations.end() ? "(none)" : found->second;
  }
  void annotate(const std::string& path, const std::string& name, const std::string& value) {
    std::string patch;
    json::Writer out(patch);
    out.begin_object().key("metadata").begin_object().key("annotations").begin_object();
    out.member(name, value).end_object().end_object().end_object();
    rig_.ask(testing::write_request(kube::Method::kPatch, path, patch));
  }
  /// As the extender's leader.
  void grant(int revision, std::int64_t memory, std::int64_t milli) {
    model::Grant made = model::decode_grant(annotation("gpu-grant")).value();
    made.revision = revision;
    model::GrantedCard& card = made.containers.front().cards.front();
    card.former = card.amounts();
    card.set_amounts({Mebibytes(memory), MilliGpu(milli), Mebibytes(memory), MilliGpu(milli)});
    annotate(kPod, "tangram.dev/gpu-grant", model::encode(made));
  }
  /// As the node's agent.
  void answer(const model::ResizeAnswer& answer) {
    annotate("/api/v1/nodes/a", std::string(model::kResizesAnnotation),
             model::encode_resizes({{uid_, answer}}));
  }
  ResizeProgress progress() {
    const auto read = read_resize_progress(rig_.api, "ml", "half", {});
    return read ? *read
                : ResizeProgress{ResizeState::kInfeasible, "error: " + read.error().message};
  }
  std::size_t patches() {
    const auto calls = rig_.api.calls();
    return static_cast<std::size_t>(std::count_if(
        calls.begin(), calls.end(),
        [](const kube::Request& call) { return call.method == kube::Method::kPatch; }));
  }

  Rig rig_;
  std::string uid_;
};

TEST_F(ResizeTest, WritesTheAmountAndWhatItReplaces) {
  EXPECT_EQ(request({{"gpu-fraction", "0.25"}}),
            "ml/half: gpu-fraction from 0.5 to 0.25 requested");
  EXPECT_EQ(request({{"gpu-mem", "12Gi"}, {"gpu-compute", "0.3"}}),
            "ml/half: gpu-compute from none to 0.3, gpu-fraction from 0.25 to none, "
            "gpu-mem from none to 12Gi requested");
  EXPECT_EQ(annotation("gpu-mem"), "12Gi");
  EXPECT_EQ(annotation("gpu-fraction"), "(none)");
  EXPECT_EQ(request({{"gpu-mem-limit", "16Gi"}}),
            "ml/half: gpu-mem-limit from none to 16Gi requested");
  EXPECT_EQ(request({{"gpu-mem-limit", "none"}}),
            "ml/half: gpu-mem-limit from 16Gi to none requested");
  EXPECT_EQ(request({{"gpu-fraction", "0.5"}}),
            "ml/half: gpu-compute from 0.3 to none, gpu-fraction from none to 0.5, "
            "gpu-mem from 12Gi to none requested");
  EXPECT_EQ(patches(), 5U);
  EXPECT_EQ(request({{"gpu-fraction", "0.5"}}), "ml/half requests these amounts already");
  EXPECT_EQ(patches(), 5U);
}

TEST_F(ResizeTest, WritesTheFormThatThePodHas) {
  testing::PodText pod;
  pod.name = "two";
  pod.annotations = {{"tangram.dev/gpu-fraction", "0.25"}, {"tangram.dev/gpu-mem.side", "1Gi"}};
  pod.more_containers = {"side"};
  pod.limits = {{"tangram.dev/gpu-slot", "1"}};
  const std::string uid = rig_.add_pod(pod);
  rig_.bind("two", uid, "a", {testing::shared("GPU-a1", 20'480, 250)});
  EXPECT_EQ(
      request({{"gpu-mem", "2Gi"}}, "two"),
      "error: ml/two has 2 containers with a GPU request; name one: --container main or side");
  EXPECT_EQ(request({{"gpu-mem", "2Gi"}}, "two", "side"),
            "ml/two: gpu-mem.side from 1Gi to 2Gi requested");
  EXPECT_EQ(request({{"gpu-fraction", "0.1"}}, "two", "main"),
            "ml/two: gpu-fraction from 0.25 to 0.1 requested");
  EXPECT_EQ(request({{"gpu-mem", "2Gi"}}, "two", "other"),
            "error: ml/two has no container \"other\" with a GPU request; those that have one: "
            "main, side");
}

TEST_F(ResizeTest, SaysWhatToDoAboutOtherPods) {
  EXPECT_NE(request({{"gpu-mem", "8"}}).find("write 8Gi"), std::string::npos);
  EXPECT_NE(request({{"gpu-fraction", "1"}}).find("cannot become a whole card"), std::string::npos);
  EXPECT_NE(request({{"gpu-compute", "0.1"}}).find("has no meaning beside"), std::string::npos);
  EXPECT_NE(request({{"gpu-mem", "1Gi"}}, "nobody").find("404"), std::string::npos);
  rig_.add_pod("waits", {{"gpu-fraction", "0.5"}});
  EXPECT_NE(request({{"gpu-mem", "1Gi"}}, "waits").find("has no node yet"), std::string::npos);
  const std::string uid = rig_.add_pod("whole", {{"gpu-count", "1"}});
  rig_.bind("whole", uid, "a", {testing::granted("GPU-a1", 81'920, 1'000)});
  EXPECT_NE(request({{"gpu-mem", "1Gi"}}, "whole").find("has whole cards"), std::string::npos);
  EXPECT_EQ(patches(), 0U);
}

/// Like a server that checks a dry run and finds no fault.
class DryRuns final : public testing::PassingApi {
 public:
  using PassingApi::PassingApi;
  Result<kube::Response> call(const kube::Request& request) override {
    if (!request.query.contains("dryRun")) return PassingApi::call(request);
    ++dry_runs;
    return kube::Response{.status = 200};
  }
  int dry_runs = 0;
};

TEST_F(ResizeTest, ChecksWithoutWriting) {
  DryRuns api(rig_.api);
  const auto done = request_resize(api,
                                   {.ns = "ml",
                                    .pod = "half",
                                    .amounts = {{"gpu-mem", "8Gi"}},
                                    .container = "",
                                    .dry_run = true},
                                   {});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_NE(done->find("would be requested (dry run)"), std::string::npos);
  EXPECT_EQ(api.dry_runs, 1);
  EXPECT_EQ(annotation("gpu-fraction"), "0.5");
}

/// Somebody else changes the pod between the read and the write, so many times.
class Meddler final : public testing::PassingApi {
 public:
  Meddler(kube::KubeApi& server, int times) : PassingApi(server), left_(times) {}
  Result<kube::Response> call(const kube::Request& request) override {
    if (request.method == kube::Method::kPatch && left_-- > 0) {
      (void)PassingApi::call(
          testing::write_request(kube::Method::kPatch, kPod,
                                 R"({"metadata":{"annotations":{"tangram.dev/gpu-fraction":"0.)" +
                                     std::to_string(100 + left_ % 800) + "\"}}}"));
    }
    return PassingApi::call(request);
  }

 private:
  int left_;
};

TEST_F(ResizeTest, ReadsThePodAgainWhenOthersHaveChangedIt) {
  Meddler twice(rig_.api, 2);
  EXPECT_EQ(request({{"gpu-fraction", "0.25"}}, "half", "", &twice),
            "ml/half: gpu-fraction from 0.100 to 0.25 requested");
  Meddler always(rig_.api, 1'000);
  EXPECT_NE(request({{"gpu-fraction", "0.3"}}, "half", "", &always).find("run the command again"),
            std::string::npos);
}

TEST_F(ResizeTest, TellsARejectionFromAMissingRight) {
  testing::FaultApi api(rig_.api);
  api.will_answer({.method = kube::Method::kPatch}, 403);
  const std::string rejected = request({{"gpu-mem", "8Gi"}}, "half", "", &api);
  EXPECT_NE(rejected.find("ml/half cannot be resized so: "), std::string::npos) << rejected;
  rig_.api.answer(kPod, 403, R"({"message":"pods \"half\" is forbidden: cannot get resource"})");
  EXPECT_NE(request({{"gpu-mem", "8Gi"}}).find("ClusterRole tangram-pod-resizer"),
            std::string::npos);
}

TEST_F(ResizeTest, KnowsHowFarItIs) {
  EXPECT_EQ(progress(), (ResizeProgress{std::nullopt, ""}));
  request({{"gpu-fraction", "0.25"}});
  EXPECT_EQ(progress(), (ResizeProgress{ResizeState::kProposed, ""}));
  grant(1, 20'480, 250);
  EXPECT_EQ(progress(), (ResizeProgress{ResizeState::kInProgress, ""}));
  answer({.applied = 0, .refused = 1, .why = model::ResizeRefusal::kInUse});
  EXPECT_EQ(progress().state, ResizeState::kInfeasible);
  EXPECT_NE(progress().reason.find("use more than that"), std::string::npos);
  answer({.applied = 0, .refused = 1, .why = model::ResizeRefusal::kNoRoom});
  EXPECT_EQ(progress().state, ResizeState::kDeferred);
  answer({.applied = 1, .refused = 0, .why = std::nullopt});
  EXPECT_EQ(progress(), (ResizeProgress{std::nullopt, ""}));
  request({{"gpu-mem", "8Gi"}, {"gpu-compute", "0.1"}});
  EXPECT_EQ(progress(), (ResizeProgress{ResizeState::kProposed, ""}));
  grant(2, 8'192, 100);
  EXPECT_EQ(progress(), (ResizeProgress{ResizeState::kInProgress, ""})) << "1 was applied, not 2";
  answer({.applied = 2, .refused = 0, .why = std::nullopt});
  EXPECT_EQ(progress(), (ResizeProgress{std::nullopt, ""}));
}

TEST_F(ResizeTest, ARequestThatWasTakenBackIsInfeasible) {
  model::Grant back = model::decode_grant(annotation("gpu-grant")).value();
  back.revision = 2;
  back.former_refused = true;
  model::GrantedCard& card = back.containers.front().cards.front();
  card.former =
      model::CardAmounts{Mebibytes(20'480), MilliGpu(250), Mebibytes(20'480), MilliGpu(250)};
  annotate(kPod, "tangram.dev/gpu-grant", model::encode(back));
  answer({.applied = 2, .refused = 0, .why = std::nullopt});
  request({{"gpu-fraction", "0.25"}});
  EXPECT_EQ(progress().state, ResizeState::kInfeasible);
  request({{"gpu-fraction", "0.5"}});
  EXPECT_EQ(progress(), (ResizeProgress{std::nullopt, ""}));
}

// ---- The wait.

class AwaitResizeTest : public ::testing::Test {
 protected:
  Result<ResizeProgress> wait(std::vector<Result<ResizeProgress>> reads,
                              std::optional<ResizeProgress> explained = std::nullopt) {
    std::size_t next = 0;
    return await_resize(
        [&] {
          ++reads_;
          return reads[std::min(next++, reads.size() - 1)];
        },
        [&] {
          ++explanations_;
          return explained;
        },
        {60s, clock_,
         [&](std::chrono::milliseconds time, std::stop_token) { clock_.advance(time); }});
  }

  testing::ManualClock clock_;
  int reads_ = 0;
  int explanations_ = 0;
};

const ResizeProgress kProposed{ResizeState::kProposed, ""};
const ResizeProgress kDone{std::nullopt, ""};

TEST_F(AwaitResizeTest, EndsWhenThePodIsResized) {
  EXPECT_EQ(wait({kProposed, {ResizeProgress{ResizeState::kInProgress}}, kDone}).value(), kDone);
  EXPECT_EQ(reads_, 3);
}

TEST_F(AwaitResizeTest, EndsWhenTheAgentRefuses) {
  const ResizeProgress refused{ResizeState::kInfeasible, "in use"};
  EXPECT_EQ(wait({kProposed, refused}).value(), refused);
}

TEST_F(AwaitResizeTest, EndsWhenTheExtenderSaysTwiceThatItIsInfeasible) {
  const ResizeProgress infeasible{ResizeState::kInfeasible, "larger than the card"};
  EXPECT_EQ(wait({kProposed}, infeasible).value(), infeasible);
  EXPECT_EQ(explanations_, 2);
  EXPECT_LT(reads_, 10);
}

TEST_F(AwaitResizeTest, SaysTheStateWhenTheTimeIsUp) {
  const ResizeProgress deferred{ResizeState::kDeferred, "no room"};
  EXPECT_EQ(wait({kProposed}, deferred).value(), deferred);
  EXPECT_EQ(reads_, 61);
  EXPECT_EQ(wait({kProposed}).value(), kProposed) << "nothing explains it";
}

TEST_F(AwaitResizeTest, GoesOnWhenTheServerDoesNotAnswerForAWhile) {
  const Error down = fail(Errc::kUnavailable, "down");
  EXPECT_EQ(wait({down, down, kDone}).value(), kDone);
  EXPECT_EQ(wait({down}).error().message, "down");
  EXPECT_EQ(wait({fail(Errc::kNotFound, "gone")}).error().message, "gone");
}

TEST(ResizeTextTest, SaysTheOutcome) {
  EXPECT_EQ(outcome_text("ml/p", kDone), "ml/p resized");
  EXPECT_EQ(outcome_text("ml/p", {ResizeState::kInfeasible, "in use"}),
            "ml/p is not resized: infeasible: in use");
  EXPECT_EQ(outcome_text("ml/p", {ResizeState::kDeferred, "no room"}),
            "ml/p is not resized yet: deferred: no room; the request stands, and `kubectl tangram "
            "explain ml/p` shows how far it is");
}

}  // namespace
}  // namespace tangram::cli
