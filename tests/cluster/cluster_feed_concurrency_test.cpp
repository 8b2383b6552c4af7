#include "cluster/cluster_feed.hpp"
#include "tests/cluster/pod_texts.hpp"
#include "tests/extender/rig.hpp"
#include "tests/testing/send_list.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace tangram::cluster {
namespace {

constexpr std::size_t kHelpers = 3;

/// What observers are shown of each pod, in order.
struct SeenPods final : PodObserver {
  void seen(const kube::Pod& pod, const Result<PodPlan>& plan, const Recorded& recorded) override {
    const std::string planned = plan ? std::string(plan->policy->name()) : plan.error().message;
    texts.push_back(pod.uid + " " + planned + " " + recorded.grant_key + " " +
                    recorded.grant_problem);
  }
  std::vector<std::string> texts;
};

/// About every second grant.
model::SignatureVerdict odd_ones_are_forged(std::string_view text) {
  const bool forged = std::hash<std::string_view>{}(text) % 2 == 0;
  return {.key = forged ? "unknown" : "k1", .problem = forged ? "is forged" : ""};
}

/// A cluster with what was fed to it, with or without helpers.
struct Fed {
  explicit Fed(std::size_t helpers)
      : pods(rig.ledger, table, rig.policies, rig.counters, odd_ones_are_forged, helpers) {
    testing::send_list(rig.nodes, {extender::Rig::node_text("n1", 2)});
  }
  [[nodiscard]] model::NodeState node() const { return *rig.ledger.snapshot()->find("n1"); }

  extender::Rig rig;
  SeenPods seen;
  PodTable table{{&rig.recorder, &seen}};
  PodFeed pods;
};

/// So long that many of them are read at once, and the whole list takes several turns.
std::string text_of(const testing::PodText& pod) { return padded(pod, 20'000); }

/// Pods of all kinds: some come twice, or end within the list.
void send_many(PodFeed& feed) {
  constexpr int kPods = 400;
  feed.begin_list();
  for (int i = 0; i < kPods; ++i) {
    const std::string uid = "u" + std::to_string(i);
    feed.listed(text_of(running(uid, 1)));
    switch (i % 8) {
      case 0:
        feed.listed(pending_pod("waits-" + uid));
        break;
      case 1:
        feed.listed(unreadable(running("odd-" + uid, 1)));
        break;
      case 2:
        feed.listed(unread_phase(uid, "Failed"));
        break;
      case 3:
        feed.unlisted(text_of(running(uid, 1)));
        break;
      case 4:
        feed.listed(text_of(running(uid, 2)));
        break;
      case 5:
        feed.listed(unreadable(running(uid, 3)));
        break;
      case 6:
        feed.listed("{}");
        break;
      default:
        break;
    }
  }
  feed.end_list();
}

TEST(ClusterFeedConcurrencyTest, HelpersMakeNoDifferenceToAList) {
  Fed alone(0);
  Fed helped(kHelpers);
  for (Fed* fed : {&alone, &helped}) send_many(fed->pods);
  EXPECT_GT(alone.node().use.at(0).compute, MilliGpu(100));
  EXPECT_EQ(helped.node().use, alone.node().use);
  EXPECT_EQ(helped.node().requested, alone.node().requested);
  EXPECT_EQ(helped.rig.recorder.arrivals, alone.rig.recorder.arrivals);
  EXPECT_EQ(helped.rig.recorder.notes, alone.rig.recorder.notes);
  EXPECT_EQ(helped.seen.texts, alone.seen.texts);
  EXPECT_EQ(helped.table.waits(), alone.table.waits());
  EXPECT_EQ(helped.table.grant_keys(), alone.table.grant_keys());
  EXPECT_EQ(helped.rig.counters.bad_objects, alone.rig.counters.bad_objects);
  EXPECT_EQ(alone.rig.counters.bad_objects, 200U);
  EXPECT_EQ(helped.rig.counters.bad_grants, alone.rig.counters.bad_grants);
  EXPECT_GT(alone.rig.counters.bad_grants, 100U);
}

TEST(ClusterFeedConcurrencyTest, AListThatBreaksOffLeavesNothingUnread) {
  Fed fed(kHelpers);
  fed.pods.begin_list();
  fed.pods.listed(testing::pod_json(running("u1")));
  testing::send_list(fed.pods, {testing::pod_json(running("u2"))});
  EXPECT_TRUE(fed.table.contains("u2"));
  EXPECT_FALSE(fed.table.contains("u1"));
}

TEST(ClusterFeedConcurrencyTest, EndsAmidAList) {
  Fed fed(kHelpers);
  fed.pods.begin_list();
  for (int i = 0; i < 100; ++i) fed.pods.listed(text_of(running("u" + std::to_string(i))));
  EXPECT_TRUE(fed.table.contains("u0"));
  EXPECT_FALSE(fed.table.contains("u99"));
}

TEST(ClusterFeedConcurrencyTest, CountsTheTextsThatAreStillToBeRead) {
  Fed fed(kHelpers);
  const std::string text = text_of(running("u1"));
  fed.pods.begin_list();
  fed.pods.listed(text);
  EXPECT_EQ(fed.pods.kept_bytes(), text.size());
  for (int i = 0; i < 200; ++i) fed.pods.listed(text);
  EXPECT_LT(fed.pods.kept_bytes(), 2U << 20U);
  fed.pods.end_list();
  EXPECT_EQ(fed.pods.kept_bytes(), 0U);
  // The helpers are gone: each is read at once.
  fed.pods.begin_list();
  fed.pods.listed(text);
  EXPECT_LT(fed.pods.kept_bytes(), text.size());
  EXPECT_GT(fed.pods.kept_bytes(), 0U);
}

}  // namespace
}  // namespace tangram::cluster
