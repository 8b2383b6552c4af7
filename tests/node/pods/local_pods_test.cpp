#include "node/pods/local_pods.hpp"

#include "kube/local/api.hpp"
#include "tests/node/pods/pod_texts.hpp"
#include "tests/testing/bounded_api.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/odd_fields.hpp"
#include "tests/testing/send_list.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <thread>

namespace tangram::node {
namespace {

using testing::pod_json;
using testing::PodText;
using testing::send_list;
using testing::with_odd_fields;

class LocalPodsTest : public ::testing::Test {
 protected:
  testing::ManualClock clock;
  kube::LocalApi api{clock};
  int changes = 0;
  LocalPods pods{api, rules(), clock, [this] { ++changes; }};
};

TEST_F(LocalPodsTest, KnowsThePodsOfAListAndWhatChangedSince) {
  EXPECT_FALSE(pods.synced());
  EXPECT_FALSE(pods.requested());
  send_list(pods, {pod_json(pod("a")), pod_json(pod("done", "Succeeded")), "no pod"});
  EXPECT_TRUE(pods.synced());
  EXPECT_TRUE(pods.find("uid-a"));
  EXPECT_FALSE(pods.find(""));
  EXPECT_FALSE(pods.find("uid-done"));
  pods.change(kube::EventType::kAdded, pod_json(pod("b")));
  EXPECT_EQ(pods.requested()->milli, MilliGpu(1000));
  EXPECT_EQ(pods.requested()->memory, Mebibytes(2048));
  pods.change(kube::EventType::kModified, pod_json(pod("a", "Failed")));
  pods.change(kube::EventType::kDeleted, pod_json(pod("b")));
  EXPECT_TRUE(pods.all().empty());
  EXPECT_EQ(changes, 4);
  send_list(pods, {});
  EXPECT_EQ(pods.requested(), CardRequests{});
}

TEST_F(LocalPodsTest, NoPodKeepsAnotherThatIsGone) {
  send_list(pods, {mirror_json("uid-dead", kByNode)});
  EXPECT_FALSE(pods.find("uid-dead"));
  send_list(pods, {mirror_json(kHash, kByNode)});
  EXPECT_TRUE(pods.find(kHash));
}

TEST_F(LocalPodsTest, ListIsKeptApartUntilItEnds) {
  send_list(pods, {pod_json(pod("a"))});
  pods.begin_list();
  pods.listed(pod_json(pod("b")));
  pods.listed(pod_json(pod("c")));
  pods.unlisted(pod_json(pod("c")));
  EXPECT_TRUE(pods.find("uid-a"));
  EXPECT_FALSE(pods.find("uid-b"));
  pods.begin_list();  // it broke off
  pods.listed(pod_json(pod("d")));
  pods.end_list();
  ASSERT_EQ(pods.all().size(), 1U);
  EXPECT_TRUE(pods.find("uid-d"));
}

TEST_F(LocalPodsTest, ReadsPodsPastTheirManagedFields) {
  send_list(pods, {with_odd_fields(pod_json(pod("a")))});
  pods.change(kube::EventType::kAdded, with_odd_fields(pod_json(pod("b"))));
  ASSERT_TRUE(pods.find("uid-a"));
  ASSERT_TRUE(pods.find("uid-b"));
  EXPECT_TRUE(pods.find("uid-b")->grant);
  EXPECT_EQ(pods.requested()->milli, MilliGpu(1000));
  pods.change(kube::EventType::kDeleted, with_odd_fields(pod_json(pod("a"))));
  EXPECT_FALSE(pods.find("uid-a"));
  pods.begin_list();
  pods.listed(pod_json(pod("c")));
  pods.unlisted(with_odd_fields(pod_json(pod("c"))));
  pods.end_list();
  EXPECT_TRUE(pods.all().empty());
}

/// It has a member that cannot be read.
std::string unreadable(const std::string& name, const std::string& phase = "Running") {
  PodText bad = pod(name, phase);
  bad.requests = {{"memory", "lots"}};
  return pod_json(bad);
}

TEST_F(LocalPodsTest, APodThatCannotBeReadStaysAsItWas) {
  send_list(pods, {pod_json(pod("a")), unreadable("b")});
  EXPECT_FALSE(pods.find("uid-b")) << "it could never be read";
  pods.change(kube::EventType::kModified, unreadable("a"));
  send_list(pods, {unreadable("a"), unreadable("b")});
  ASSERT_TRUE(pods.find("uid-a"));
  EXPECT_TRUE(pods.find("uid-a")->grant);
  EXPECT_EQ(pods.requested()->milli, MilliGpu(500));
  EXPECT_EQ(pods.kept_bytes(), 0U);
  send_list(pods, {unreadable("b")});
  EXPECT_FALSE(pods.find("uid-a"));
}

TEST_F(LocalPodsTest, APodThatEndsIsGoneEvenIfItCannotBeRead) {
  send_list(pods, {pod_json(pod("a")), pod_json(pod("b")), pod_json(pod("c"))});
  pods.change(kube::EventType::kDeleted, unreadable("a"));
  EXPECT_FALSE(pods.find("uid-a"));
  pods.change(kube::EventType::kModified, unreadable("b", "Failed"));
  EXPECT_FALSE(pods.find("uid-b"));
  send_list(pods, {unreadable("c", "Succeeded")});
  EXPECT_FALSE(pods.find("uid-c"));
}

// ---- What large pods take of memory

/// With what users can fill: annotations, labels, and containers without a slot.
PodText large(const std::string& name, const std::string& phase = "Running") {
  PodText text = pod(name, phase);
  text.annotations["a"] = std::string(10'000, 'x');
  for (int i = 0; i < 500; ++i) text.labels["label-" + std::to_string(i)] = "v";
  for (int i = 0; i < 100; ++i) text.more_containers.push_back("c" + std::to_string(i));
  return text;
}

TEST_F(LocalPodsTest, KeepsLittleOfLargePods) {
  pods.begin_list();
  pods.listed(pod_json(pod("s")));
  const std::size_t small = pods.kept_bytes();
  EXPECT_GT(small, sizeof(LocalPod));
  pods.listed(pod_json(large("l")));
  EXPECT_EQ(pods.kept_bytes(), 2 * small);
  pods.listed(pod_json(large("l")));
  pods.unlisted(pod_json(large("l")));
  EXPECT_EQ(pods.kept_bytes(), small);
  pods.end_list();
  EXPECT_EQ(pods.kept_bytes(), 0U);
}

class LocalPodsListTest : public LocalPodsTest {
 protected:
  void create(const PodText& text) {
    const auto made = api.call({.method = kube::Method::kPost,
                                .path = "/api/v1/namespaces/ml/pods",
                                .query = {},
                                .body = pod_json(text)});
    ASSERT_EQ(made->status, 201) << made->body;
    set_phase(text.name, text.phase);
  }
  void set_phase(const std::string& name, const std::string& phase) {
    const auto set = api.call({.method = kube::Method::kPatch,
                               .path = "/api/v1/namespaces/ml/pods/" + name + "/status",
                               .query = {},
                               .body = R"({"status":{"phase":")" + phase + R"("}})",
                               .content_type = "application/merge-patch+json"});
    ASSERT_EQ(set->status, 200) << set->body;
  }
  /// @returns whether it came to a watch without an error
  bool list(testing::BoundedApi& server, std::size_t max_kept) {
    std::stop_source stop;
    bool watched = false;
    server.watched = [&] {
      watched = true;
      stop.request_stop();
    };
    kube::ReflectorOptions options = LocalPods::to_watch("n1");
    options.max_kept_bytes = max_kept;
    kube::Reflector reflector(
        server, options, pods, clock,
        [&](std::chrono::milliseconds, const std::stop_token&) { stop.request_stop(); });
    reflector.run(stop.get_token());
    return watched;
  }
};

TEST_F(LocalPodsListTest, ManyLargePodsComeInSmallPagesAndLittleIsKept) {
  constexpr int kPods = 12;
  for (int i = 0; i < kPods; ++i) create(large(std::to_string(i)));
  const std::string one = api.call({.path = "/api/v1/namespaces/ml/pods/0"})->body;
  testing::BoundedApi server(api, 3 * one.size());  // two, and the list around them
  ASSERT_TRUE(list(server, kPods * std::size_t{4'000}));
  EXPECT_EQ(pods.all().size(), static_cast<std::size_t>(kPods));
  EXPECT_EQ(server.limits().front(), 100);
  EXPECT_LE(server.limits().back(), 4);
}

/// Such a list was refused as a whole, again and again.
TEST_F(LocalPodsListTest, PodsThatTakeTooMuchKeepNoOtherFromBeingSeen) {
  create(pod("a"));
  for (int i = 0; i < 5; ++i) {
    PodText text = pod("x-" + std::to_string(i));
    text.annotations["tangram.dev/gpu-grant"] = std::string(20'000, 'x');
    create(text);
  }
  testing::BoundedApi server(api, 1'000'000);
  ASSERT_TRUE(list(server, 20'000));
  EXPECT_EQ(pods.all().size(), 6U);
}

TEST_F(LocalPodsListTest, FinishedPodsAreNotListed) {
  create(pod("here"));
  for (int i = 0; i < 3; ++i) {
    create(large("failed-" + std::to_string(i), "Failed"));
    create(large("done-" + std::to_string(i), "Succeeded"));
  }
  testing::BoundedApi server(api, 10'000);
  ASSERT_TRUE(list(server, 10'000));
  EXPECT_EQ(pods.all().size(), 1U);
  EXPECT_EQ(server.limits(), std::vector<int>{100});
}

/// The watch shows a pod that leaves its selection as deleted.
TEST_F(LocalPodsListTest, APodThatFinishesIsGone) {
  create(pod("a"));
  kube::Reflector reflector(api, LocalPods::to_watch("n1"), pods, clock);
  std::jthread thread([&](const std::stop_token& stop) { reflector.run(stop); });
  ASSERT_TRUE(testing::eventually([&] { return pods.all().size() == 1; }));
  set_phase("a", "Succeeded");
  EXPECT_TRUE(testing::eventually([&] { return pods.all().empty(); }));
}

/// A node with room for little.
class CrowdedNodeTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kMost = 40'000;
  static PodRules crowded() {
    PodRules rules = node::rules();
    rules.most_kept_bytes = kMost;
    return rules;
  }
  [[nodiscard]] std::size_t weight() const {
    std::size_t weight = 0;
    for (const LocalPodPtr& pod : pods.all()) weight += weight_of(*pod);
    return weight;
  }
  testing::ManualClock clock;
  kube::LocalApi api{clock};
  LocalPods pods{api, crowded(), clock, [] {}};
};

/// A way in which the author of pods can make them take memory.
struct Crowd {
  std::string name;
  std::function<std::string(const std::string& pod)> text;
  bool left_out = false;  ///< not all can be kept
  friend void PrintTo(const Crowd& crowd, std::ostream* out) { *out << crowd.name; }
};

class CrowdTest : public CrowdedNodeTest, public ::testing::WithParamInterface<Crowd> {
 protected:
  static constexpr int kCount = 15;
  static std::string text(int i) { return GetParam().text("crowd-" + std::to_string(i)); }
  void expect_bounded() {
    EXPECT_LE(weight(), kMost);
    ASSERT_TRUE(pods.find("uid-honest"));
    EXPECT_TRUE(pods.find("uid-honest")->grant);
    EXPECT_EQ(pods.left_out() > 0, GetParam().left_out);
    EXPECT_EQ(pods.knows_all_grants(), !GetParam().left_out);
  }
};

TEST_P(CrowdTest, AListIsBounded) {
  pods.begin_list();
  pods.listed(pod_json(pod("honest")));
  for (int i = 0; i < kCount; ++i) {
    pods.listed(text(i));
    ASSERT_LE(pods.kept_bytes(), kMost);
  }
  pods.end_list();
  expect_bounded();
}

TEST_P(CrowdTest, AWatchIsBounded) {
  send_list(pods, {pod_json(pod("honest"))});
  for (int i = 0; i < kCount; ++i) pods.change(kube::EventType::kAdded, text(i));
  for (int i = 0; i < kCount; ++i) pods.change(kube::EventType::kModified, text(i));
  expect_bounded();
}

INSTANTIATE_TEST_SUITE_P(
    Routes, CrowdTest,
    ::testing::Values(
        Crowd{"InitSlots", [](const std::string& name) { return init_slots_json(name, 200); }},
        Crowd{"Texts", [](const std::string& name) { return long_text_json(name, 8'000); }},
        Crowd{"Grants", [](const std::string& name) { return long_grant_json(name, 8'000); }, true},
        Crowd{"LargeGrants", [](const std::string& name) { return long_grant_json(name, 50'000); },
              true}),
    [](const auto& test) { return test.param.name; });

TEST_F(CrowdedNodeTest, ManySmallPodsAreBounded) {
  std::vector<std::string> plain;
  for (int i = 0; i < 100; ++i) plain.push_back(plain_json(std::to_string(i)));
  send_list(pods, plain);
  EXPECT_LE(weight(), kMost);
  for (int i = 100; i < 200; ++i) {
    pods.change(kube::EventType::kAdded, plain_json(std::to_string(i)));
    ASSERT_LE(weight(), kMost);
  }
  EXPECT_GT(pods.all().size(), 20U);
  EXPECT_GT(pods.left_out(), 0U);
  EXPECT_FALSE(pods.synced()) << "a pod that is not found need not be gone";
  EXPECT_FALSE(pods.requested());
  send_list(pods, {plain_json("0")});
  EXPECT_TRUE(pods.synced());
}

TEST_F(CrowdedNodeTest, APodThatWasLeftOutIsListedOnceThereIsRoom) {
  send_list(pods, {long_grant_json("a", 30'000), long_grant_json("b", 30'000)});
  ASSERT_EQ(pods.left_out(), 1U);
  EXPECT_TRUE(pods.synced());
  EXPECT_FALSE(pods.has_room_again());
  pods.change(kube::EventType::kDeleted, long_grant_json("b", 30'000));
  ASSERT_TRUE(pods.find("uid-a")->left_out);
  EXPECT_TRUE(pods.has_room_again());
  send_list(pods, {long_grant_json("a", 30'000)});
  EXPECT_FALSE(pods.find("uid-a")->left_out);
  EXPECT_FALSE(pods.has_room_again());
}

TEST_F(LocalPodsTest, AsksTheApiServerForOneOfItsOwn) {
  kube::Request create{.method = kube::Method::kPost,
                       .path = "/api/v1/namespaces/ml/pods",
                       .query = {},
                       .body = pod_json({.name = "other", .node = "n2"})};
  ASSERT_EQ(api.call(create)->status, 201);
  EXPECT_EQ(pods.fetch("ml", "other").error().code, Errc::kNotFound);
  EXPECT_EQ(pods.fetch("ml", "never").error().code, Errc::kNotFound);
  create.body = pod_json({.name = "here", .node = "n1"});
  ASSERT_EQ(api.call(create)->status, 201);
  const auto here = pods.fetch("ml", "here");
  ASSERT_TRUE(here) << here.error().message;
  EXPECT_EQ((*here)->pod.name, "here");
}

}  // namespace
}  // namespace tangram::node
