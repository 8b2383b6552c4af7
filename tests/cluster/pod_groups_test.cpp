#include "cluster/pod_groups.hpp"

#include "tests/testing/send_list.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::cluster {
namespace {

using Keys = std::vector<std::string>;

std::string object(const std::string& name, const std::string& count,
                   const std::string& status = "Unknown", const std::string& message = "no room") {
  return R"({"metadata":{"namespace":"ml","name":")" + name +
         R"("},"spec":{"schedulingPolicy":{"gang":{"minCount":)" + count +
         R"(}}},"status":{"conditions":[{"type":"PodGroupScheduled","status":")" + status +
         R"(","message":")" + message + R"("}]}})";
}

class PodGroupsTest : public ::testing::Test {
 protected:
  Keys refused_;
  PodGroups groups_{[this](const std::string& key) { refused_.push_back(key); }};
};

TEST_F(PodGroupsTest, KnowsWhatTheListAndTheWatchShow) {
  EXPECT_EQ(groups_.min_count("ml/a"), std::nullopt);
  testing::send_list(groups_, {object("a", "4"), object("b", "2")});
  EXPECT_EQ(groups_.min_count("ml/a"), 4);
  EXPECT_EQ(groups_.min_count("other/a"), std::nullopt);
  groups_.change(kube::EventType::kAdded, object("c", "8"));
  groups_.change(kube::EventType::kDeleted, object("a", "4"));
  EXPECT_EQ(groups_.min_count("ml/c"), 8);
  EXPECT_EQ(groups_.min_count("ml/a"), std::nullopt);
  testing::send_list(groups_, {object("a", "3")});
  EXPECT_EQ(groups_.min_count("ml/a"), 3);
  EXPECT_EQ(groups_.size(), 1U);
}

TEST_F(PodGroupsTest, TellsOfEachChangeThatShowsAFailedAttempt) {
  testing::send_list(groups_, {object("a", "4", "False")});
  EXPECT_EQ(refused_, Keys{}) << "that was before";
  groups_.change(kube::EventType::kModified, object("a", "4", "False"));
  EXPECT_EQ(refused_, Keys{}) << "something else has changed";
  groups_.change(kube::EventType::kModified, object("a", "4", "True"));
  groups_.change(kube::EventType::kModified, object("a", "4", "False"));
  EXPECT_EQ(refused_, Keys{"ml/a"});
  groups_.change(kube::EventType::kModified, object("a", "4", "False", "another reason"));
  EXPECT_EQ(refused_, (Keys{"ml/a", "ml/a"}));
  groups_.change(kube::EventType::kDeleted, object("a", "4", "False"));
  EXPECT_EQ(refused_.size(), 2U);
}

TEST_F(PodGroupsTest, OfOneThatCannotBeReadNothingIsKnown) {
  testing::send_list(groups_, {object("a", "4"), object("b", R"("2")")});
  EXPECT_EQ(groups_.min_count("ml/b"), std::nullopt);
  groups_.change(kube::EventType::kModified, object("a", R"("4")"));
  EXPECT_EQ(groups_.min_count("ml/a"), std::nullopt);
}

TEST(GroupKeyTest, GroupsOfDifferentKindsAreDifferent) {
  using Kind = kube::GroupOfPod::Kind;
  kube::Pod pod;
  pod.ns = "ml";
  EXPECT_EQ(group_key(pod), "");
  pod.group = {Kind::kPodGroup, "g"};
  EXPECT_EQ(group_key(pod), "ml/g");
  pod.group = {Kind::kCoscheduling, "g"};
  EXPECT_EQ(group_key(pod), "ml/g@coscheduling");
  pod.group = {Kind::kKueue, "g"};
  EXPECT_EQ(group_key(pod), "ml/g@kueue");
}

}  // namespace
}  // namespace tangram::cluster
