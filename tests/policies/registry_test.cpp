#include "policies/registry.hpp"

#include "tests/policies/cluster.hpp"

#include <gtest/gtest.h>

namespace tangram::policies {
namespace {

TEST(RegistryTest, MakesEveryPolicyItNames) {
  ASSERT_FALSE(policy_names().empty());
  const PolicySet set{PolicyOptions{}};
  for (const std::string_view name : policy_names()) {
    const auto made = make_policy(name, {});
    ASSERT_TRUE(made) << name;
    EXPECT_EQ((*made)->name(), name);
    ASSERT_NE(set.find(name), nullptr) << name;
    EXPECT_EQ(set.find(name)->name(), name);
  }
  EXPECT_NE(set.find(kDefaultPolicy), nullptr);
}

TEST(RegistryTest, NamesThePoliciesThereAreWhenThereIsNoneOfThatName) {
  const auto made = make_policy("tetris", {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::kInvalidArgument);
  EXPECT_NE(made.error().message.find("\"tetris\""), std::string::npos);
  for (const std::string_view name : policy_names()) {
    EXPECT_NE(made.error().message.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(PolicySet{PolicyOptions{}}.find("tetris"), nullptr);
}

TEST(RegistryTest, HandsItsOptionsToThePolicies) {
  PolicyOptions options;
  options.bestfit_cpu = MilliCpu(64'000);
  options.bestfit_gpu = MilliGpu(1000);
  const auto made = make_policy("bestfit", options);
  ASSERT_TRUE(made);
  // c = 64000 of 64000, g = 1000 of 1000: nothing of the node is taken
  EXPECT_EQ((*made)->choose(testing::cpu_pod(0), testing::loaded_node({{0}}))->score, 0);
}

}  // namespace
}  // namespace tangram::policies
