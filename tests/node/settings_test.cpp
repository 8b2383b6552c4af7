#include "node/settings.hpp"

#include "base/file.hpp"
#include "node/vendor/nvidia/nvidia.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tangram::node {
namespace {

ParsedSettings parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tangram-node");
  return parse_settings(static_cast<int>(arguments.size()), arguments.data());
}

TEST(SettingsTest, ANodeNameIsEnough) {
  const auto parsed = parse({"--node-name", "n1"});
  EXPECT_FALSE(parsed.exit);
  EXPECT_EQ(parsed.settings.node, "n1");
  EXPECT_EQ(parsed.settings.sharers_per_card, 16);
  EXPECT_FALSE(parsed.settings.name_path);
  EXPECT_TRUE(parsed.settings.aggregates);
  EXPECT_FALSE(parsed.settings.gpu_labels);
  EXPECT_TRUE(parsed.settings.time_lease);
  EXPECT_EQ(parsed.settings.card_file, "");
  ASSERT_TRUE(parsed.settings.vendor);
  EXPECT_EQ(parsed.settings.vendor->facts().source, "nvml");
  EXPECT_EQ(to_string(parsed.settings.metrics.listen), "127.0.0.1:9899")
      << "no port beyond this host by default";
}

TEST(SettingsTest, FlagsOfThePoolComeBeforeThoseOfTheCommandLine) {
  const std::vector<const char*> given{"tangram-node",
                                       "--node-name",
                                       "n1",
                                       "--sharers-per-card",
                                       "4",
                                       "--aggregates=false",
                                       "--driver-roots=/a",
                                       "--log-level=debug"};
  const auto parsed =
      parse_settings(static_cast<int>(given.size()), given.data(),
                     {"--sharers-per-card=8", "--aggregates=true", "--driver-roots=/b,/c"});
  ASSERT_FALSE(parsed.exit);
  EXPECT_EQ(parsed.settings.node, "n1");
  EXPECT_EQ(parsed.settings.sharers_per_card, 8);
  EXPECT_TRUE(parsed.settings.aggregates);
  EXPECT_EQ(parsed.settings.log_level, "debug");
  const auto& nvidia = dynamic_cast<const nvidia::Nvidia&>(*parsed.settings.vendor);
  EXPECT_EQ(nvidia.settings().driver.driver_roots, (std::vector<std::string>{"/b", "/c"}));
}

TEST(SettingsTest, AMistakeOfThePoolIsOne) {
  const std::vector<const char*> given{"tangram-node", "--node-name=n1"};
  EXPECT_EQ(parse_settings(2, given.data(), {"--sharers-per-card=0"}).exit, 2);
  EXPECT_EQ(parse_settings(2, given.data(), {"--sharers=3"}).exit, 2);
}

TEST(SettingsTest, ReadsFlags) {
  const auto parsed = parse({"--node-name=n1", "--cards=file:/etc/cards.yaml", "--aggregates=false",
                             "--gpu-labels=true", "--time-lease=false", "--device-ids-by=env",
                             "--nvidia-cdi-dirs=/nowhere", "--audit-interval=5"});
  ASSERT_FALSE(parsed.exit);
  EXPECT_EQ(parsed.settings.card_file, "/etc/cards.yaml");
  EXPECT_FALSE(parsed.settings.aggregates);
  EXPECT_TRUE(parsed.settings.gpu_labels);
  EXPECT_FALSE(parsed.settings.time_lease);
  EXPECT_EQ(parsed.settings.name_path, NamePath::kEnvironment);
  const auto vendor = std::dynamic_pointer_cast<const nvidia::Nvidia>(parsed.settings.vendor);
  ASSERT_TRUE(vendor);
  EXPECT_EQ(vendor->settings().cdi_dirs, std::vector<std::string>{"/nowhere"});
  EXPECT_EQ(parsed.settings.audit_interval, std::chrono::seconds(5));
}

/// A folder with the kernel's list of PCI devices.
class MachineTest : public ::testing::Test {
 protected:
  void add(const std::string& address, const std::string& vendor, const std::string& device_class) {
    const std::string device = folder_.path() + "/sys/bus/pci/devices/" + address;
    std::filesystem::create_directories(device);
    ASSERT_TRUE(replace_file(device + "/vendor", vendor + "\n"));
    ASSERT_TRUE(replace_file(device + "/class", device_class + "\n"));
  }
  /// The vendor that the agent chooses.
  [[nodiscard]] std::string source(const char* cards = "--cards=auto") const {
    const std::string root = "--host-root=" + folder_.path();
    const auto parsed = parse({"--node-name=n1", root.c_str(), cards});
    return parsed.exit ? "" : std::string(parsed.settings.vendor->facts().source);
  }
  testing::TempFolder folder_;
};

TEST_F(MachineTest, ItsCardsChooseTheVendor) {
  EXPECT_EQ(source(), "nvml") << "it has none";
  add("0000:00:1f.3", "0x1002", "0x040300");  // a card's sound
  EXPECT_EQ(source(), "nvml");
  add("0000:c1:00.0", "0x1002", "0x120000");
  EXPECT_EQ(source(), "amdgpu");
  EXPECT_EQ(source("--cards=nvml"), "nvml");
}

TEST_F(MachineTest, NvidiasCardsComeFirst) {
  add("0000:05:00.0", "0x1002", "0x030000");  // a processor's graphics
  add("0000:17:00.0", "0x10de", "0x030200");
  EXPECT_EQ(source(), "nvml");
  EXPECT_EQ(source("--cards=amdgpu"), "amdgpu");
}

TEST(SettingsTest, MemoryLimitsAreTheStrongestThereAreUnlessOneIsNamed) {
  EXPECT_EQ(parse({"--node-name=n1"}).settings.memory_limits, std::nullopt);
  EXPECT_EQ(parse({"--node-name=n1", "--memory-limits=auto"}).settings.memory_limits, std::nullopt);
  for (const model::MemoryLimits means : model::kAllMemoryLimits) {
    const std::string flag = "--memory-limits=" + std::string(to_string(means));
    EXPECT_EQ(parse({"--node-name=n1", flag.c_str()}).settings.memory_limits, means);
  }
  EXPECT_EQ(parse({"--node-name=n1", "--memory-limits=cgroup"}).exit, 2);
}

TEST(SettingsTest, TheRuntimesSocketCanBeNone) {
  EXPECT_EQ(parse({"--node-name=n1"}).settings.runtime_socket, "/run/containerd/containerd.sock");
  EXPECT_EQ(parse({"--node-name=n1", "--runtime-socket=none"}).settings.runtime_socket, "");
  EXPECT_EQ(parse({"--node-name=n1", "--runtime-socket=containerd"}).exit, 2);
}

TEST(SettingsTest, TheEnvironmentSetsWhatTheCommandLineDoesNot) {
  ASSERT_EQ(setenv("TANGRAM_NODE_NODE_NAME", "of-the-environment", 1), 0);
  EXPECT_EQ(parse({}).settings.node, "of-the-environment");
  EXPECT_EQ(parse({"--node-name=of-the-line"}).settings.node, "of-the-line");
  ASSERT_EQ(unsetenv("TANGRAM_NODE_NODE_NAME"), 0);
}

TEST(SettingsTest, SignedGrantsAreRequiredOnlyWithKeys) {
  const auto both = parse({"--node-name=n1", "--grant-keys=/keys", "--require-signed-grants"});
  ASSERT_FALSE(both.exit);
  EXPECT_EQ(both.settings.grant_keys, "/keys");
  EXPECT_TRUE(both.settings.require_signed_grants);
  EXPECT_FALSE(parse({"--node-name=n1", "--grant-keys=/keys"}).settings.require_signed_grants);
  EXPECT_EQ(parse({"--node-name=n1", "--require-signed-grants"}).exit, 2);
  EXPECT_EQ(parse({"--node-name=n1", "--grant-keys", "", "--require-signed-grants"}).exit, 2);
  ASSERT_EQ(setenv("TANGRAM_NODE_REQUIRE_SIGNED_GRANTS", "true", 1), 0);
  EXPECT_EQ(parse({"--node-name=n1"}).exit, 2);
  EXPECT_TRUE(parse({"--node-name=n1", "--grant-keys=/k"}).settings.require_signed_grants);
  ASSERT_EQ(unsetenv("TANGRAM_NODE_REQUIRE_SIGNED_GRANTS"), 0);
}

TEST(SettingsTest, TokensAreRequiredOnlyOverTls) {
  const auto plain = parse({"--node-name=n1", "--listen=[::]:9899"});
  ASSERT_FALSE(plain.exit);
  EXPECT_EQ(plain.settings.metrics.listen, (Endpoint{"::", 9899}));
  EXPECT_FALSE(plain.settings.metrics.tokens);
  EXPECT_FALSE(parse({"--node-name=n1", "--metrics-authentication=none"}).exit);
  const auto both = parse({"--node-name=n1", "--metrics-authentication=token",
                           "--metrics-tls-cert=/tls/tls.crt", "--metrics-tls-key=/tls/tls.key"});
  ASSERT_FALSE(both.exit);
  EXPECT_TRUE(both.settings.metrics.tokens);
  EXPECT_EQ(both.settings.metrics.certificate, "/tls/tls.crt");
  EXPECT_EQ(both.settings.metrics.key, "/tls/tls.key");
  EXPECT_EQ(parse({"--node-name=n1", "--metrics-authentication=token"}).exit, 2);
  EXPECT_EQ(parse({"--node-name=n1", "--metrics-tls-cert=/tls/tls.crt"}).exit, 2);
  EXPECT_EQ(parse({"--node-name=n1", "--metrics-tls-key=/tls/tls.key"}).exit, 2);
}

TEST(SettingsTest, ProcessesAreEndedOnlyIfSaidAndWithARuntime) {
  EXPECT_FALSE(parse({"--node-name=n1"}).settings.terminate_over_limit);
  EXPECT_FALSE(parse({"--node-name=n1", "--over-limit=report"}).settings.terminate_over_limit);
  const auto ends = parse({"--node-name=n1", "--over-limit=terminate"});
  EXPECT_FALSE(ends.exit);
  EXPECT_TRUE(ends.settings.terminate_over_limit);
  EXPECT_EQ(parse({"--node-name=n1", "--over-limit=terminate", "--runtime-socket=none"}).exit, 2);
  EXPECT_FALSE(parse({"--node-name=n1", "--over-limit=report", "--runtime-socket=none"}).exit);
}

TEST(SettingsTest, HelpSucceedsAndMistakesFail) {
  EXPECT_EQ(parse({"--help"}).exit, 0);
  EXPECT_EQ(parse({"--version"}).exit, 0);
  EXPECT_EQ(parse({}).exit, 2) << "no node name";
  for (const char* mistake :
       {"--cards=nvidia", "--cards=file:", "--sharers-per-card=49", "--sharers-per-card=0",
        "--device-ids-by=cdi", "--time-slice=4", "--audit-interval=0", "--log-level=loud",
        "--listen=9899", "--listen=localhost:9899", "--metrics-authentication=tokens",
        "--over-limit=kill", "--unknown"}) {
    EXPECT_EQ(parse({"--node-name=n1", mistake}).exit, 2) << mistake;
  }
}

}  // namespace
}  // namespace tangram::node
