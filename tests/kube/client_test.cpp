#include "kube/client.hpp"

#include "kube/list_watch_codec.hpp"
#include "kube/local/api.hpp"
#include "kube/url.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/kube_scripted_api.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;
using testing::ScriptedApi;

const Binding kBinding{.ns = "ml",
                       .name = "train-0",
                       .uid = "6c5f",
                       .node = "n1",
                       .annotations = {{"tangram.dev/gpu-grant", R"({"v":1})"}}};

TEST(BindPodTest, SendsOneBindingWithUidAndAnnotations) {
  ScriptedApi api;
  api.will_answer(201, "{}");
  ASSERT_TRUE(bind_pod(api, kBinding, milliseconds(700)).has_value());
  ASSERT_EQ(api.calls().size(), 1U);
  const Request& sent = api.calls()[0];
  EXPECT_EQ(sent.method, Method::kPost);
  EXPECT_EQ(sent.path, "/api/v1/namespaces/ml/pods/train-0/binding");
  EXPECT_EQ(sent.timeout, milliseconds(700));
  EXPECT_EQ(sent.body,
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"train-0","namespace":"ml",)"
            R"("uid":"6c5f","annotations":{"tangram.dev/gpu-grant":"{\"v\":1}"}},)"
            R"("target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
}

struct Meaning {
  int status;
  Errc code;
};

class BindPodStatus : public ::testing::TestWithParam<Meaning> {};

TEST_P(BindPodStatus, SaysWhetherItWasApplied) {
  ScriptedApi api;
  api.will_answer(GetParam().status, R"({"kind":"Status","message":"because"})");
  const auto bound = bind_pod(api, kBinding, milliseconds(700));
  ASSERT_FALSE(bound.has_value());
  EXPECT_EQ(bound.error().code, GetParam().code);
  EXPECT_EQ(bound.error().message,
            "bind pod ml/train-0 to node n1: " + std::to_string(GetParam().status) + ": because");
}

INSTANTIATE_TEST_SUITE_P(
    All, BindPodStatus,
    ::testing::Values(Meaning{302, Errc::kTimeout}, Meaning{400, Errc::kInvalidArgument},
                      Meaning{403, Errc::kInvalidArgument}, Meaning{404, Errc::kNotFound},
                      Meaning{409, Errc::kConflict}, Meaning{422, Errc::kInvalidArgument},
                      Meaning{429, Errc::kUnavailable}, Meaning{500, Errc::kTimeout},
                      Meaning{504, Errc::kTimeout}),
    [](const auto& test) { return std::to_string(test.param.status); });

TEST(BindPodTest, PassesOnWhetherAnythingWasSent) {
  for (const Errc code : {Errc::kUnavailable, Errc::kTimeout}) {
    ScriptedApi api;
    api.will_answer(fail(code, "broken"));
    const auto bound = bind_pod(api, kBinding, milliseconds(700));
    ASSERT_FALSE(bound.has_value());
    EXPECT_EQ(bound.error().code, code);
  }
}

TEST(BindPodTest, BindsOnceAgainstTheLocalServer) {
  testing::ManualClock clock;
  LocalApi api(clock);
  const auto made = api.call(
      testing::write_request(Method::kPost, "/api/v1/namespaces/ml/pods", testing::pod_json({})));
  ASSERT_TRUE(made.has_value());
  Binding binding = kBinding;
  binding.uid = testing::json_at(made->body, "metadata.uid");
  EXPECT_TRUE(bind_pod(api, binding, milliseconds(700)).has_value());
  const auto pod = read_pod(api, "ml", "train-0", milliseconds(700));
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->node, "n1");
  EXPECT_EQ(pod->annotations, (model::Annotations{{"gpu-grant", R"({"v":1})"}}));
  EXPECT_EQ(bind_pod(api, binding, milliseconds(700)).error().code, Errc::kConflict);
}

TEST(ReadPodTest, TellsGoneFromTryAgain) {
  ScriptedApi api;
  api.will_answer(404, "");
  api.will_answer(500, "");
  api.will_answer(200, "not a pod");
  api.will_answer(fail(Errc::kTimeout, "silence"));
  EXPECT_EQ(read_pod(api, "ml", "p", milliseconds(1)).error().code, Errc::kNotFound);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read_pod(api, "ml", "p", milliseconds(1)).error().code, Errc::kUnavailable);
  }
}

TEST(ListVersionTest, IsThatOfTheWholeKind) {
  testing::ManualClock clock;
  LocalApi api(clock);
  const auto version = [&] {
    return list_version(api, "/api/v1/pods", {{"fieldSelector", "spec.nodeName=n1"}},
                        milliseconds(700));
  };
  const auto before = version();
  ASSERT_TRUE(before) << before.error().message;
  ASSERT_TRUE(api.call(
      testing::write_request(Method::kPost, "/api/v1/namespaces/ml/pods", testing::pod_json({}))));
  const auto after = version();
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_TRUE(older_version(*before, *after)) << *before << " and " << *after;
  EXPECT_EQ(list_version(api, "/api/v1/nonsense", {}, milliseconds(700)).error().code,
            Errc::kUnavailable);
}

TEST(OlderVersionTest, ComparesNumbersOfAnyLength) {
  EXPECT_TRUE(older_version("9", "10"));
  EXPECT_TRUE(older_version("99999999999999999999998", "99999999999999999999999"));
  EXPECT_FALSE(older_version("10", "10"));
  EXPECT_FALSE(older_version("11", "10"));
  EXPECT_FALSE(older_version("", "10"));
  EXPECT_FALSE(older_version("9", "abc"));
}

const Eviction kEviction{.ns = "ml", .name = "train-0", .uid = "6c5f"};

TEST(EvictPodTest, SendsOneEvictionOfThatUid) {
  ScriptedApi api;
  api.will_answer(201, "{}");
  const EvictionAnswer answer = evict_pod(api, kEviction, milliseconds(700));
  EXPECT_EQ(answer.outcome, EvictionOutcome::kEvicted);
  EXPECT_EQ(answer.message, "");
  ASSERT_EQ(api.calls().size(), 1U);
  const Request& sent = api.calls()[0];
  EXPECT_EQ(sent.method, Method::kPost);
  EXPECT_EQ(sent.path, "/api/v1/namespaces/ml/pods/train-0/eviction");
  EXPECT_EQ(sent.timeout, milliseconds(700));
  EXPECT_EQ(sent.body,
            R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"train-0",)"
            R"("namespace":"ml"},"deleteOptions":{"preconditions":{"uid":"6c5f"}}})");
}

TEST(EvictPodTest, AsksWhatWouldComeOfIt) {
  ScriptedApi api;
  api.will_answer(201, "{}");
  Eviction dry = kEviction;
  dry.dry_run = true;
  EXPECT_EQ(evict_pod(api, dry, milliseconds(1)).outcome, EvictionOutcome::kEvicted);
  EXPECT_EQ(api.calls().at(0).body,
            R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"train-0",)"
            R"("namespace":"ml"},"deleteOptions":{"preconditions":{"uid":"6c5f"},)"
            R"("dryRun":["All"]}})");
}

TEST(NominatePodTest, SendsOnePatchOfTheStatus) {
  ScriptedApi api;
  for (const int status : {200, 404, 409}) api.will_answer(status, "{}");
  const auto nominate = [&] {
    return nominate_pod(api, {.ns = "ml", .name = "train-0", .uid = "6c5f", .node = "n1"},
                        milliseconds(700));
  };
  EXPECT_TRUE(nominate());
  const Request& sent = api.calls().at(0);
  EXPECT_EQ(sent.method, Method::kPatch);
  EXPECT_EQ(sent.path, "/api/v1/namespaces/ml/pods/train-0/status");
  EXPECT_EQ(sent.content_type, "application/merge-patch+json");
  EXPECT_EQ(sent.body, R"({"metadata":{"uid":"6c5f"},"status":{"nominatedNodeName":"n1"}})");
  EXPECT_EQ(nominate().error().code, Errc::kNotFound);
  EXPECT_EQ(nominate().error().code, Errc::kConflict);
}

TEST(EvictPodTest, TellsApartWhatCameOfIt) {
  ScriptedApi api;
  for (const int status : {404, 409, 403, 500}) api.will_answer(status, "why");
  api.will_answer(
      Response{.status = 429, .body = "budget", .retry_after = std::chrono::seconds(10)});
  api.will_answer(fail(Errc::kTimeout, "silence"));
  const auto evict = [&] { return evict_pod(api, kEviction, milliseconds(1)); };
  EXPECT_EQ(evict().outcome, EvictionOutcome::kGone);
  EXPECT_EQ(evict().outcome, EvictionOutcome::kGone);
  EXPECT_EQ(evict().outcome, EvictionOutcome::kFailed);
  EXPECT_EQ(evict().message, "500: why");
  const EvictionAnswer refused = evict();
  EXPECT_EQ(refused.outcome, EvictionOutcome::kRefused);
  EXPECT_EQ(refused.retry_after, std::chrono::seconds(10));
  const EvictionAnswer silent = evict();
  EXPECT_EQ(silent.outcome, EvictionOutcome::kFailed);
  EXPECT_EQ(silent.message, "silence");
}

TEST(StatusMessageTest, FallsBackToAShortBody) {
  const auto said = [](const std::string& body) {
    return status_message(Response{.status = 500, .body = body, .retry_after = {}});
  };
  EXPECT_EQ(said(R"({"kind":"Status","message":"no"})"), "no");
  EXPECT_EQ(said("Too many requests"), "Too many requests");
  EXPECT_EQ(said(R"({"kind":"Pod","message":"no"})"), R"({"kind":"Pod","message":"no"})");
  // 199 bytes and a character of two: cut before it.
  EXPECT_EQ(said(std::string(199, 'x') + "éé"), std::string(199, 'x') + "...");
}

TEST(UrlTest, SegmentsAreEncodedAndDecoded) {
  EXPECT_EQ(pod_path("ml", "a/b c%"), "/api/v1/namespaces/ml/pods/a%2Fb%20c%25");
  EXPECT_EQ(percent_decode("a%2Fb%20c%25"), "a/b c%");
  for (const char* bad : {"%", "%2", "%zz", "a%+1"}) {
    EXPECT_EQ(percent_decode(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace tangram::kube
