// The contract's part on watches.
#include "tests/kube/api_contract.hpp"

#include <algorithm>
#include <thread>

namespace tangram::testing {
namespace {

using kube::Method;
using Names = std::vector<std::string>;

TEST_P(ApiContract, WatchTellsEverythingSinceAVersion) {
  create_pod({.name = "before"});
  const std::string from = version();
  create_pod({.name = "a"});
  patch(pod("a"), R"({"metadata":{"labels":{"x":"1"}}})");
  write(Method::kDelete, pod("a"), "");
  create_pod({.name = "b"});
  const auto frames = watch({{"resourceVersion", from}}, 4);
  EXPECT_EQ(told(frames), (Names{"ADDED a", "MODIFIED a", "DELETED a", "ADDED b"}));
}

TEST_P(ApiContract, WatchedObjectsAreWholeAndVersionsGrow) {
  const std::string from = version();
  const std::string created = create_pod({.name = "a"});
  write(Method::kDelete, pod("a"), "");
  const auto frames = watch({{"resourceVersion", from}}, 2);
  ASSERT_EQ(frames.size(), 2U);
  expect_same_object(json_at(frames[0], "object"), created);
  EXPECT_EQ(json_at(frames[1], "object.metadata.uid"), json_at(created, "metadata.uid"));
  EXPECT_GT(std::stoull(json_at(frames[1], "object.metadata.resourceVersion")),
            std::stoull(json_at(frames[0], "object.metadata.resourceVersion")));
}

TEST_P(ApiContract, WatchFromAnEventTellsOnlyWhatFollows) {
  create_pod({.name = "a"});
  const std::string at = json_at(get(pod("a")).body, "metadata.resourceVersion");
  create_pod({.name = "b"});
  EXPECT_EQ(told(watch({{"resourceVersion", at}}, 1)), Names{"ADDED b"});
}

TEST_P(ApiContract, WatchWithoutVersionBeginsWithWhatThereIs) {
  create_pod({.name = "a"});
  create_pod({.name = "b"});
  patch(pod("a"), R"({"metadata":{"labels":{"x":"1"}}})");
  for (const char* at : {"", "0"}) {
    Names first = told(watch({{"resourceVersion", at}}, 2));
    std::sort(first.begin(), first.end());  // servers begin in the order they like
    EXPECT_EQ(first, (Names{"ADDED a", "ADDED b"}));
  }
}

TEST_P(ApiContract, WatchBySelectedLabelsTranslatesTheirChanges) {
  create_pod({.name = "a"});
  const std::string from = version();
  patch(pod("a"), R"({"metadata":{"labels":{"app":"x"}}})");
  patch(pod("a"), R"({"metadata":{"labels":{"app":"y"}}})");
  create_pod({.name = "b", .labels = {{"app", "x"}}});
  EXPECT_EQ(told(watch({{"resourceVersion", from}, {"labelSelector", "app=x"}}, 3)),
            (Names{"ADDED a", "DELETED a", "ADDED b"}));
}

TEST_P(ApiContract, WatchTellsWhatHappensWhileItIsOpen) {
  const std::string from = version();
  std::jthread writer([&] {
    create_pod({.name = "a"});
    bind("a", "", "n1");
    write(Method::kDelete, pod("a"), R"({"gracePeriodSeconds":0})");
  });
  EXPECT_EQ(told(watch({{"resourceVersion", from}}, 3)),
            (Names{"ADDED a", "MODIFIED a", "DELETED a"}));
}

TEST_P(ApiContract, WatchTellsNothingOfOtherNamespaces) {
  const std::string from = version();
  const std::string other = server->fresh_namespace();
  write(Method::kPost, "/api/v1/namespaces/" + other + "/pods",
        pod_json({.ns = other, .name = "stranger"}));
  create_pod({.name = "mine"});
  EXPECT_EQ(told(watch({{"resourceVersion", from}}, 1)), Names{"ADDED mine"});
}

TEST_P(ApiContract, SelectedWatchTranslatesWhatComesAndGoes) {
  create_pod({.name = "a"});
  const std::string from = version();
  bind("a", "", "n1");                                                 // comes to match
  patch(pod("a"), R"({"metadata":{"labels":{"x":"1"}}})");             // still matches
  patch(pod("a") + "/status", R"({"status":{"phase":"Succeeded"}})");  // no longer does
  patch(pod("a"), R"({"metadata":{"labels":{"x":"2"}}})");             // none of its business
  write(Method::kDelete, pod("a"), "");                                // nor that
  create_pod({.name = "b", .node = "n1"});
  const auto frames = watch(
      {{"resourceVersion", from}, {"fieldSelector", "spec.nodeName=n1,status.phase!=Succeeded"}},
      4);
  ASSERT_EQ(told(frames), (Names{"ADDED a", "MODIFIED a", "DELETED a", "ADDED b"}));
  // The last state that matched, at the version of the change.
  EXPECT_EQ(json_at(frames[2], "object.status.phase"), "Pending");
  EXPECT_GT(std::stoull(json_at(frames[2], "object.metadata.resourceVersion")),
            std::stoull(json_at(frames[1], "object.metadata.resourceVersion")));
}

TEST_P(ApiContract, WatchOfForgottenHistoryIsExpired) {
  create_pod({.name = "a"});
  const std::string old = json_at(get(pod("a")).body, "metadata.resourceVersion");
  create_pod({.name = "b"});
  if (!server->expire_history()) GTEST_SKIP() << "this server cannot be made to forget its history";
  std::vector<std::string> frames;
  const auto end = server->api().watch(
      get_request(pods(), {{"resourceVersion", old}}),
      [&](std::string frame) {
        frames.push_back(std::move(frame));
        return true;
      },
      std::stop_token());
  ASSERT_TRUE(end.has_value());
  // Servers say it either way.
  if (end->status == 200) {
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(json_at(frames[0], "type"), "ERROR");
    EXPECT_EQ(json_at(frames[0], "object.code"), "410");
  } else {
    expect_refused(*end, 410, "Expired");
  }
  EXPECT_EQ(told(watch({{"resourceVersion", version()}}, 0)), Names{});
}

TEST_P(ApiContract, StopEndsAnOpenWatch) {
  const std::string from = version();
  std::stop_source stop;
  int frames = 0;
  std::jthread stopper;
  create_pod({.name = "a"});
  const auto end = server->api().watch(
      get_request(pods(), {{"resourceVersion", from}}),
      [&](const std::string& /*frame*/) {
        if (frames++ == 0) stopper = std::jthread([&] { stop.request_stop(); });
        return true;
      },
      stop.get_token());
  EXPECT_TRUE(end.has_value());
  EXPECT_GE(frames, 1);
}

TEST_P(ApiContract, RefusesBadWatches) {
  const auto answer = [&](const kube::Request& request) {
    const auto end = server->api().watch(
        request, [](const std::string& /*frame*/) { return false; }, std::stop_token());
    EXPECT_TRUE(end.has_value()) << end.error().message;
    return end ? *end : kube::Response{};
  };
  expect_refused_somehow(answer(get_request(pods(), {{"resourceVersion", "x"}})));
  expect_refused(answer(get_request(pods(), {{"fieldSelector", "spec.color=red"}})), 400,
                 "BadRequest");
  EXPECT_EQ(answer(get_request("/api/v1/gadgets")).status, 404);
}

}  // namespace
}  // namespace tangram::testing
