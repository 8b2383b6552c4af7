// The examples are those of the README of NVIDIA's device plugin.

#include "base/file.hpp"
#include "node/vendor/nvidia/sharing/sharing_files.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tangram::node::nvidia {
namespace {

using model::CardResource;
using model::Isolation;
using testing::card;

model::Card instance(const std::string& profile) {
  model::Card mig = card("MIG-1", "A100-SXM4-80GB MIG " + profile);
  mig.kind = model::CardKind::kMig;
  return mig;
}

struct ReadCase {
  std::string name;
  std::string text;
  model::Card card;
  model::Replicas replicas;
};
class SharingFileTest : public ::testing::TestWithParam<ReadCase> {};

TEST_P(SharingFileTest, SaysWhatPodsGetOfACard) {
  const auto file = parse_sharing_file(GetParam().text);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(replicas_of(*file, GetParam().card), GetParam().replicas);
}

constexpr const char* kMixed = R"(
version: v1
flags: {migStrategy: mixed}
sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/mig-1g.10gb, replicas: 3}]}}
)";
constexpr const char* kSingle = R"(
version: v1
flags: {migStrategy: single}
sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}
)";

INSTANTIATE_TEST_SUITE_P(
    All, SharingFileTest,
    ::testing::Values(
        ReadCase{"TimeSlicing",
                 "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
                 "    - name: nvidia.com/gpu\n      replicas: 10\n",
                 card("GPU-1"),
                 {.count = 10}},
        ReadCase{"Renamed",
                 "version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: true\n"
                 "    failRequestsGreaterThanOne: true\n    resources:\n"
                 "    - name: nvidia.com/gpu\n      replicas: 10\n",
                 card("GPU-1"),
                 {.count = 10, .resource = CardResource::kGpuShared, .one_each = true}},
        ReadCase{"Mps",
                 "version: v1\nsharing:\n  mps:\n    resources:\n"
                 "    - name: nvidia.com/gpu\n      replicas: 10\n",
                 card("GPU-1"),
                 {.count = 10, .isolation = Isolation::kMps, .one_each = true}},
        ReadCase{"MpsRenamed",
                 "sharing: {mps: {renameByDefault: true, resources: [{name: gpu, replicas: 2}]}}",
                 card("GPU-1"),
                 {.count = 2,
                  .resource = CardResource::kGpuShared,
                  .isolation = Isolation::kMps,
                  .one_each = true}},
        ReadCase{
            "Json",
            R"({"version":"v1","sharing":{"timeSlicing":{"resources":[{"name":"gpu","replicas":2}]}}})",
            card("GPU-1"),
            {.count = 2}},
        ReadCase{"NoSharing",
                 "version: v1\nflags:\n  migStrategy: \"none\"\n  failOnInitError: true\n"
                 "  nvidiaDriverRoot: \"/\"\n  plugin:\n    passDeviceSpecs: false\n"
                 "    deviceListStrategy: envvar\n    deviceIDStrategy: uuid\n",
                 card("GPU-1"),
                 {}},
        ReadCase{"MixedSharesAProfile",
                 kMixed,
                 instance("1g.10gb"),
                 {.count = 3, .resource = CardResource::kMigShared}},
        ReadCase{"MixedLeavesAnotherProfile",
                 kMixed,
                 instance("2g.20gb"),
                 {.resource = CardResource::kMig}},
        ReadCase{"MixedLeavesCards", kMixed, card("GPU-1"), {}},
        ReadCase{"SingleCountsInstancesAsCards", kSingle, instance("1g.10gb"), {.count = 3}},
        ReadCase{"NoneLeavesInstances",
                 "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}",
                 instance("1g.10gb"),
                 {.resource = CardResource::kMig}}),
    [](const auto& one) { return one.param.name; });

struct WrongCase {
  std::string name;
  std::string text;
  std::string part;
};
class WrongSharingFileTest : public ::testing::TestWithParam<WrongCase> {};

TEST_P(WrongSharingFileTest, SaysWhatToWrite) {
  const auto file = parse_sharing_file(GetParam().text);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find(GetParam().part), std::string::npos) << file.error().message;
}

std::string sliced(const std::string& resources) {
  return "sharing: {timeSlicing: {resources: [" + resources + "]}}";
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongSharingFileTest,
    ::testing::Values(
        WrongCase{"OneReplica", sliced("{name: gpu, replicas: 1}"), "number from 2 to 48"},
        WrongCase{"TooMany", sliced("{name: gpu, replicas: 49}"), "number from 2 to 48"},
        WrongCase{"NoReplicas", sliced("{name: gpu}"), "number from 2 to 48"},
        WrongCase{"NoName", sliced("{replicas: 2}"), "cannot be shared"},
        WrongCase{"NoResources", sliced(""), "has no resources"},
        WrongCase{"AnotherResource", sliced("{name: nvidia.com/nic, replicas: 2}"),
                  "write nvidia.com/gpu or nvidia.com/mig-PROFILE"},
        WrongCase{"Twice", sliced("{name: gpu, replicas: 2}, {name: gpu, replicas: 3}"),
                  "stands twice"},
        WrongCase{"Both",
                  "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}, mps: "
                  "{resources: [{name: gpu, replicas: 2}]}}",
                  "write one of them"},
        WrongCase{"MpsOfMig", "sharing: {mps: {resources: [{name: mig-1g.5gb, replicas: 2}]}}",
                  "MPS does not run on MIG instances"},
        WrongCase{"Version", "version: v2", "write v1"},
        WrongCase{"MigStrategy", "flags: {migStrategy: both}", "write none, single or mixed"},
        WrongCase{"NotYaml", "sharing: [", ""}, WrongCase{"Empty", "", "0 documents"}),
    [](const auto& one) { return one.param.name; });

TEST(SharingFilesTest, WhatNvidiasPluginIgnoresIsReported) {
  const auto file = parse_sharing_file(
      "resources: {gpus: [{pattern: \"*\", name: nvidia.com/x}]}\n"
      "sharing: {mps: {failRequestsGreaterThanOne: false, resources: [{name: gpu, replicas: 2, "
      "devices: [0]}]}}");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->ignored.size(), 3U);
  EXPECT_TRUE(file->fail_more_than_one) << "one MPS daemon for a container";
}

TEST(SharingFilesTest, AFolderIsReadAsAConfigMapIsMounted) {
  const testing::TempFolder folder;
  ASSERT_TRUE(replace_file(folder.path() + "/quarter", sliced("{name: gpu, replicas: 4}")));
  ASSERT_TRUE(replace_file(folder.path() + "/..data", "not a configuration: ["));
  const auto files = read_sharing_files(folder.path());
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->size(), 1U);
  EXPECT_FALSE(read_sharing_files(folder.path() + "/missing"));
}

TEST(SharingFilesTest, AFileWithAMistakeConcernsItsNodesOnly) {
  SharingFiles files;
  files.emplace("whole", parse_sharing_file("version: v1"));
  files.emplace("hundred", parse_sharing_file(sliced("{name: gpu, replicas: 100}")));
  EXPECT_FALSE(default_file(files, "hundred"));
  ASSERT_TRUE(default_file(files, "whole"));
  const CardSharing sharing = sharing_by(files, "whole");
  std::vector<model::Card> cards{card("GPU-1")};
  EXPECT_TRUE(sharing.apply("", cards).empty());
  const auto problems = sharing.apply("hundred", cards);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].find("number from 2 to 48"), std::string::npos) << problems[0];
  EXPECT_EQ(cards[0].replicas.count, 1);
}

SharingFiles files_of(const std::vector<std::string>& names) {
  SharingFiles files;
  for (const std::string& name : names) files.emplace(name, SharingFile{});
  return files;
}

TEST(SharingFilesTest, TheDefaultIsAsInNvidiasChart) {
  EXPECT_EQ(*default_file(files_of({"a", "b"}), "b"), "b");
  EXPECT_EQ(*default_file(files_of({"a", "default"}), ""), "default");
  EXPECT_EQ(*default_file(files_of({"a"}), ""), "a");
  EXPECT_FALSE(default_file(files_of({"a", "b"}), ""));
  EXPECT_FALSE(default_file(files_of({"a", "b"}), "c"));
  EXPECT_FALSE(default_file({}, ""));
}

CardSharing quarters_and_halves() {
  SharingFiles files;
  files.emplace("quarter", parse_sharing_file(sliced("{name: gpu, replicas: 4}")));
  files.emplace("half", parse_sharing_file(sliced("{name: gpu, replicas: 2}")));
  return sharing_by(std::move(files), "half");
}

TEST(SharingFilesTest, TheNodesLabelNamesTheFile) {
  const CardSharing sharing = quarters_and_halves();
  EXPECT_EQ(sharing.most_replicas, 4);
  std::vector<model::Card> cards{card("GPU-1")};
  EXPECT_TRUE(sharing.apply("", cards).empty());
  EXPECT_EQ(cards[0].replicas.count, 2);
  EXPECT_TRUE(sharing.apply("quarter", cards).empty());
  EXPECT_EQ(cards[0].replicas.count, 4);
}

TEST(SharingFilesTest, AnUnknownLabelIsReportedAndTheDefaultApplies) {
  std::vector<model::Card> cards{card("GPU-1")};
  const auto problems = quarters_and_halves().apply("third", cards);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].find("there are half, quarter"), std::string::npos) << problems[0];
  EXPECT_EQ(cards[0].replicas.count, 2);
}

TEST(SharingFilesTest, WhatACardCannotDoIsReported) {
  std::vector<model::Card> cards{card("GPU-1")};
  cards[0].max_sharers = 3;
  cards[0].isolation = {Isolation::kMps};
  const auto problems = quarters_and_halves().apply("quarter", cards);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_NE(problems[0].find("takes 3 pods at most"), std::string::npos) << problems[0];
  EXPECT_NE(problems[1].find("does not offer time-slice"), std::string::npos) << problems[1];
}

}  // namespace
}  // namespace tangram::node::nvidia
