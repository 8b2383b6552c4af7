#include "cluster/pending_pods.hpp"

#include <gtest/gtest.h>

namespace tangram::cluster {
namespace {

kube::Pod pod(const std::string& uid, const std::string& name, const std::string& version = "1") {
  kube::Pod made;
  made.uid = uid;
  made.ns = "ml";
  made.name = name;
  made.resource_version = version;
  return made;
}

TEST(PendingPodsTest, FindsAPodByUidAndByName) {
  PendingPods pods;
  pods.put(pod("u1", "a"));
  ASSERT_NE(pods.find("u1"), nullptr);
  EXPECT_EQ(pods.find("u1")->name, "a");
  EXPECT_EQ(pods.find("ml", "a"), pods.find("u1"));
  EXPECT_EQ(pods.find("ml", "b"), nullptr);
  EXPECT_EQ(pods.find("other", "a"), nullptr);
  EXPECT_EQ(pods.find("u2"), nullptr);
}

TEST(PendingPodsTest, KeepsTheLatestOfAPod) {
  PendingPods pods;
  pods.put(pod("u1", "a", "1"));
  const PodPtr old = pods.find("u1");
  pods.put(pod("u1", "a", "2"));
  EXPECT_EQ(pods.find("u1")->resource_version, "2");
  EXPECT_EQ(old->resource_version, "1");  // a reader's copy stays as it was
  EXPECT_EQ(pods.size(), 1U);
}

TEST(PendingPodsTest, ErasesAPod) {
  PendingPods pods;
  pods.put(pod("u1", "a"));
  pods.erase("u1");
  pods.erase("u1");
  EXPECT_EQ(pods.find("u1"), nullptr);
  EXPECT_EQ(pods.find("ml", "a"), nullptr);
  EXPECT_EQ(pods.size(), 0U);
}

TEST(PendingPodsTest, KeepsThePodThatWasMadeAnewUnderTheName) {
  PendingPods pods;
  pods.put(pod("u1", "a"));
  pods.put(pod("u2", "a"));
  pods.erase("u1");
  ASSERT_NE(pods.find("ml", "a"), nullptr);
  EXPECT_EQ(pods.find("ml", "a")->uid, "u2");
}

TEST(PendingPodsTest, RetainsOnlyThePodsNamed) {
  PendingPods pods;
  pods.put(pod("u1", "a"));
  pods.put(pod("u2", "b"));
  pods.put(pod("u3", "c"));
  pods.retain([](const std::string& uid) { return uid == "u2" || uid == "never-seen"; });
  EXPECT_EQ(pods.size(), 1U);
  EXPECT_EQ(pods.find("ml", "a"), nullptr);
  EXPECT_NE(pods.find("ml", "b"), nullptr);
  ASSERT_EQ(pods.all().size(), 1U);
  EXPECT_EQ(pods.all()[0]->uid, "u2");
}

}  // namespace
}  // namespace tangram::cluster
