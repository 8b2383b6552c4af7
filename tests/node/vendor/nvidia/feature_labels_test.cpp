// The examples are those of NVIDIA's GPU feature discovery: its README, and its tests of sharing.

#include "node/vendor/nvidia/feature_labels.hpp"

#include "base/file.hpp"
#include "source_dir.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace tangram::node::nvidia {
namespace {

using namespace tangram::literals;

PhysicalCard a100() {
  return {.product = "NVIDIA A100-SXM4-40GB",
          .pci_bus = "0000:17:00.0",
          .memory = 40'960_mib,
          .compute_capability = "8.0",
          .mig_capable = true};
}
PhysicalCard t4() {
  return {.product = "Tesla T4", .memory = 15'360_mib, .compute_capability = "7.5"};
}
CardInstance instance(const std::string& profile, Mebibytes memory, int slices) {
  return {.profile = profile,
          .size = {.memory = memory,
                   .multiprocessors = 14 * slices,
                   .gpu_slices = slices,
                   .compute_slices = slices,
                   .copy_engines = slices,
                   .decoders = slices / 2}};
}
PhysicalCard divided(std::vector<CardInstance> instances) {
  PhysicalCard card = a100();
  card.mig_enabled = true;
  card.instances = std::move(instances);
  return card;
}
const CardInstance kSmall = instance("1g.5gb", 4'864_mib, 1);
const CardInstance kHalf = instance("3g.20gb", 19'968_mib, 3);

SharingFile sharing(const std::string& text) {
  const auto file = parse_sharing_file(text);
  EXPECT_TRUE(file) << file.error().message;
  return file ? *file : SharingFile{};
}

Inventory with(std::vector<PhysicalCard> cards) {
  return {.driver = "550.107.02", .cuda = "12.5", .cards = {}, .physical = std::move(cards)};
}

/// The labels of cards and instances, without "nvidia.com/".
NodeLabels resources(const Inventory& inventory, const std::string& config) {
  NodeLabels found;
  for (const auto& [name, value] : labels_of(inventory, sharing(config), {})) {
    const std::string rest = name.substr(name.find('/') + 1);
    const bool of_machine = rest == "gpu.machine" || rest == "gpu.mode";
    if ((rest.starts_with("gpu.") && !of_machine) || rest.starts_with("mig-") ||
        rest == "mig.strategy") {
      found.emplace(rest, value);
    }
  }
  return found;
}

/// Some labels of `all`.
NodeLabels among(const NodeLabels& all, const NodeLabels& names) {
  NodeLabels found;
  for (const auto& [name, value] : all) {
    if (names.contains(name)) found.emplace(name, value);
  }
  return found;
}

TEST(FeatureLabelsTest, DescribesTheNode) {
  const Machine machine{.type = "NVIDIA DGX-2H", .classes = {{"0000:17:00.0", 0x030200}}};
  EXPECT_EQ(labels_of(with({a100()}), {}, machine),
            (NodeLabels{{"nvidia.com/cuda.driver-version.full", "550.107.02"},
                        {"nvidia.com/cuda.driver-version.major", "550"},
                        {"nvidia.com/cuda.driver-version.minor", "107"},
                        {"nvidia.com/cuda.driver-version.revision", "02"},
                        {"nvidia.com/cuda.driver.major", "550"},
                        {"nvidia.com/cuda.driver.minor", "107"},
                        {"nvidia.com/cuda.driver.rev", "02"},
                        {"nvidia.com/cuda.runtime-version.full", "12.5"},
                        {"nvidia.com/cuda.runtime-version.major", "12"},
                        {"nvidia.com/cuda.runtime-version.minor", "5"},
                        {"nvidia.com/cuda.runtime.major", "12"},
                        {"nvidia.com/cuda.runtime.minor", "5"},
                        {"nvidia.com/gpu.compute.major", "8"},
                        {"nvidia.com/gpu.compute.minor", "0"},
                        {"nvidia.com/gpu.count", "1"},
                        {"nvidia.com/gpu.family", "ampere"},
                        {"nvidia.com/gpu.machine", "NVIDIA-DGX-2H"},
                        {"nvidia.com/gpu.memory", "40960"},
                        {"nvidia.com/gpu.mode", "compute"},
                        {"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB"},
                        {"nvidia.com/gpu.replicas", "1"},
                        {"nvidia.com/gpu.sharing-strategy", "none"},
                        {"nvidia.com/mig.capable", "true"}}));
}

struct Row {
  std::string name;
  std::vector<PhysicalCard> cards;
  std::string config;
  NodeLabels labels;  ///< with these names
};
class FeatureLabelsTable : public ::testing::TestWithParam<Row> {};

TEST_P(FeatureLabelsTable, AsGpuFeatureDiscovery) {
  const Row& row = GetParam();
  EXPECT_EQ(among(resources(with(row.cards), row.config), row.labels), row.labels);
}

constexpr const char* kNone = "version: v1";
constexpr const char* kTimeSlicing =
    "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}";
constexpr const char* kRenamed =
    "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, replicas: 2}]}}";
constexpr const char* kMps = "sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}";
constexpr const char* kMpsRenamed =
    "sharing: {mps: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 2}]}}";
constexpr const char* kOther =
    "sharing: {timeSlicing: {resources: [{name: nvidia.com/mig-1g.5gb, replicas: 2}]}}";

NodeLabels base(const std::string& product, const char* count, const char* replicas,
                const char* strategy, const std::string& of = "gpu") {
  return {{of + ".product", product},
          {of + ".count", count},
          {of + ".replicas", replicas},
          {of + ".sharing-strategy", strategy}};
}

const char* const kA100 = "NVIDIA-A100-SXM4-40GB";
const std::string kShared = std::string(kA100) + "-SHARED";

INSTANTIATE_TEST_SUITE_P(
    Sharing, FeatureLabelsTable,
    ::testing::Values(
        Row{"None", {a100(), a100()}, kNone, base(kA100, "2", "1", "none")},
        Row{"TimeSlicing", {a100()}, kTimeSlicing, base(kShared, "1", "2", "time-slicing")},
        Row{"TimeSlicingRenamed", {a100()}, kRenamed, base(kA100, "1", "2", "time-slicing")},
        Row{"Mps", {a100()}, kMps, base(kShared, "1", "2", "mps")},
        Row{"MpsRenamed", {a100()}, kMpsRenamed, base(kA100, "1", "2", "mps")},
        Row{"OfAnotherResource", {a100()}, kOther, base(kA100, "1", "1", "none")}),
    [](const auto& test) { return test.param.name; });

NodeLabels merged(NodeLabels labels, const NodeLabels& more) {
  labels.insert(more.begin(), more.end());
  return labels;
}
const std::string kSingle = "flags: {migStrategy: single}";
const std::string kMixed = "flags: {migStrategy: mixed}";
const NodeLabels kInvalid =
    merged(base(std::string(kA100) + "-MIG-INVALID", "0", "0", ""),
           {{"gpu.memory", "0"}, {"gpu.family", "ampere"}, {"mig.strategy", "single"}});

INSTANTIATE_TEST_SUITE_P(
    Mig, FeatureLabelsTable,
    ::testing::Values(
        Row{"NoneCountsCards",
            {divided({kSmall, kSmall}), divided({kHalf})},
            kNone,
            merged(base(kA100, "2", "0", "none"), {{"gpu.memory", "40960"}})},
        Row{"NoneGoesByWholeCards",
            {divided({kSmall}), a100()},
            kTimeSlicing,
            base(kShared, "2", "2", "time-slicing")},
        Row{"SingleWithoutMig",
            {a100()},
            kSingle,
            merged(base(kA100, "1", "1", "none"), {{"mig.strategy", "single"}})},
        Row{"SingleCountsInstances",
            std::vector<PhysicalCard>(8, divided({kSmall, kSmall, kSmall, kSmall, kSmall, kSmall,
                                                  kSmall})),
            kSingle,
            merged(base(std::string(kA100) + "-MIG-1g.5gb", "56", "1", "none"),
                   {{"gpu.memory", "4864"},
                    {"gpu.multiprocessors", "14"},
                    {"gpu.slices.gi", "1"},
                    {"gpu.slices.ci", "1"},
                    {"gpu.engines.copy", "1"},
                    {"gpu.engines.decoder", "0"},
                    {"gpu.engines.encoder", "0"},
                    {"gpu.engines.jpeg", "0"},
                    {"gpu.engines.ofa", "0"},
                    {"gpu.family", "ampere"}})},
        Row{"SingleShared",
            {divided({kSmall})},
            kSingle + "\n" + kTimeSlicing,
            base(std::string(kA100) + "-MIG-1g.5gb-SHARED", "1", "2", "time-slicing")},
        Row{"SingleWithAnEmptyCard", {divided({kSmall}), divided({})}, kSingle, kInvalid},
        Row{"SingleWithAWholeCard", {a100(), divided({kSmall})}, kSingle, kInvalid},
        Row{"SingleWithTwoProfiles", {divided({kSmall, kHalf})}, kSingle, kInvalid},
        Row{"MixedHasEachProfile",
            {divided({kHalf, kSmall}), divided({kHalf, {.profile = "1g.5gb+me", .size = {}}})},
            kMixed + "\n" + kOther,
            merged(merged(base(std::string(kA100) + "-MIG-3g.20gb", "2", "1", "none",
                               "mig-3g.20gb"),
                          base(std::string(kA100) + "-MIG-1g.5gb-SHARED", "1", "2", "time-slicing",
                               "mig-1g.5gb")),
                   merged(base(kA100, "2", "0", "none"),
                          {{"mig-3g.20gb.memory", "19968"},
                           {"mig-3g.20gb.multiprocessors", "42"},
                           {"mig-1g.5gb.me.product", std::string(kA100) + "-MIG-1g.5gb.me"},
                           {"mig.strategy", "mixed"}}))}),
    [](const auto& test) { return test.param.name; });

TEST(FeatureLabelsTest, ProfilesWithoutASizeHaveNone) {
  const auto labels = resources(with({divided({{.profile = "1g.5gb", .size = {}}})}), kMixed);
  EXPECT_TRUE(labels.contains("mig-1g.5gb.count"));
  EXPECT_FALSE(labels.contains("mig-1g.5gb.memory"));
}

TEST(FeatureLabelsTest, DifferentCardsCountByTheFirstProduct) {
  const auto labels = resources(with({t4(), a100(), t4()}), kNone);
  EXPECT_EQ(labels.at("gpu.product"), "Tesla-T4");
  EXPECT_EQ(labels.at("gpu.count"), "2");
  EXPECT_EQ(labels.at("gpu.family"), "turing");
}

TEST(FeatureLabelsTest, ProductsBecomeValues) {
  const auto product = [](const std::string& name) {
    const auto labels = resources(with({{.product = name, .memory = 1_mib}}), kNone);
    return labels.contains("gpu.product") ? labels.at("gpu.product") : "none";
  };
  EXPECT_EQ(product("NVIDIA TITAN X (Pascal)"), "NVIDIA-TITAN-X-Pascal");
  EXPECT_EQ(product("some ( thing )else"), "some-thing-else");
  EXPECT_EQ(product("a+/,=b"), "ab");
  EXPECT_EQ(product("-x"), "none") << "no value of a label";
  EXPECT_EQ(product(std::string(63, 'x')), std::string(63, 'x'));
  EXPECT_EQ(product(std::string(64, 'x')), "none");
}

struct Family {
  const char* capability;
  const char* name;
};
class FamilyTest : public ::testing::TestWithParam<Family> {};

TEST_P(FamilyTest, IsNamed) {
  PhysicalCard card = t4();
  card.compute_capability = GetParam().capability;
  EXPECT_EQ(resources(with({card}), kNone).at("gpu.family"), GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(All, FamilyTest,
                         ::testing::Values(Family{"6.1", "pascal"}, Family{"7.0", "volta"},
                                           Family{"7.5", "turing"}, Family{"8.6", "ampere"},
                                           Family{"8.9", "ada-lovelace"}, Family{"9.0", "hopper"},
                                           Family{"10.0", "blackwell"}, Family{"12.0", "blackwell"},
                                           Family{"13.0", "rubin"}, Family{"11.0", "undefined"}));

TEST(FeatureLabelsTest, LeavesOutWhatTheDriverDoesNotReport) {
  Inventory inventory = with({{.product = "X", .memory = 1_mib}});
  inventory.driver = "550.54.15-beta";
  inventory.cuda.clear();
  const NodeLabels labels = labels_of(inventory, {}, {});
  for (const auto& [name, value] : labels) {
    EXPECT_EQ(name.find("nvidia.com/cuda"), std::string::npos) << name;
    EXPECT_EQ(name.find("compute"), std::string::npos) << name;
  }
  EXPECT_EQ(labels.at("nvidia.com/gpu.machine"), "unknown");
  EXPECT_EQ(labels.at("nvidia.com/gpu.mode"), "unknown");
  EXPECT_EQ(labels.at("nvidia.com/mig.capable"), "false");
  inventory.driver = "455.06";
  EXPECT_EQ(labels_of(inventory, {}, {}).at("nvidia.com/cuda.driver-version.revision"), "");
  EXPECT_TRUE(labels_of(with({}), {}, {}).empty()) << "no cards, no labels";
}

/// The patterns of deploy/node/policy-gpu-labels.yaml.
std::vector<std::regex> allowed() {
  const auto text =
      read_file(std::string(TANGRAM_SOURCE_DIR) + "/deploy/node/policy-gpu-labels.yaml");
  std::vector<std::regex> patterns;
  const std::regex quoted("'(\\^nvidia[^']*\\$)'");
  const std::string& all = text.value();
  for (std::sregex_iterator at(all.begin(), all.end(), quoted), end; at != end; ++at) {
    patterns.emplace_back((*at)[1].str());
  }
  return patterns;
}

TEST_P(FeatureLabelsTable, AgentsPolicyAllowsIt) {
  const std::vector<std::regex> patterns = allowed();
  ASSERT_FALSE(patterns.empty());
  const Machine machine{.type = "DGX-2H", .classes = {}};
  const Inventory inventory = with(GetParam().cards);
  for (const auto& [name, value] : labels_of(inventory, sharing(GetParam().config), machine)) {
    std::string text = name;
    text.append("=").append(value);
    EXPECT_TRUE(std::ranges::any_of(patterns, [&](const std::regex& pattern) {
      return std::regex_match(text, pattern);
    })) << text;
  }
}

TEST(FeatureLabelsTest, OtherLabelsOfNvidiaAreNotItsOwn) {
  for (const char* name :
       {"nvidia.com/gpu.present", "nvidia.com/gpu.deploy.device-plugin", "nvidia.com/mig.config",
        "nvidia.com/mig.config.state", "nvidia.com/mps.capable", "nvidia.com/gfd.timestamp",
        "nvidia.com/device-plugin.config", "nvidia.com/gpu-driver-upgrade-state",
        "nvidia.com/mig-.count", "nvidia.com/mig-X.count", "nvidia.com/gpu", "nvidia.com/",
        "tangram.dev/gpu", "zone", ""}) {
    EXPECT_FALSE(is_feature_label(name)) << name;
  }
  EXPECT_TRUE(is_feature_label("nvidia.com/mig-1c.3g.20gb.me.engines.ofa"));
}

TEST(FeatureLabelsTest, ReadsTheMachine) {
  const testing::TempFolder host;
  const auto write = [&](const std::string& file, const std::string& text) {
    const std::filesystem::path path = host.path() + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  write("/sys/class/dmi/id/product_name", "DGXA100 920-23687-2530-000\n");
  write("/sys/bus/pci/devices/0000:17:00.0/class", "0x030000\n");
  const CardLabels rules = feature_labels([](auto) { return SharingFile{}; }, host.path());
  EXPECT_EQ(rules.of_vendors_program, "nvidia.com/gfd.timestamp");
  const NodeLabels labels = rules.of(with({a100()}), "");
  EXPECT_EQ(labels.at("nvidia.com/gpu.machine"), "DGXA100-920-23687-2530-000");
  EXPECT_EQ(labels.at("nvidia.com/gpu.mode"), "graphics");
  EXPECT_EQ(rules.of(with({a100(), t4()}), "").at("nvidia.com/gpu.mode"), "unknown");
}

}  // namespace
}  // namespace tangram::node::nvidia
