#include "kube/pod_group.hpp"

#include <gtest/gtest.h>

namespace tangram::kube {
namespace {

std::string object(const std::string& policy, const std::string& conditions) {
  return R"({"kind":"PodGroup","metadata":{"namespace":"ml","name":"g","uid":"u"},)"
         R"("spec":{"podGroupTemplateRef":{"workload":{}},"schedulingPolicy":)" +
         policy + R"(},"status":{"conditions":)" + conditions + "}}";
}

PodGroup read(const std::string& policy, const std::string& conditions = "null") {
  const auto group = decode_pod_group(object(policy, conditions));
  return group ? *group : PodGroup{.name = group.error().message};
}

TEST(PodGroupTest, HasAMinimumIfItIsAGang) {
  EXPECT_EQ(read(R"({"gang":{"minCount":4}})"),
            (PodGroup{.ns = "ml", .name = "g", .min_count = 4}));
  EXPECT_EQ(read(R"({"basic":{}})").min_count, 0);
  EXPECT_EQ(read(R"({"basic":null,"gang":null})").min_count, 0);
  EXPECT_EQ(read(R"({"gang":{"minCount":-1}})").min_count, 0);
}

TEST(PodGroupTest, IsRefusedByTheConditionOfEitherRelease) {
  const auto refused = [](const std::string& type, const std::string& status) {
    return read(R"({"gang":{"minCount":4}})", R"([{"type":"DisruptionTarget","status":"False"},)"
                                              R"({"type":")" +
                                                  type + R"(","status":")" + status +
                                                  R"(","reason":"Unschedulable"}])")
               .refusal != 0;
  };
  EXPECT_TRUE(refused("PodGroupScheduled", "False"));
  EXPECT_TRUE(refused("PodGroupInitiallyScheduled", "False"));
  EXPECT_FALSE(refused("PodGroupInitiallyScheduled", "True"));
  EXPECT_FALSE(refused("Other", "False"));
}

TEST(PodGroupTest, WhatCannotBeReadIsNamed) {
  EXPECT_EQ(decode_pod_group(R"({"metadata":{}})").error().message, "metadata.name: missing");
  const auto wrong = decode_pod_group(object(R"({"gang":{"minCount":"4"}})", "null"));
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("spec.schedulingPolicy.gang.minCount"), std::string::npos)
      << wrong.error().message;
}

}  // namespace
}  // namespace tangram::kube
