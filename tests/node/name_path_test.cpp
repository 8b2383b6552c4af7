#include "node/name_path.hpp"

#include "base/file.hpp"
#include "node/vendor/amd/amd.hpp"
#include "node/vendor/nvidia/nvidia.hpp"
#include "node/vendor/vendors.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

std::string chosen(const std::string& kubelet, const std::string& runtime) {
  const VendorRuntime vendor{.variable = "ACME_DEVICES", .no_card = "none", .setup = "set it up"};
  const auto path = choose_name_path({kubelet, runtime}, vendor);
  return path ? std::string(to_string(*path)) : path.error().message;
}

TEST(NamePathTest, TheFirstThatWorksOnTheNode) {
  EXPECT_EQ(chosen("v1.36.3", "containerd://2.1.9"), "cdi-devices");
  EXPECT_EQ(chosen("v1.29.0+k3s1", "containerd://1.7.24-k3s1"), "cdi-devices");
  EXPECT_EQ(chosen("v1.28.15", "containerd://1.7.0"), "cdi-annotation");
  EXPECT_EQ(chosen("v1.31.2", "cri-o://1.30.0"), "cdi-devices");
  EXPECT_EQ(chosen("v1.22.0", "cri-o://1.23.1"), "cdi-annotation");
}

TEST(NamePathTest, WithoutAnyItSaysWhatToEnable) {
  for (const char* runtime : {"containerd://1.6.33", "docker://24.0", "", "containerd"}) {
    const auto message = chosen("v1.31.2", runtime);
    EXPECT_NE(message.find("enable_cdi = true"), std::string::npos) << message;
    EXPECT_NE(message.find("or, in a cluster without Tangram's webhook, set it up, and start the "
                           "agent with --device-ids-by=env"),
              std::string::npos)
        << message;
  }
}

/// Of a node that a vendor's own runtime does not serve.
Settings settings_in(const std::string& state_dir) {
  Settings settings;
  settings.state_dir = state_dir;
  settings.vendor = make_vendors().front();
  return settings;
}

OwnNode running(const std::string& kubelet, const std::string& runtime) {
  OwnNode node;
  node.software = {kubelet, runtime};
  return node;
}

TEST(NamePathTest, TheNodesOwnSoftwareDecides) {
  const testing::TempFolder folder;
  const auto path =
      find_name_path(settings_in(folder.path()), running("v1.28.0", "containerd://1.7.1"));
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(*path, NamePath::kCdiAnnotation);
}

TEST(NamePathTest, WithoutAnAnswerTheStoredChoiceStays) {
  const testing::TempFolder folder;
  const Settings settings = settings_in(folder.path());
  const Result<OwnNode> silent = fail(Errc::kUnavailable, "no answer");
  EXPECT_EQ(find_name_path(settings, silent).error().code, Errc::kUnavailable);
  EXPECT_EQ(find_name_path(settings, running("", "")).error().code, Errc::kUnavailable);
  ASSERT_TRUE(find_name_path(settings, running("v1.28.0", "containerd://1.7.1")));
  EXPECT_EQ(find_name_path(settings, silent).value(), NamePath::kCdiAnnotation);
  EXPECT_EQ(find_name_path(settings, running("", "")).value(), NamePath::kCdiAnnotation);
  EXPECT_EQ(find_name_path(settings, running("v1.28.0", "containerd://Unknown")).value(),
            NamePath::kCdiAnnotation)
      << "the runtime is being restarted";
}

TEST(NamePathTest, NeverChoosesTheVariableThatTheWebhookSetsByItself) {
  const testing::TempFolder folder;
  ASSERT_TRUE(replace_file(folder.path() + "/nvidia.yaml",
                           "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: []\n"));
  Settings settings;
  settings.state_dir = folder.path();
  settings.vendor = std::make_shared<nvidia::Nvidia>(nvidia::Settings{.cdi_dirs = {folder.path()}});
  const auto path = find_name_path(settings, running("v1.31.2", "containerd://1.6.33"));
  ASSERT_FALSE(path) << to_string(*path);
  EXPECT_NE(path.error().message.find("enable_cdi = true"), std::string::npos);
  settings.name_path = NamePath::kEnvironment;
  EXPECT_EQ(find_name_path(settings, running("v1.31.2", "containerd://1.6.33")).value(),
            NamePath::kEnvironment);
}

TEST(NamePathTest, TheVariableOfARuntimeThatTakesNoNamesCannotBeChosen) {
  const testing::TempFolder folder;
  Settings settings = settings_in(folder.path());
  settings.vendor = std::make_shared<amd::Amd>();
  const auto old = find_name_path(settings, running("v1.31.2", "containerd://1.6.33"));
  ASSERT_FALSE(old);
  EXPECT_NE(old.error().message.find("enable_cdi = true"), std::string::npos);
  EXPECT_EQ(old.error().message.find("--device-ids-by"), std::string::npos) << old.error().message;
  settings.name_path = NamePath::kEnvironment;
  const auto chosen = find_name_path(settings, running("v1.31.2", "containerd://2.1.9"));
  EXPECT_EQ(chosen.error().code, Errc::kInvalidArgument);
  EXPECT_NE(chosen.error().message.find("AMD_VISIBLE_DEVICES"), std::string::npos);
  settings.name_path = std::nullopt;
  EXPECT_EQ(find_name_path(settings, running("v1.31.2", "containerd://2.1.9")).value(),
            NamePath::kCdiDevices);
}

}  // namespace
}  // namespace tangram::node
