#include "node/pods/kept_pods.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::node {
namespace {

LocalPodPtr pod_with(const std::string& uid, std::size_t text) {
  LocalPod pod;
  pod.pod.uid = uid;
  pod.pod.ns = "ml";
  pod.pod.name = uid;
  pod.grant_text = std::string(text, 'x');
  return std::make_shared<const LocalPod>(std::move(pod));
}
std::size_t outline_weight() { return weight_of(*pod_with("a", 0)); }

/// The UIDs, with '*' after those of outlines.
std::string kept(const KeptPods& pods) {
  std::string all;
  for (const auto& [uid, pod] : pods.all()) all += uid + (pod->left_out ? "*" : "");
  return all;
}

/// Puts them in. @returns the UIDs of those that were left out, in order
std::string put(KeptPods& pods, const std::vector<LocalPodPtr>& all) {
  std::string left_out;
  for (const LocalPodPtr& pod : all) {
    for (const LocalPodPtr& out : pods.put(pod)) left_out += out->pod.uid;
  }
  return left_out;
}

TEST(KeptPodsTest, KeepWhatThereIsRoomFor) {
  KeptPods pods(2 * outline_weight() + 3'000);
  EXPECT_EQ(put(pods, {pod_with("a", 1'000), pod_with("b", 2'000)}), "");
  EXPECT_EQ(pods.weight(), 2 * outline_weight() + 3'000);
  EXPECT_EQ(put(pods, {pod_with("a", 500)}), "") << "instead of the former one";
  EXPECT_EQ(pods.weight(), 2 * outline_weight() + 2'500);
  pods.erase("b");
  pods.erase("none");
  EXPECT_EQ(pods.weight(), outline_weight() + 500);
  EXPECT_TRUE(pods.complete());
  EXPECT_EQ(pods.find("a")->grant_text.size(), 500U);
  EXPECT_EQ(pods.find("b"), nullptr);
}

TEST(KeptPodsTest, LeaveOutTheHeaviestAndOfEqualOnesTheFirst) {
  KeptPods pods(5 * outline_weight() + 3'000);
  EXPECT_EQ(put(pods, {pod_with("a", 1'000), pod_with("b", 2'000)}), "");
  EXPECT_EQ(put(pods, {pod_with("c", 2'000)}), "b");
  EXPECT_EQ(put(pods, {pod_with("d", 5'000)}), "d");
  EXPECT_EQ(kept(pods), "ab*cd*");
  EXPECT_FALSE(pods.complete());
  EXPECT_EQ(put(pods, {pod_with("b", 0)}), "") << "it has changed";
  EXPECT_EQ(kept(pods), "abcd*");
  pods.clear();
  EXPECT_TRUE(pods.complete());
  EXPECT_EQ(pods.weight(), 0U);
}

TEST(KeptPodsTest, TheOrderDoesNotMatter) {
  std::vector<LocalPodPtr> all{pod_with("a", 400), pod_with("b", 300), pod_with("c", 300),
                               pod_with("d", 200), pod_with("e", 100)};
  do {
    KeptPods pods(5 * outline_weight() + 650);
    put(pods, all);
    EXPECT_EQ(kept(pods), "a*b*cde");
  } while (std::next_permutation(all.begin(), all.end()));
}

TEST(KeptPodsTest, NeverTakeMoreThoughOutlinesAreLeftOut) {
  KeptPods pods(2 * outline_weight() + 100);
  EXPECT_EQ(put(pods, {pod_with("a", 50), pod_with("b", 900)}), "b");
  EXPECT_TRUE(pods.has_outlines());
  EXPECT_EQ(put(pods, {pod_with("c", 900)}), "caa");
  EXPECT_FALSE(pods.has_outlines());
  EXPECT_LE(pods.weight(), 2 * outline_weight() + 100);
  KeptPods none(10);
  EXPECT_EQ(put(none, {pod_with("a", 50)}), "aa");
  EXPECT_TRUE(none.all().empty());
}

}  // namespace
}  // namespace tangram::node
