// Whose the cards of a node are: pods that only request another plugin's cards change nothing.

#include "tests/e2e/node_fixture.hpp"

namespace tangram::e2e {
namespace {

constexpr auto kMaintenance = 5s;  // the agent compares kubelet's record that often

class NodeOwnershipTest : public NodeTest {
 protected:
  bool any_cordoned() { return cards_published().find(R"("cordoned":true)") != std::string::npos; }
};

TEST_F(NodeOwnershipTest, APodThatNamesTheNodeAndAnotherPluginsResourceCordonsNothing) {
  NodePod bystander = plain_pod("bystander");
  bystander.node = RealNode::kName;
  bystander.resources = {{"nvidia.com/mig-zzz", "1"}};
  create(bystander);
  ASSERT_TRUE(eventually(60s, [&] { return states()["bystander"].all_running(); }))
      << "kubelet ignores resources that the node does not have";
  EXPECT_FALSE(eventually(3 * kMaintenance, [&] { return any_cordoned(); })) << cards_published();
  create(gpu_pod("gpu", {{"gpu-fraction", "0.5"}}));
  EXPECT_TRUE(eventually(60s, [&] { return states()["gpu"].all_running(); }));
  expect_all_starts_right();
}

}  // namespace
}  // namespace tangram::e2e
