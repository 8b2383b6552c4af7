#include "extender/admission/translation.hpp"

#include "model/request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

namespace tangram::extender {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr OtherSystems kAll{.nvidia = true, .hami = true, .gpushare = true, .kai = true};
const std::string kPhysical = "!* MIG *";
const std::string kOne = "tangram.dev/gpu-container";

kube::ContainerManifest container(const std::string& name, kube::StringMap limits,
                                  kube::ContainerKind kind = kube::ContainerKind::kApp) {
  kube::ContainerManifest made;
  made.kind = kind;
  made.name = name;
  made.limits = std::move(limits);
  return made;
}

kube::PodManifest pod(std::vector<kube::ContainerManifest> containers,
                      kube::StringMap annotations = {}) {
  kube::PodManifest pod;
  pod.ns = "ml";
  pod.name = "p";
  pod.annotations = std::move(annotations);
  pod.containers = std::move(containers);
  return pod;
}

/// A pod of one container, with these limits and annotations.
kube::PodManifest one(kube::StringMap limits, kube::StringMap annotations = {}) {
  return pod({container("main", std::move(limits))}, std::move(annotations));
}

struct Row {
  std::string name;
  kube::PodManifest asked;
  kube::StringMap
      expected;  ///< keys without prefix; gpu-container main and gpu-model !* MIG * unless named
  std::size_t warnings = 0;
  OtherSystems systems = kAll;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

/// The row's annotations by full name, with the container's where there is one.
kube::StringMap full_names(const Row& row) {
  kube::StringMap names;
  for (const auto& [key, value] : row.expected) names["tangram.dev/" + key] = value;
  if (row.asked.containers.size() == 1) names.try_emplace(kOne, "main");
  return names;
}

class TranslateTest : public ::testing::TestWithParam<Row> {};

TEST_P(TranslateTest, SaysItInTangramsWords) {
  const Row& row = GetParam();
  const Translation made = translate(row.asked, row.systems);
  kube::StringMap expected = full_names(row);
  if (!row.asked.annotations.contains("tangram.dev/gpu-model")) {
    expected.try_emplace("tangram.dev/gpu-model", kPhysical);
  }
  EXPECT_THAT(made.mistakes, IsEmpty());
  EXPECT_EQ(made.annotations, expected);
  EXPECT_THAT(made.warnings, SizeIs(row.warnings)) << ::testing::PrintToString(made.warnings);
}

INSTANTIATE_TEST_SUITE_P(
    Nvidia, TranslateTest,
    ::testing::Values(
        Row{"OneCard", one({{"nvidia.com/gpu", "1"}}), {{"gpu-count", "1"}}},
        Row{"SeveralCards", one({{"nvidia.com/gpu", "8"}}), {{"gpu-count", "8"}}},
        Row{"WrittenAsAnotherQuantity", one({{"nvidia.com/gpu", "2e0"}}), {{"gpu-count", "2"}}},
        Row{"ModelOfThePodsOwn",
            one({{"nvidia.com/gpu", "1"}}, {{"tangram.dev/gpu-model", "T4"}}),
            {{"gpu-count", "1"}}},
        Row{"MigInstances",
            one({{"nvidia.com/mig-1g.10gb", "2"}}),
            {{"gpu-count", "2"}, {"gpu-model", "* MIG 1g.10gb"}}},
        Row{"MigInstanceWithMediaEngines",
            one({{"nvidia.com/mig-1g.10gb.me", "1"}}),
            {{"gpu-count", "1"}, {"gpu-model", "* MIG 1g.10gb+me"}}},
        Row{"MigComputeInstance",
            one({{"nvidia.com/mig-1c.3g.20gb", "1"}}),
            {{"gpu-count", "1"}, {"gpu-model", "* MIG 1c.3g.20gb"}}}),
    [](const auto& row) { return row.param.name; });

/// Of pods that ask for replicas: which cards a node counts so is the node's matter, so no model is
/// required, except of MIG profiles.
class TranslateReplicasTest : public ::testing::TestWithParam<Row> {};

TEST_P(TranslateReplicasTest, SaysItInTangramsWords) {
  const Row& row = GetParam();
  const Translation made = translate(row.asked, {.nvidia_sharing = true});
  EXPECT_THAT(made.mistakes, IsEmpty());
  EXPECT_THAT(made.warnings, IsEmpty());
  EXPECT_EQ(made.annotations, full_names(row));
  EXPECT_THAT(made.resources, ::testing::Not(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(
    Nvidia, TranslateReplicasTest,
    ::testing::Values(
        Row{"OneCard", one({{"nvidia.com/gpu", "1"}}), {{"gpu-replica", "gpu"}}},
        Row{"SeveralCards",
            one({{"nvidia.com/gpu", "2"}}),
            {{"gpu-replica", "gpu"}, {"gpu-count", "2"}}},
        Row{"Shared", one({{"nvidia.com/gpu.shared", "1"}}), {{"gpu-replica", "gpu.shared"}}},
        Row{"MigProfile",
            one({{"nvidia.com/mig-1g.10gb", "1"}}),
            {{"gpu-replica", "mig"}, {"gpu-model", "* MIG 1g.10gb"}}},
        Row{"SharedMigProfile",
            one({{"nvidia.com/mig-1g.10gb.me.shared", "1"}}),
            {{"gpu-replica", "mig.shared"}, {"gpu-model", "* MIG 1g.10gb+me"}}},
        Row{"TwoContainers",
            pod({container("a", {{"nvidia.com/gpu", "1"}}),
                 container("b", {{"nvidia.com/gpu", "1"}})}),
            {{"gpu-replica.a", "gpu"}, {"gpu-replica.b", "gpu"}}}),
    [](const auto& row) { return row.param.name; });

TEST(TranslateReplicasRulesTest, ZeroIsNoRequest) {
  const Translation made = translate(one({{"nvidia.com/gpu", "0"}}), {.nvidia_sharing = true});
  EXPECT_THAT(made.annotations, IsEmpty());
  EXPECT_THAT(made.mistakes, IsEmpty());
  EXPECT_THAT(made.resources, ElementsAre("nvidia.com/gpu"));
}

TEST(TranslateReplicasRulesTest, AContainerHasOneRequest) {
  const Translation made = translate(one({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpu.shared", "1"}}),
                                     {.nvidia_sharing = true});
  EXPECT_THAT(made.mistakes, ElementsAre(HasSubstr("are for one container")));
}

TEST(TranslateReplicasRulesTest, SharedNeedsTheSetting) {
  const Translation made = translate(one({{"nvidia.com/gpu.shared", "1"}}), {.nvidia = true});
  EXPECT_THAT(made.mistakes, ElementsAre(HasSubstr("foreign.nvidia_sharing: true")));
}

INSTANTIATE_TEST_SUITE_P(
    Hami, TranslateTest,
    ::testing::Values(
        Row{"Memory",
            one({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}}),
            {{"gpu-mem", "3000Mi"}, {"gpu-compute", "0"}}},
        Row{"MemoryAlone",
            one({{"nvidia.com/gpumem", "3k"}}),
            {{"gpu-mem", "3000Mi"}, {"gpu-compute", "0"}}},
        Row{"MemoryAndCores",
            one({{"nvidia.com/gpu", "1"},
                 {"nvidia.com/gpumem", "3000"},
                 {"nvidia.com/gpucores", "5"}}),
            {{"gpu-mem", "3000Mi"}, {"gpu-compute", "0.05"}}},
        Row{"MemoryAndAllCoresIsACardAlone",
            one({{"nvidia.com/gpumem", "3000"}, {"nvidia.com/gpucores", "100"}}),
            {{"gpu-count", "1"}},
            1},
        Row{"PercentOfBoth",
            one({{"nvidia.com/gpumem-percentage", "30"}, {"nvidia.com/gpucores", "30"}}),
            {{"gpu-fraction", "0.3"}}},
        Row{"PercentOfMemoryAlone",
            one({{"nvidia.com/gpumem-percentage", "30"}}),
            {{"gpu-fraction", "0.3"}, {"gpu-compute-limit", "1"}},
            1},
        Row{"MoreCoresThanMemory",
            one({{"nvidia.com/gpumem-percentage", "30"}, {"nvidia.com/gpucores", "45"}}),
            {{"gpu-fraction", "0.45"}},
            1},
        Row{"SharesOfTwoCards",
            one({{"nvidia.com/gpu", "2"},
                 {"nvidia.com/gpumem-percentage", "50"},
                 {"nvidia.com/gpucores", "30"}}),
            {{"gpu-fraction", "0.5"}, {"gpu-count", "2"}, {"gpu-isolation", "time-slice"}},
            2},
        Row{"SharesOfTwoCardsInThePodsOwnIsolation",
            one({{"nvidia.com/gpu", "2"}, {"nvidia.com/gpumem", "50"}},
                {{"tangram.dev/gpu-isolation", "none"}}),
            {{"gpu-mem", "50Mi"}, {"gpu-compute", "0"}, {"gpu-count", "2"}},
            1},
        Row{"AllOfBoth",
            one({{"nvidia.com/gpu", "2"},
                 {"nvidia.com/gpumem-percentage", "100"},
                 {"nvidia.com/gpucores", "100"}}),
            {{"gpu-count", "2"}}},
        Row{"SomeCoresOfAllMemory",
            one({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "30"}}),
            {{"gpu-count", "1"}},
            1},
        Row{"NoMemoryWrittenIsAllOfIt",
            one({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "0"}}),
            {{"gpu-count", "1"}}},
        Row{"Priority",
            one({{"nvidia.com/gpu", "1"},
                 {"nvidia.com/gpumem", "1"},
                 {"nvidia.com/priority", "0"}}),
            {{"gpu-mem", "1Mi"}, {"gpu-compute", "0"}},
            1},
        Row{"Types",
            one({{"nvidia.com/gpu", "1"}},
                {{"nvidia.com/use-gputype", "A100, V100"}, {"nvidia.com/nouse-gputype", "40GB"}}),
            {{"gpu-count", "1"}, {"gpu-model", "*A100*,*V100*,!*40GB*," + kPhysical}}},
        Row{"TypesWithBrands",
            one({{"nvidia.com/gpu", "1"}}, {{"nvidia.com/use-gputype", "NVIDIA-Tesla T4,NVIDIA"}}),
            {{"gpu-count", "1"}, {"gpu-model", "*T4*,*," + kPhysical}}},
        Row{"TypesInSmallLetters",
            one({{"nvidia.com/gpu", "1"}}, {{"nvidia.com/use-gputype", "a100"}}),
            {{"gpu-count", "1"}, {"gpu-model", "*a100*,*A100*," + kPhysical}},
            1},
        Row{"TypeOfMigInstances",
            one({{"nvidia.com/mig-3g.20gb", "1"}}, {{"nvidia.com/use-gputype", "A100"}}),
            {{"gpu-count", "1"}, {"gpu-model", "*A100* MIG 3g.20gb"}}},
        Row{"Uuids",
            one({{"nvidia.com/gpu", "1"}},
                {{"nvidia.com/use-gpuuuid", "GPU-1,GPU-2"}, {"nvidia.com/nouse-gpuuuid", "GPU-3"}}),
            {{"gpu-count", "1"}, {"gpu-uuid", "GPU-1,GPU-2,!GPU-3"}}},
        Row{"Policies",
            one({{"nvidia.com/gpu", "1"}}, {{"hami.io/gpu-scheduler-policy", "spread"},
                                            {"hami.io/node-scheduler-policy", "binpack"}}),
            {{"gpu-count", "1"}, {"gpu-policy", "spread"}},
            1},
        Row{"CountsOfAPodOfHamisWithoutNvidias",
            one({{"nvidia.com/gpu", "2"}}, {{"nvidia.com/use-gputype", "T4"}}),
            {{"gpu-count", "2"}, {"gpu-model", "*T4*," + kPhysical}},
            0,
            {.hami = true}}),
    [](const auto& row) { return row.param.name; });

kube::PodManifest labelled(kube::PodManifest made, kube::StringMap labels) {
  made.labels = std::move(labels);
  return made;
}

INSTANTIATE_TEST_SUITE_P(Gpushare, TranslateTest,
                         ::testing::Values(Row{"Gibibytes",
                                               one({{"aliyun.com/gpu-mem", "3"}}),
                                               {{"gpu-mem", "3072Mi"}, {"gpu-compute", "0"}}},
                                           Row{"Mebibytes",
                                               one({{"aliyun.com/gpu-mem", "8138"}}),
                                               {{"gpu-mem", "8138Mi"}, {"gpu-compute", "0"}},
                                               0,
                                               {.gpushare = true, .gpushare_in_mib = true}},
                                           Row{"OverSeveralCardsRoundedUp",
                                               labelled(one({{"aliyun.com/gpu-mem", "8"}}),
                                                        {{"aliyun.com/gpu-count", "3"}}),
                                               {{"gpu-mem", "2731Mi"},
                                                {"gpu-compute", "0"},
                                                {"gpu-count", "3"},
                                                {"gpu-isolation", "time-slice"}},
                                               1}),
                         [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Kai, TranslateTest,
    ::testing::Values(
        Row{"Fraction",
            one({}, {{"gpu-fraction", "0.5"}}),
            {{"gpu-fraction", "0.5"}, {"gpu-compute-limit", "1"}}},
        Row{"FractionWithoutZero",
            one({}, {{"gpu-fraction", ".25"}}),
            {{"gpu-fraction", "0.25"}, {"gpu-compute-limit", "1"}}},
        Row{"FractionRoundedUp",
            one({}, {{"gpu-fraction", "0.3333"}}),
            {{"gpu-fraction", "0.334"}, {"gpu-compute-limit", "1"}},
            1},
        Row{"TinyFraction",
            one({}, {{"gpu-fraction", "0.0001"}}),
            {{"gpu-fraction", "0.001"}, {"gpu-compute-limit", "1"}},
            1},
        Row{"Memory",
            one({}, {{"gpu-memory", "2000"}}),
            {{"gpu-mem", "2000Mi"}, {"gpu-compute-limit", "1"}}},
        Row{"SeveralDevices",
            one({}, {{"gpu-fraction", "0.5"}, {"gpu-fraction-num-devices", "2"}}),
            {{"gpu-fraction", "0.5"},
             {"gpu-compute-limit", "1"},
             {"gpu-count", "2"},
             {"gpu-isolation", "time-slice"}},
            1},
        Row{"Queue",
            labelled(one({}, {{"gpu-fraction", "0.5"}}),
                     {{"kai.scheduler/queue", "default-queue"}}),
            {{"gpu-fraction", "0.5"}, {"gpu-compute-limit", "1"}},
            1},
        Row{"FirstContainer",
            pod({container("a", {}), container("b", {})}, {{"gpu-fraction", "0.5"}}),
            {{"gpu-fraction", "0.5"}, {"gpu-compute-limit", "1"}, {"gpu-container", "a"}}},
        Row{"NamedContainer",
            pod({container("a", {}), container("b", {})},
                {{"gpu-fraction", "0.5"}, {"gpu-fraction-container-name", "b"}}),
            {{"gpu-fraction", "0.5"}, {"gpu-compute-limit", "1"}, {"gpu-container", "b"}}}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    SeveralContainers, TranslateTest,
    ::testing::Values(
        Row{"EachItsOwn",
            pod({container("a", {{"nvidia.com/gpu", "1"}}), container("b", {}),
                 container("c", {{"nvidia.com/gpumem", "100"}, {"nvidia.com/gpucores", "10"}})}),
            {{"gpu-count.a", "1"}, {"gpu-mem.c", "100Mi"}, {"gpu-compute.c", "0.1"}}},
        Row{"ASidecar",
            pod({container("a", {}),
                 container("b", {{"nvidia.com/gpu", "1"}}, kube::ContainerKind::kSidecar)}),
            {{"gpu-count", "1"}, {"gpu-container", "b"}}},
        Row{"ANameTooLongForTheDottedForm",
            pod({container("a", {{"nvidia.com/gpu", "1"}}),
                 container(std::string(60, 'x'), {{"nvidia.com/gpu", "2"}})}),
            {{"gpu-count.a", "1"}, {"gpu-count", "2"}, {"gpu-container", std::string(60, 'x')}}},
        Row{"ZeroIsNone",
            pod({container("a", {{"nvidia.com/gpu", "0"}}),
                 container("b", {{"nvidia.com/gpu", "1"}})}),
            {{"gpu-count", "1"}, {"gpu-container", "b"}}}),
    [](const auto& row) { return row.param.name; });

TEST(TranslateResourcesTest, TakesOutWhatItTranslated) {
  EXPECT_THAT(translate(one({{"nvidia.com/gpu", "1"}, {"cpu", "1"}}), kAll).resources,
              ElementsAre("nvidia.com/gpu"));
  EXPECT_THAT(
      translate(one({{"nvidia.com/gpumem", "1"}, {"nvidia.com/priority", "1"}}), kAll).resources,
      ElementsAre("nvidia.com/gpu", "nvidia.com/gpucores", "nvidia.com/gpumem",
                  "nvidia.com/gpumem-percentage", "nvidia.com/priority"));
  EXPECT_THAT(translate(one({{"nvidia.com/mig-1g.10gb", "1"}}), kAll).resources,
              ElementsAre("nvidia.com/mig-1g.10gb"));
  EXPECT_THAT(translate(one({{"aliyun.com/gpu-mem", "1"}}), kAll).resources,
              ElementsAre("aliyun.com/gpu-mem"));
  EXPECT_THAT(translate(one({}, {{"gpu-fraction", "0.5"}}), kAll).resources, IsEmpty());
}

TEST(TranslateResourcesTest, ReadsWhatStandsInTheRequestsAlone) {
  kube::PodManifest asked = one({});
  asked.containers[0].requests = {{"nvidia.com/gpu", "2"}};
  EXPECT_EQ(translate(asked, kAll).annotations.at("tangram.dev/gpu-count"), "2");
}

struct Refused {
  std::string name;
  kube::PodManifest asked;
  std::vector<std::string> expected;  ///< parts of the one mistake
  OtherSystems systems = kAll;
};
void PrintTo(const Refused& row, std::ostream* out) { *out << row.name; }

class TranslateRefusedTest : public ::testing::TestWithParam<Refused> {};

TEST_P(TranslateRefusedTest, NamesTheWordTheValueAndWhatToWrite) {
  const Refused& row = GetParam();
  const Translation made = translate(row.asked, row.systems);
  EXPECT_THAT(made.annotations, IsEmpty());
  EXPECT_THAT(made.resources, IsEmpty());
  ASSERT_THAT(made.mistakes, SizeIs(1)) << ::testing::PrintToString(made.mistakes);
  for (const std::string& part : row.expected) EXPECT_THAT(made.mistakes[0], HasSubstr(part));
  EXPECT_THAT(made.mistakes[0], ::testing::ContainsRegex("write|do that|name "));
}

kube::PodManifest differing() {
  kube::PodManifest asked = one({{"nvidia.com/gpu", "1"}});
  asked.containers[0].requests = {{"nvidia.com/gpu", "2"}};
  return asked;
}

INSTANTIATE_TEST_SUITE_P(
    Amounts, TranslateRefusedTest,
    ::testing::Values(
        Refused{"HalfACard",
                one({{"nvidia.com/gpu", "0.5"}}),
                {R"(nvidia.com/gpu "0.5" of container "main")", "whole number from 0 to 64"}},
        Refused{"NoNumber", one({{"nvidia.com/gpu", "two"}}), {R"("two")"}},
        Refused{"ANameThatNoCardHas",
                one({{"nvidia.com/gpumem", "1"}},
                    {{"nvidia.com/use-gputype", "T4," + std::string(129, 'x')}}),
                {"nvidia.com/use-gputype", "a name of 129 characters; write at most 128"}},
        Refused{"TooManyCards", one({{"nvidia.com/gpu", "65"}}), {"from 0 to 64"}},
        Refused{"LimitAndRequestDiffer", differing(), {"its limit", R"("2")"}},
        Refused{"PercentAboveAll", one({{"nvidia.com/gpumem-percentage", "101"}}), {"1 to 100"}},
        Refused{"NoPercent", one({{"nvidia.com/gpumem-percentage", "0"}}), {"1 to 100"}},
        Refused{"CoresAboveAll",
                one({{"nvidia.com/gpumem", "1"}, {"nvidia.com/gpucores", "150"}}),
                {R"(nvidia.com/gpucores "150")", "0 to 100"}},
        Refused{"MemoryTwice",
                one({{"nvidia.com/gpumem", "1"}, {"nvidia.com/gpumem-percentage", "1"}}),
                {"gpumem \"1\"", "gpumem-percentage \"1\"", "only one"}},
        Refused{"PartOfNoCard",
                one({{"nvidia.com/gpu", "0"}, {"nvidia.com/gpumem", "5"}}),
                {"no card", "nvidia.com/gpumem \"5\""}},
        Refused{"Replicas", one({{"nvidia.com/gpu.shared", "1"}}), {"tangram.dev/gpu-fraction"}},
        Refused{"StrangeMigProfile", one({{"nvidia.com/mig-all", "1"}}), {"MIG profile"}},
        Refused{"GibibytesThatAreMebibytes",
                one({{"aliyun.com/gpu-mem", "8138"}}),
                {"GiB", "foreign.gpushare_unit: MiB"}},
        Refused{"CardsOfGpushare",
                one({{"aliyun.com/gpu-core.percentage", "30"}}),
                {"tangram.dev/gpu-compute"}},
        Refused{"LabelWithoutNumber",
                labelled(one({{"aliyun.com/gpu-mem", "8"}}), {{"aliyun.com/gpu-count", "many"}}),
                {R"(aliyun.com/gpu-count "many")"}},
        Refused{"HamisWordsWhereTheyAreOff",
                one({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}}),
                {"foreign.hami: true", "tangram.dev/gpu-mem"},
                {.nvidia = true}}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Annotations, TranslateRefusedTest,
    ::testing::Values(
        Refused{"FractionAboveAll", one({}, {{"gpu-fraction", "1.5"}}), {"between 0 and 1"}},
        Refused{"FractionOfAll", one({}, {{"gpu-fraction", "1"}}), {"nvidia.com/gpu: 1"}},
        Refused{"FractionOfNothing", one({}, {{"gpu-fraction", "0.0"}}), {"between 0 and 1"}},
        Refused{"NegativeFraction", one({}, {{"gpu-fraction", "-0.5"}}), {"between 0 and 1"}},
        Refused{"MemoryWithUnit", one({}, {{"gpu-memory", "2Gi"}}), {"without a unit"}},
        Refused{"BothOfKais",
                one({}, {{"gpu-fraction", "0.5"}, {"gpu-memory", "5"}}),
                {R"(gpu-fraction "0.5")", R"(gpu-memory "5")"}},
        Refused{"DevicesAlone", one({}, {{"gpu-fraction-num-devices", "2"}}), {"gpu-memory"}},
        Refused{"NoDevices",
                one({}, {{"gpu-fraction", "0.5"}, {"gpu-fraction-num-devices", "0"}}),
                {"from 1 to 64"}},
        Refused{"LimitsOfKais",
                one({}, {{"gpu-memory", "5"}, {"gpu-memory.limit", "9"}}),
                {R"(gpu-memory.limit "9")", "tangram.dev/gpu-mem-limit"}},
        Refused{"UnknownContainer",
                one({}, {{"gpu-fraction", "0.5"}, {"gpu-fraction-container-name", "x"}}),
                {R"(gpu-fraction-container-name "x")"}},
        Refused{"InitContainerOfKais",
                pod({container("main", {}), container("i", {}, kube::ContainerKind::kInit)},
                    {{"gpu-fraction", "0.5"}, {"gpu-fraction-container-name", "i"}}),
                {R"(gpu-fraction-container-name "i")", "init container", "restartPolicy: Always"}},
        Refused{"CardsByIndex",
                one({{"nvidia.com/gpu", "1"}}, {{"nvidia.com/use-gpuindexes", "0,1"}}),
                {R"(nvidia.com/use-gpuindexes "0,1")", "tangram.dev/gpu-uuid"}},
        Refused{"PolicyOfNobody",
                one({{"nvidia.com/gpu", "1"}}, {{"hami.io/gpu-scheduler-policy", "best"}}),
                {R"("best")", "binpack or spread"}},
        Refused{"MigMadeToMeasure",
                one({{"nvidia.com/gpumem", "1"}}, {{"nvidia.com/vgpu-mode", "mig"}}),
                {R"(nvidia.com/vgpu-mode "mig")", "tangram.dev/gpu-model"}},
        Refused{"GlobAsType",
                one({{"nvidia.com/gpu", "1"}}, {{"nvidia.com/use-gputype", "A100*"}}),
                {R"("A100*")", "tangram.dev/gpu-model"}},
        Refused{"EmptyUuid",
                one({{"nvidia.com/gpu", "1"}}, {{"nvidia.com/use-gpuuuid", "GPU-1,"}}),
                {R"("GPU-1,")"}}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Mixtures, TranslateRefusedTest,
    ::testing::Values(
        Refused{"OursAndNvidias",
                one({{"nvidia.com/gpu", "1"}}, {{"tangram.dev/gpu-fraction", "0.5"}}),
                {R"(nvidia.com/gpu "1" of container "main")", R"(tangram.dev/gpu-fraction "0.5")"}},
        Refused{"OursOfAnotherContainer",
                pod({container("a", {{"nvidia.com/gpu", "1"}}), container("b", {})},
                    {{"tangram.dev/gpu-mem.b", "1Gi"}}),
                {R"(nvidia.com/gpu "1")", R"(tangram.dev/gpu-mem.b "1Gi")"}},
        Refused{"OursAndKais",
                one({}, {{"gpu-fraction", "0.5"}, {"tangram.dev/gpu-fraction", "0.25"}}),
                {R"(gpu-fraction "0.5")", R"(tangram.dev/gpu-fraction "0.25")"}},
        Refused{"NvidiasAndKais",
                one({{"nvidia.com/gpu", "1"}}, {{"gpu-fraction", "0.5"}}),
                {"two systems", "nvidia.com/gpu", "gpu-fraction"}},
        Refused{"HamisAndGpushares",
                pod({container("a", {{"nvidia.com/gpumem", "1"}}),
                     container("b", {{"aliyun.com/gpu-mem", "1"}})}),
                {"nvidia.com/gpumem", "aliyun.com/gpu-mem"}},
        Refused{"TypesTwice",
                one({{"nvidia.com/gpu", "1"}},
                    {{"nvidia.com/use-gputype", "T4"}, {"tangram.dev/gpu-model", "A100"}}),
                {R"(nvidia.com/use-gputype "T4")", R"(tangram.dev/gpu-model "A100")"}},
        Refused{"AnotherContainerThanTheOneNamed",
                pod({container("a", {{"nvidia.com/gpu", "1"}}), container("b", {})},
                    {{"tangram.dev/gpu-container", "b"}}),
                {R"(of container "a")", R"(tangram.dev/gpu-container "b")"}},
        Refused{"CardsAndInstances",
                pod({container("a", {{"nvidia.com/gpu", "1"}}),
                     container("b", {{"nvidia.com/mig-1g.10gb", "1"}})}),
                {"nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "one sort"}},
        Refused{"InitContainer",
                pod({container("main", {}),
                     container("i", {{"nvidia.com/gpu", "1"}}, kube::ContainerKind::kInit)}),
                {R"(nvidia.com/gpu "1" of container "i")", "init container"}},
        Refused{"TwoNamesTooLong",
                pod({container(std::string(60, 'x'), {{"nvidia.com/gpu", "1"}}),
                     container(std::string(60, 'y'), {{"nvidia.com/gpu", "1"}})}),
                {"shorter name"}}),
    [](const auto& row) { return row.param.name; });

TEST(TranslateSwitchesTest, LeaveWordsAloneThatAreOff) {
  const kube::PodManifest speaks_all =
      one({{"nvidia.com/gpu", "1"},
           {"nvidia.com/gpu.shared", "1"},
           {"nvidia.com/gpumem", "bad"},
           {"nvidia.com/mig-1g.10gb", "1"},
           {"aliyun.com/gpu-mem", "1"},
           {"aliyun.com/gpu-count", "1"}},
          {{"gpu-fraction", "0.5"}, {"nvidia.com/use-gputype", "T4"}});
  const Translation made = translate(speaks_all, {});
  EXPECT_TRUE(made.empty());
  EXPECT_THAT(made.warnings, IsEmpty());
}

TEST(TranslateSwitchesTest, LeaveCountsAloneWhereOnlyHamisWordsAreOn) {
  EXPECT_TRUE(translate(one({{"nvidia.com/gpu", "1"}}), {.hami = true}).empty());
}

TEST(TranslateSwitchesTest, TakeCountsOfPodsThatNameAPeersScheduler) {
  kube::PodManifest asked = one({{"nvidia.com/gpu", "1"}});
  asked.scheduler_name = "kai-scheduler";
  EXPECT_FALSE(translate(asked, {.kai = true}).empty());
  EXPECT_TRUE(translate(asked, {.hami = true}).empty());
  asked.scheduler_name = "hami-scheduler";
  EXPECT_FALSE(translate(asked, {.hami = true}).empty());
  EXPECT_TRUE(translate(asked, {.kai = true}).empty());
}

TEST(TranslateZeroTest, LeavesInstancesThatAreNotRequested) {
  kube::StringMap limits{{"nvidia.com/mig-1g.10gb", "1"}};
  for (const char* name : {"a", "aa", "b"}) {
    limits["nvidia.com/mig-1g.10gb." + std::string(name)] = "0";
  }
  EXPECT_THAT(translate(one(limits), kAll).resources, ElementsAre("nvidia.com/mig-1g.10gb"));
  limits.erase("nvidia.com/mig-1g.10gb");
  EXPECT_TRUE(translate(one(limits), kAll).empty());
}

TEST(TranslateBurstTest, WritesNoMoreComputeThanTheClusterAllows) {
  const kube::PodManifest kai = one({}, {{"gpu-fraction", "0.1"}});
  const auto limit = [&](int max_burst) {
    const Translation made = translate(kai, kAll, max_burst);
    EXPECT_THAT(made.mistakes, IsEmpty());
    return made.annotations.at("tangram.dev/gpu-compute-limit");
  };
  EXPECT_EQ(limit(0), "1");
  EXPECT_EQ(limit(1), "0.1");
  EXPECT_EQ(limit(4), "0.4");
  EXPECT_EQ(limit(11), "1");
}

TEST(TranslateTwiceTest, LeavesAPodOfKaisAloneThatWasTranslatedBefore) {
  kube::PodManifest asked =
      one({}, {{"gpu-fraction", "0.3333"}, {"gpu-fraction-num-devices", "2"}});
  asked.labels["kai.scheduler/queue"] = "q";
  for (const auto& [name, value] : translate(asked, kAll).annotations)
    asked.annotations[name] = value;
  const Translation again = translate(asked, kAll);
  EXPECT_TRUE(again.empty()) << ::testing::PrintToString(again.mistakes);
  EXPECT_THAT(again.warnings, IsEmpty());
}

TEST(TranslateTwiceTest, KeepsToTheContainerThatWasFirstBeforeAnInjectorCame) {
  kube::PodManifest asked = one({}, {{"gpu-memory", "100"}});
  for (const auto& [name, value] : translate(asked, kAll).annotations)
    asked.annotations[name] = value;
  asked.containers.insert(asked.containers.begin(), container("injected", {}));
  EXPECT_TRUE(translate(asked, kAll).empty());
}

TEST(TranslateTwiceTest, TakesOutResourcesThatSayWhatTheAnnotationsSay) {
  const kube::PodManifest asked =
      one({{"nvidia.com/gpu", "1"}}, {{"tangram.dev/gpu-count", "1"},
                                      {"tangram.dev/gpu-container", "main"},
                                      {"tangram.dev/gpu-model", kPhysical}});
  const Translation made = translate(asked, kAll);
  EXPECT_THAT(made.annotations, IsEmpty());
  EXPECT_THAT(made.resources, ElementsAre("nvidia.com/gpu"));
  EXPECT_FALSE(made.empty());
}

}  // namespace
}  // namespace tangram::extender
