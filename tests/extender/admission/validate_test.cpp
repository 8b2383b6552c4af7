#include "extender/admission/validate.hpp"

#include "model/request.hpp"
#include "tests/extender/admission/reviews.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <ostream>

namespace tangram::extender {
namespace {

using testing::at;
using testing::json_of;
using testing::shipped_settings;
using testing::Webhook;

/// A pod as its author writes it, and what the refusal must say: whose fault it is, and what to
/// write instead.
struct Wrong {
  const char* name;
  const char* annotations;  ///< YAML in braces
  const char* spec;         ///< YAML in braces
  std::vector<const char*> says;
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

std::string pod_of(const std::string& annotations, const std::string& spec) {
  return json_of("metadata: {name: wrong, annotations: " + annotations + "}\nspec: " + spec + "\n");
}

constexpr const char* kMain = "{containers: [{name: main}]}";
constexpr const char* kTwo = "{containers: [{name: main}, {name: side}]}";

class WrongPodTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongPodTest, IsRefusedWithWhatToWrite) {
  const Wrong& wrong = GetParam();
  const std::string refusal = Webhook().refusal(pod_of(wrong.annotations, wrong.spec));
  EXPECT_EQ(refusal.rfind("pod wrong: ", 0), 0U) << refusal;
  for (const char* part : wrong.says) {
    EXPECT_NE(refusal.find(part), std::string::npos) << "missing: " << part << "\nin: " << refusal;
  }
  // For people who read the test's log.
  std::cout << "  " << refusal << "\n";
}

const Wrong kWrongRequests[] = {
    {"FractionInPercent",
     R"({tangram.dev/gpu-fraction: "50%"})",
     kMain,
     {R"(tangram.dev/gpu-fraction: "50%")", "such as 0.5"}},
    {"FractionZero", R"({tangram.dev/gpu-fraction: "0"})", kMain, {"from 0.001 to 1"}},
    {"FractionAboveOne",
     R"({tangram.dev/gpu-fraction: "1.5"})",
     kMain,
     {R"("1.5" is more than 1)", "tangram.dev/gpu-count"}},
    {"FractionTooFine", R"({tangram.dev/gpu-fraction: "0.3333"})", kMain, {"write 0.333"}},
    {"FractionWithComma", R"({tangram.dev/gpu-fraction: "0,5"})", kMain, {"such as 0.5"}},
    {"FractionEmpty", R"({tangram.dev/gpu-fraction: ""})", kMain, {"from 0.001 to 1"}},
    {"MemoryWithoutUnit",
     R"({tangram.dev/gpu-mem: "8"})",
     kMain,
     {R"(tangram.dev/gpu-mem: "8" means 8 bytes; write 8Gi)"}},
    {"MemoryInGB", R"({tangram.dev/gpu-mem: "8GB"})", kMain, {"such as 8Gi"}},
    {"FractionAndMemory",
     R"({tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-mem: "8Gi"})",
     kMain,
     {"write only one of them"}},
    {"Misspelt",
     R"({tangram.dev/gpu-fracton: "0.5"})",
     kMain,
     {"tangram.dev/gpu-fracton: there is no such annotation; write tangram.dev/gpu-fraction"}},
    {"WithoutADash",
     R"({tangram.dev/gpufraction: "0.5"})",
     kMain,
     {"tangram.dev/gpufraction: there is no such annotation of pods; write "
      "tangram.dev/gpu-fraction"}},
    {"CapitalLetter",
     R"({Tangram.dev/gpu-mem: 8Gi})",
     kMain,
     {"Tangram.dev/gpu-mem: there is no such annotation of pods; write tangram.dev/gpu-mem"}},
    {"NearNone",
     R"({tangram.dev/note: x})",
     kMain,
     {"tangram.dev/note: there is no such annotation of pods; remove it"}},
    {"ComputeAlone", R"({tangram.dev/gpu-compute: "0.5"})", kMain, {"needs a tangram.dev/gpu-mem"}},
    {"ComputeBesideFraction",
     R"({tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-compute: "0.5"})",
     kMain,
     {"remove it"}},
    {"CountZero", R"({tangram.dev/gpu-count: "0"})", kMain, {"from 1 to 64"}},
    {"CountOfHalves", R"({tangram.dev/gpu-count: "0.5"})", kMain, {"from 1 to 64"}},
    {"LimitBelowRequest",
     R"({tangram.dev/gpu-mem: 8Gi, tangram.dev/gpu-mem-limit: 4Gi})",
     kMain,
     {"tangram.dev/gpu-mem-limit", "at least the same"}},
    {"LimitOfWholeCards",
     R"({tangram.dev/gpu-count: "1", tangram.dev/gpu-mem-limit: 4Gi})",
     kMain,
     {"no meaning for whole cards"}},
    {"SharesOfSeveralCardsByMps",
     R"({tangram.dev/gpu-count: "2", tangram.dev/gpu-fraction: "0.5"})",
     kMain,
     {"tangram.dev/gpu-isolation: time-slice"}},
    {"UnknownIsolation",
     R"({tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-isolation: MPS})",
     kMain,
     {"write mps, time-slice or none"}},
    {"UnknownPolicy",
     R"({tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-policy: best-fit})",
     kMain,
     {R"(tangram.dev/gpu-policy: there is no policy "best-fit"; write one of )", " bestfit"}},
    {"EmptyGlob",
     R"({tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-model: "A100,,T4"})",
     kMain,
     {"such as A100*,!T4"}},
    {"ModelAlone",
     R"({tangram.dev/gpu-model: "A100*"})",
     kMain,
     {"nothing says how much GPU", R"(tangram.dev/gpu-fraction: "0.5")"}},
    {"UnknownContainer",
     R"({tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-container: app})",
     kTwo,
     {R"(there is no container "app"; write one of main side)"}},
    {"InitContainer",
     R"({tangram.dev/gpu-fraction.fetch: "0.5"})",
     "{containers: [{name: main}], initContainers: [{name: fetch}]}",
     {R"("fetch" is an init container)", "name one of main"}},
    {"PlainAndNamed",
     R"({tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-mem.main: 1Gi})",
     kTwo,
     {R"(both for container "main")"}}};

const Wrong kWrongResources[] = {
    {"TwoSlots",
     R"({tangram.dev/gpu-fraction: "0.5"})",
     "{containers: [{name: main, resources: {limits: {tangram.dev/gpu-slot: 2}}}]}",
     {R"(container "main": tangram.dev/gpu-slot "2")", "tangram.dev/gpu-count"}},
    {"SlotAlone",
     "{}",
     "{containers: [{name: main, resources: {limits: {tangram.dev/gpu-slot: 1}}}]}",
     {R"(container "main")", "no annotation says how much", "tangram.dev/gpu-mem"}},
    {"SlotOfAContainerWithoutRequest",
     "{tangram.dev/gpu-fraction: \"0.5\", tangram.dev/gpu-container: main}",
     "{containers: [{name: main}, {name: side, resources: {limits: {tangram.dev/gpu-slot: 1}}}]}",
     {R"(tangram.dev/gpu-fraction.side: "0.5", or remove the slot)"}},
    {"SlotOfAnInitContainer",
     R"({tangram.dev/gpu-fraction: "0.5"})",
     "{containers: [{name: main}], initContainers: [{name: fetch, resources: {limits: "
     "{tangram.dev/gpu-slot: 1}}}]}",
     {R"(container "fetch")", "is an init container", "remove it"}},
    {"AggregateWithoutRequest",
     "{}",
     "{containers: [{name: main, resources: {limits: {tangram.dev/gpu-milli: 500}}}]}",
     {R"(tangram.dev/gpu-milli "500" without a request)", R"(tangram.dev/gpu-fraction: "0.5")",
      "remove it"}},
    {"TwoSystems",
     R"({tangram.dev/gpu-fraction: "0.5"})",
     "{containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}",
     {R"(container "main": nvidia.com/gpu "1" beside a request of Tangram's)",
      "write only one of them"}},
    {"NodeName",
     R"({tangram.dev/gpu-fraction: "0.5"})",
     "{nodeName: gpu-1, containers: [{name: main}]}",
     {R"(spec.nodeName "gpu-1")", "nodeSelector: {kubernetes.io/hostname: gpu-1}"}},
    {"Grant",
     R"({tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-grant: "{}"})",
     kMain,
     {"tangram.dev/gpu-grant: is written by Tangram", "remove it"}},
    {"AllCards",
     "{}",
     "{containers: [{name: main, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}",
     {R"(container "main": the variable NVIDIA_VISIBLE_DEVICES "all")",
      R"(tangram.dev/gpu-fraction: "0.5")"}},
    {"ACardByUuid",
     "{}",
     "{containers: [{name: main, env: [{name: NVIDIA_VISIBLE_DEVICES, value: GPU-5f2a}]}]}",
     {R"("GPU-5f2a" would show the container cards)"}},
    {"CardsFromElsewhere",
     "{}",
     "{containers: [{name: main, env: [{name: NVIDIA_VISIBLE_DEVICES, valueFrom: "
     "{configMapKeyRef: {name: x, key: y}}}]}]}",
     {"by valueFrom cannot be looked into", R"(value: "void")"}},
    {"AllCardsOfAnInitContainer",
     R"({tangram.dev/gpu-fraction: "0.5"})",
     "{containers: [{name: main}], initContainers: [{name: fetch, env: [{name: "
     "NVIDIA_VISIBLE_DEVICES, value: \"0\"}]}]}",
     {R"(container "fetch": the variable NVIDIA_VISIBLE_DEVICES "0")"}},
    {"AllCardsByNri",
     R"({nvidia.cdi.k8s.io/container.main: "nvidia.com/gpu=all"})",
     kMain,
     {R"(nvidia.cdi.k8s.io/container.main "nvidia.com/gpu=all")", "cards that it was not given",
      R"(tangram.dev/gpu-fraction: "0.5")"}},
    {"AnotherCardByNriBesideARequest",
     R"({tangram.dev/gpu-fraction: "0.5", nvidia.cdi.k8s.io: "nvidia.com/gpu=GPU-5f2a"})",
     kMain,
     {R"(nvidia.cdi.k8s.io "nvidia.com/gpu=GPU-5f2a")", "remove it"}},
    {"VisibleDevicesBesideARequest",
     R"({tangram.dev/gpu-fraction: "0.5"})",
     "{containers: [{name: main, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}",
     {"could show the container other cards", "remove it"}}};

INSTANTIATE_TEST_SUITE_P(Requests, WrongPodTest, ::testing::ValuesIn(kWrongRequests),
                         [](const auto& row) { return row.param.name; });
INSTANTIATE_TEST_SUITE_P(Resources, WrongPodTest, ::testing::ValuesIn(kWrongResources),
                         [](const auto& row) { return row.param.name; });

TEST(ValidateTest, SaysEverythingThatIsWrongAtOnce) {
  const std::string refusal = Webhook().refusal(pod_of(
      R"({tangram.dev/gpu-fraction: "2", tangram.dev/gpu-isolaton: mps, tangram.dev/gpu-grant: x})",
      "{nodeName: gpu-1, containers: [{name: main, resources: {limits: {tangram.dev/gpu-slot: 3}}},"
      " {name: side, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}"));
  for (const char* part : {"tangram.dev/gpu-grant: ", "tangram.dev/gpu-fraction: \"2\"",
                           "tangram.dev/gpu-isolaton: ", "spec.nodeName \"gpu-1\"",
                           "tangram.dev/gpu-slot \"3\"", "\"side\": the variable"}) {
    EXPECT_NE(refusal.find(part), std::string::npos) << part << "\nin: " << refusal;
  }
}

TEST(ValidateTest, AllowsPodsThatAskForNothing) {
  for (const char* spec :
       {kMain, "{nodeName: gpu-1, containers: [{name: main}]}",
        "{containers: [{name: main, env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}]}]}",
        "{containers: [{name: main, env: [{name: NVIDIA_VISIBLE_DEVICES, value: \"\"}]}]}",
        "{containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}"}) {
    EXPECT_EQ(Webhook().refusal(pod_of("{}", spec)), "");
    EXPECT_EQ(
        Webhook().refusal(pod_of("{other/gpu-fraction: x, demo.tangram.dev/weight: y}", spec)), "");
  }
}

TEST(ValidateTest, AllowsARequestBesideANetworkCardAndBesideNoCards) {
  for (const char* resource : {"nvidia.com/hostdev: 1", "rdma.gpucloud.io/hca: 1",
                               "nvidia.com/gpu: 0", "nvidia.com/gpumem: \"0\""}) {
    EXPECT_EQ(Webhook().refusal(pod_of(R"({tangram.dev/gpu-count: "8"})",
                                       std::string("{containers: [{name: main, resources: ") +
                                           "{limits: {" + resource + "}}}]}")),
              "")
        << resource;
  }
}

TEST(ValidateTest, AllowsVoidBesideARequest) {
  const std::string pod = Webhook().mutated(
      pod_of(R"({tangram.dev/gpu-fraction: "0.5"})",
             "{containers: [{name: main, env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}]}]}"));
  EXPECT_EQ(at(pod, "spec.containers.0.env.0.value"), "void");
  EXPECT_EQ(Webhook().refusal(pod), "");
}

TEST(ValidateTest, NamesPodsThatHaveNoNameYet) {
  const std::string pod = json_of(
      "metadata: {generateName: web-, annotations: {tangram.dev/gpu-count: x}}\n"
      "spec: {containers: [{name: main}]}");
  const auto verdict = Webhook().validate({.name = "", .object = pod});
  EXPECT_EQ(verdict.message.rfind("pod web-*: tangram.dev/gpu-count: \"x\"", 0), 0U)
      << verdict.message;
  EXPECT_EQ(verdict.code, 400);
}

TEST(ValidateTest, SaysWhatTheMutatingWebhookWouldHaveAdded) {
  const std::string pod = pod_of(R"({tangram.dev/gpu-fraction: "0.5"})", kMain);
  const auto verdict = Webhook().validate({.object = pod});
  EXPECT_FALSE(verdict.allowed);
  EXPECT_NE(verdict.message.find(R"(write tangram.dev/gpu-slot: "1" to its limits)"),
            std::string::npos)
      << verdict.message;
}

TEST(ValidateTest, RefusesAggregatesThatAreNotWhatTheRequestCounts) {
  const auto verdict = [](const std::string& aggregates) {
    return Webhook().validate(
        {.object = pod_of(R"({tangram.dev/gpu-fraction: "0.5"})",
                          "{containers: [{name: main, resources: {limits: {tangram.dev/gpu-slot: "
                          "1, " +
                              aggregates + "}}}]}")});
  };
  EXPECT_TRUE(verdict("tangram.dev/gpu-milli: 500").allowed);
  EXPECT_NE(verdict("tangram.dev/gpu-milli: 100")
                .message.find(R"(container "main": tangram.dev/gpu-milli "100" is not what the )"
                              R"(annotations request, "500"; remove it)"),
            std::string::npos);
  EXPECT_NE(verdict("tangram.dev/gpu-milli: 500, tangram.dev/gpu-mem-mib: 100")
                .message.find("which do not count in it; remove it"),
            std::string::npos);
}

TEST(ValidateTest, AllowsWhatTheNriPluginGivesInItsOwnNamespacesOnly) {
  for (const char* annotations :
       {R"({nvidia.cdi.k8s.io/container.main: "management.nvidia.com/gpu=all"})",
        R"({nvidia.cdi.k8s.iota: "nvidia.com/gpu=all"})"}) {
    EXPECT_EQ(Webhook().refusal(pod_of(annotations, kMain)), "") << annotations;
  }
}

TEST(ValidateTest, LeavesVisibleDevicesToThePodWhereThatIsAllowed) {
  auto settings = shipped_settings();
  settings.allow_visible_devices = true;
  const Webhook webhook(settings);
  EXPECT_EQ(webhook.refusal(pod_of(R"({nvidia.cdi.k8s.io: "nvidia.com/gpu=all"})", kMain)), "");
  EXPECT_EQ(webhook.refusal(pod_of("{}",
                                   "{containers: [{name: main, env: [{name: "
                                   "NVIDIA_VISIBLE_DEVICES, value: all}]}]}")),
            "");
}

TEST(ValidateTest, RefusesMoreBurstThanTheClusterAllows) {
  AdmissionSettings settings = shipped_settings();
  settings.requests.max_burst = 4;
  const std::string refusal = Webhook(settings).refusal(
      pod_of(R"({tangram.dev/gpu-mem: "1Mi", tangram.dev/gpu-mem-limit: "80Gi"})", kMain));
  EXPECT_NE(refusal.find("more than 4 times the request, the most that this cluster allows; "
                         "write at most 4Mi"),
            std::string::npos)
      << refusal;
}

TEST(ValidateTest, RefusesReplicasWhereNoNodeSharesCardsSo) {
  AdmissionSettings settings = shipped_settings();
  const std::string pod = pod_of("{tangram.dev/gpu-replica: gpu}", kMain);
  EXPECT_NE(Webhook(settings).refusal(pod).find("foreign.nvidia_sharing"), std::string::npos);
  settings.other_systems.nvidia_sharing = true;
  EXPECT_EQ(Webhook(settings).refusal(pod), "");
}

TEST(ValidateTest, TheExtenderItselfMayWriteGrants) {
  const std::string pod = pod_of("{tangram.dev/gpu-grant: x}", kMain);
  const std::string extender = "system:serviceaccount:tangram-system:tangram-extender";
  EXPECT_TRUE(Webhook().validate({.user = extender, .object = pod}).allowed);
  EXPECT_FALSE(Webhook().validate({.user = extender + "2", .object = pod}).allowed);
}

TEST(ValidateTest, DoesNotJudgeTheObjectsOfOthers) {
  const std::string pod = pod_of("{tangram.dev/gpu-fraction: x}", kMain);
  EXPECT_TRUE(Webhook().validate({.operation = "DELETE", .old_object = pod}).allowed);
  EXPECT_TRUE(Webhook().validate({.resource = "jobs", .object = pod}).allowed);
  EXPECT_TRUE(Webhook().validate({.operation = "CONNECT", .subresource = "exec"}).allowed);
}

// ---- Namespaces with a quota on aggregates.

struct Counted {
  const char* annotations;
  const char* milli;   ///< what is said where milli must count; "" = allowed
  const char* memory;  ///< the same for memory
};

TEST(ValidateTest, RefusesRequestsThatWouldEscapeAQuota) {
  const Counted rows[] = {
      {R"({tangram.dev/gpu-fraction: "0.5"})", "", R"(write tangram.dev/gpu-mem: "8Gi" instead)"},
      {R"({tangram.dev/gpu-count: "1"})", "", "tangram.dev/gpu-count alone does not count in"},
      {"{tangram.dev/gpu-mem: 8Gi}", R"(write tangram.dev/gpu-compute: "0.3" too)", ""},
      {R"({tangram.dev/gpu-mem: 8Gi, tangram.dev/gpu-compute: "0"})",
       R"(write a tangram.dev/gpu-compute above 0, such as "0.3")", ""},
      {R"({tangram.dev/gpu-mem: 8Gi, tangram.dev/gpu-compute: "0.3"})", "", ""},
      // Burst: what a container may use beyond its request.
      {R"({tangram.dev/gpu-mem: 1Mi, tangram.dev/gpu-compute: "0.001",
          tangram.dev/gpu-mem-limit: 80Gi})",
       "", "tangram.dev/gpu-mem-limit above the request does not count in tangram.dev/gpu-mem-mib"},
      {R"({tangram.dev/gpu-mem: 1Mi, tangram.dev/gpu-compute: "0.001",
          tangram.dev/gpu-compute-limit: "1"})",
       "tangram.dev/gpu-compute-limit above the request does not count in tangram.dev/gpu-milli",
       ""},
      {R"({tangram.dev/gpu-mem: 1Gi, tangram.dev/gpu-compute: "0.5", tangram.dev/gpu-mem-limit: 1Gi,
          tangram.dev/gpu-compute-limit: "0.5"})",
       "", ""},
      {R"({tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-compute-limit: "0.6"})",
       "tangram.dev/gpu-compute-limit above the request",
       "tangram.dev/gpu-fraction does not count"},
      {R"({tangram.dev/gpu-fraction: "0.001", tangram.dev/gpu-mem-limit: 80Gi})",
       "tangram.dev/gpu-mem-limit above the request", "tangram.dev/gpu-fraction does not count"}};
  for (const Counted& row : rows) {
    const std::string pod = pod_of(row.annotations, kMain);
    EXPECT_EQ(Webhook().refusal(pod), "");
    const struct {
      std::string_view resource;
      std::string says;
    } sides[] = {{model::kMilliResource, row.milli}, {model::kMemoryResource, row.memory}};
    for (const auto& side : sides) {
      const std::string refusal = Webhook().refusal(pod, {.counted = {side.resource}});
      EXPECT_EQ(refusal.empty(), side.says.empty()) << row.annotations << ": " << refusal;
      EXPECT_NE(refusal.find(side.says), std::string::npos) << refusal;
    }
  }
  EXPECT_EQ(Webhook().refusal(pod_of("{}", kMain), {.counted = {model::kMilliResource}}), "");
}

TEST(ValidateTest, AQuotaSaysWhatToWriteInATranslatedManifest) {
  auto settings = shipped_settings();
  settings.other_systems = {.hami = true, .gpushare = true, .kai = true};
  const Webhook webhook(settings);
  const struct {
    const char* annotations;
    const char* limits;
    std::string_view resource;
    std::string says;
  } rows[] = {
      {R"({gpu-fraction: "0.5"})", "{}", model::kMilliResource,
       R"(tangram.dev/gpu-compute-limit above the request does not count in tangram.dev/gpu-milli, )"
       R"(and this namespace has a quota on that; Tangram made it from the annotation gpu-fraction )"
       R"("0.5"; write tangram.dev/gpu-fraction: "0.5" instead of that)"},
      {R"({gpu-fraction: "0.5"})", "{}", model::kMemoryResource,
       R"(Tangram made it from the annotation gpu-fraction "0.5"; write tangram.dev/gpu-mem and )"
       R"(tangram.dev/gpu-compute instead of that)"},
      {R"({gpu-memory: "2000"})", "{}", model::kMilliResource,
       R"(Tangram made it from the annotation gpu-memory "2000"; write tangram.dev/gpu-mem and )"
       R"(tangram.dev/gpu-compute instead of that)"},
      {"{}", "{nvidia.com/gpumem-percentage: 50}", model::kMilliResource,
       "write at most the request; if the manifest has nvidia.com/gpumem-percentage, write "
       "nvidia.com/gpucores with the same number beside it"},
      {"{}", "{nvidia.com/gpumem-percentage: 50, nvidia.com/gpucores: 50}", model::kMemoryResource,
       "; if the manifest has nvidia.com/gpumem-percentage, write nvidia.com/gpumem instead"},
      {"{}", "{nvidia.com/gpumem: 3000}", model::kMilliResource,
       "; if the manifest has nvidia.com/gpumem, write nvidia.com/gpucores beside it; if the "
       "manifest has aliyun.com/gpu-mem, write tangram.dev/gpu-mem and tangram.dev/gpu-compute "
       "instead"}};
  for (const auto& row : rows) {
    const std::string pod =
        pod_of(row.annotations, std::string("{containers: [{name: main, resources: {limits: ") +
                                    row.limits + "}}]}");
    EXPECT_EQ(webhook.refusal(pod), "");
    const std::string refusal = webhook.refusal(pod, {.counted = {row.resource}});
    EXPECT_NE(refusal.find(row.says), std::string::npos) << refusal;
  }
  // What the messages say to write does count.
  const std::vector<std::string_view> milli{model::kMilliResource};
  const auto limits = [](const char* written) {
    return pod_of(
        "{}", std::string("{containers: [{name: main, resources: {limits: ") + written + "}}]}");
  };
  EXPECT_EQ(
      webhook.refusal(pod_of(R"({tangram.dev/gpu-fraction: "0.5"})", kMain), {.counted = milli}),
      "");
  EXPECT_EQ(webhook.refusal(limits("{nvidia.com/gpumem-percentage: 50, nvidia.com/gpucores: 50}"),
                            {.counted = milli}),
            "");
  EXPECT_EQ(webhook.refusal(limits("{nvidia.com/gpumem: 3000, nvidia.com/gpucores: 30}"),
                            {.counted = {model::kMilliResource, model::kMemoryResource}}),
            "");
}

TEST(ValidateTest, WhereAggregatesAreOffAQuotaStillCounts) {
  auto settings = shipped_settings();
  settings.aggregates = false;
  const std::string pod = pod_of(R"({tangram.dev/gpu-fraction: "0.5"})", kMain);
  EXPECT_EQ(Webhook(settings).refusal(pod), "");
  const std::string refusal = Webhook(settings).refusal(pod, {.counted = {model::kMilliResource}});
  EXPECT_NE(refusal.find(R"(write it to its limits: "500")"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace tangram::extender
