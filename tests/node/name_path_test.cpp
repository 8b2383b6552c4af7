#include "node/name_path.hpp"

#include "kube/local/api.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

std::string chosen(const std::string& kubelet, const std::string& runtime, bool specs = false) {
  const VendorRuntime vendor{.variable = "ACME_DEVICES", .no_card = "none", .setup = "set it up"};
  const auto path = choose_name_path({kubelet, runtime}, vendor, specs);
  return path ? std::string(to_string(*path)) : path.error().message;
}

TEST(NamePathTest, TheFirstThatWorksOnTheNode) {
  EXPECT_EQ(chosen("v1.36.3", "containerd://2.1.9"), "cdi-devices");
  EXPECT_EQ(chosen("v1.29.0+k3s1", "containerd://1.7.24-k3s1"), "cdi-devices");
  EXPECT_EQ(chosen("v1.28.15", "containerd://1.7.0"), "cdi-annotation");
  EXPECT_EQ(chosen("v1.31.2", "cri-o://1.30.0"), "cdi-devices");
  EXPECT_EQ(chosen("v1.22.0", "cri-o://1.23.1", true), "cdi-annotation");
  EXPECT_EQ(chosen("v1.31.2", "containerd://1.6.33", true), "env");
  EXPECT_EQ(chosen("v1.31.2", "docker://24.0", true), "env");
}

TEST(NamePathTest, WithoutAnyItSaysWhatToEnable) {
  for (const char* runtime : {"containerd://1.6.33", "docker://24.0", "", "containerd"}) {
    const auto message = chosen("v1.31.2", runtime);
    EXPECT_NE(message.find("enable_cdi = true"), std::string::npos) << message;
    EXPECT_NE(message.find("or set it up, and start the agent with --device-ids-by=env"),
              std::string::npos)
        << message;
  }
}

TEST(NamePathTest, TheNodeSaysWhatRunsOnIt) {
  testing::ManualClock clock;
  kube::LocalApi api(clock);
  EXPECT_EQ(read_node_software(api, "n1").error().code, Errc::kUnavailable);
  ASSERT_TRUE(api.load_yaml(R"(
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  nodeInfo: {kubeletVersion: v1.36.3, containerRuntimeVersion: "containerd://2.1.9", osImage: x}
)"));
  const auto software = read_node_software(api, "n1");
  ASSERT_TRUE(software) << software.error().message;
  EXPECT_EQ(software->kubelet, "v1.36.3");
  EXPECT_EQ(software->runtime, "containerd://2.1.9");
}

}  // namespace
}  // namespace tangram::node
