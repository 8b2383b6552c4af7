// Namespaces with the label tangram.dev/admission: enabled: what /admission/validate/hidden checks.

#include "extender/admission/validate.hpp"
#include "tests/extender/admission/reviews.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::json_of;
using testing::shipped_settings;
using testing::Webhook;

struct Row {
  const char* name;
  const char* container;  ///< without its name
  bool passes;
  bool passes_placed;  ///< in a pod with spec.nodeName
};

constexpr Row kRows[] = {
    {"Nothing", "image: i", false, false},
    {"Void", "env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}]", true, true},
    {"None", "env: [{name: NVIDIA_VISIBLE_DEVICES, value: none}]", true, true},
    {"Empty", "env: [{name: NVIDIA_VISIBLE_DEVICES, value: \"\"}]", true, true},
    {"All", "env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]", false, false},
    {"ByValueFrom",
     "env: [{name: NVIDIA_VISIBLE_DEVICES, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
     false, false},
    {"VoidAndThenAll",
     "env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}, "
     "{name: NVIDIA_VISIBLE_DEVICES, value: all}]",
     false, false},
    {"EnvFrom", "envFrom: [{configMapRef: {name: m}}]", false, false},
    {"AnotherSystemsCard", "resources: {limits: {nvidia.com/gpu: 1}}", true, false},
    {"NoneOfAnotherSystemsCards", "resources: {limits: {nvidia.com/gpu: 0}}", false, false},
    {"MoreThanSchedulersCount", "resources: {limits: {nvidia.com/gpu: 10E}}", false, false},
    {"MoreThanSchedulersCountInDigits", "resources: {limits: {nvidia.com/gpu: 50e18}}", false,
     false},
    {"WhatWrapsInASum", "resources: {limits: {nvidia.com/gpu: 4611686018427387904}}", false, false},
    {"MoreThanANodeOfAnySizeMayHave", "resources: {limits: {nvidia.com/gpu: 10000000000001}}",
     false, false},
    {"TheMost", "resources: {limits: {nvidia.com/gpu: 10T}}", true, false},
    {"MoreSlotsThanSchedulersCount", "resources: {limits: {tangram.dev/gpu-slot: 10E}}", false,
     false},
    {"AnAmountOfACardAlone", "resources: {limits: {nvidia.com/gpumem: 3000}}", false, false},
    {"APercentageAndCoresAlone",
     "resources: {limits: {nvidia.com/gpumem-percentage: 50, nvidia.com/gpucores: 50}}", false,
     false},
    {"AnAmountOfNoCard", "resources: {limits: {nvidia.com/gpu: 0, nvidia.com/gpumem: 1}}", false,
     false},
    {"AnAmountOfOneCard", "resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 3000}}", true,
     false},
    {"AnAmountOfVolcano", "resources: {limits: {volcano.sh/vgpu-memory: 1}}", false, false},
    {"CardsThatGpushareOnlyCounts", "resources: {limits: {aliyun.com/gpu-count: 1}}", false, false},
    {"CoresOfGpushareAlone", "resources: {limits: {aliyun.com/gpu-core.percentage: 10}}", false,
     false},
    {"MemoryOfGpuManagerAlone", "resources: {limits: {tencent.com/vcuda-memory: 1}}", false, false},
    {"MemoryAndCoresOfGpuManager",
     "resources: {limits: {tencent.com/vcuda-core: 10, tencent.com/vcuda-memory: 1}}", true, false},
    {"CoresOfKoordinatorAlone", "resources: {limits: {koordinator.sh/gpu-core: 1}}", false, false},
    {"CardsOfKoordinatorAlone", "resources: {limits: {koordinator.sh/gpu: 1}}", false, false},
    {"CoresOfKoordinatorOnACard",
     "resources: {limits: {nvidia.com/gpu: 1, koordinator.sh/gpu-core: 1}}", true, false},
    {"CoresOfElasticGpu", "resources: {limits: {elasticgpu.io/gpu-core: 1}}", true, false},
    {"AnAmountThatAPluginServes", "resources: {limits: {aliyun.com/gpu-mem: 3}}", true, false},
    {"ANetworkCard", "resources: {limits: {nvidia.com/hostdev: 1}}", false, false}};

/// A harmless container, and in `list` the one that is tested.
std::string pod_with(const std::string& list, const std::string& container, bool placed) {
  const std::string between = list == "containers" ? ", " : "], " + list + ": [";
  return json_of("metadata: {name: a}\nspec: {" + std::string(placed ? "nodeName: gpu-1, " : "") +
                 "containers: [{name: first, env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}]}" +
                 between + "{name: main, " + container + "}]}");
}

class HiddenTest : public ::testing::TestWithParam<Row> {};

TEST_P(HiddenTest, EveryContainerHidesTheCardsOrHoldsOne) {
  const Row& row = GetParam();
  for (const char* list : {"containers", "initContainers"}) {
    for (const bool placed : {false, true}) {
      const auto verdict =
          Webhook().validate({.object = pod_with(list, row.container, placed)}, {.hidden = true});
      EXPECT_EQ(verdict.allowed, placed ? row.passes_placed : row.passes)
          << list << " placed " << placed << ": " << verdict.message;
      EXPECT_TRUE(verdict.allowed ||
                  verdict.message.find(R"(container "main": )") != std::string::npos);
    }
  }
}

TEST_P(HiddenTest, EveryContainerForDebuggingHidesTheCards) {
  const Row& row = GetParam();
  const std::string spec =
      "metadata: {name: a}\nspec: {nodeName: gpu-1, containers: [{name: first}]";
  testing::Asking asking{
      .operation = "UPDATE",
      .subresource = "ephemeralcontainers",
      .object = json_of(spec + ", ephemeralContainers: [{name: main, " + row.container + "}]}"),
      .old_object = json_of(spec + "}")};
  // It cannot hold a resource, and the pod has its node.
  EXPECT_EQ(Webhook().validate(asking, {.hidden = true}).allowed, row.passes_placed);
  asking.old_object = asking.object;
  EXPECT_TRUE(Webhook().validate(asking, {.hidden = true}).allowed) << "it was there before";
}

TEST(HiddenRuleTest, EveryContainerForDebuggingHidesTheCardsBesideAChangedRequest) {
  const std::string main = "spec: {containers: [{name: main}]";
  const auto pod = [](const std::string& policy) {
    return "metadata: {name: a, annotations: {tangram.dev/gpu-fraction: \"0.5\", "
           "tangram.dev/gpu-policy: " +
           policy + "}}\n";
  };
  const testing::Asking asking{
      .operation = "UPDATE",
      .subresource = "ephemeralcontainers",
      .object = json_of(pod("spread") + main + ", ephemeralContainers: [{name: debug}]}"),
      .old_object = json_of(pod("binpack") + main + "}")};
  EXPECT_FALSE(Webhook().validate(asking, {.hidden = true}).allowed);
}

INSTANTIATE_TEST_SUITE_P(Containers, HiddenTest, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

TEST(HiddenRuleTest, LeavesAContainerWithASlotToTheAgent) {
  const std::string pod = Webhook().mutated(
      json_of("metadata: {name: a, annotations: {tangram.dev/gpu-fraction: \"0.5\"}}\n"
              "spec: {containers: [{name: main}]}"));
  std::string without = pod;
  const std::string env = R"("env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}])";
  ASSERT_NE(without.find(env), std::string::npos);
  without.replace(without.find(env), env.size(), R"("image":"i")");
  for (const std::string& each : {pod, without}) {
    EXPECT_TRUE(Webhook().validate({.object = each}, {.hidden = true}).allowed);
  }
}

TEST(HiddenRuleTest, SaysWhatToWrite) {
  const std::string pod = json_of("metadata: {name: a}\nspec: {containers: [{name: sidecar}]}");
  EXPECT_EQ(Webhook().validate({.object = pod}, {.hidden = true}).message,
            "pod a: container \"sidecar\": could see every card of its node: another webhook "
            "added it after Tangram's, which hides the cards; write the variable "
            "NVIDIA_VISIBLE_DEVICES with the value \"void\"");
  EXPECT_TRUE(Webhook().validate({.object = pod}).allowed) << "without the label";
}

/// The number beside it is small, and the sum of all is below 0: the pod fits every node, and
/// kubelet takes resources away that its node does not have. "second" need not be shown any card
/// for that.
TEST(HiddenRuleTest, NoAmountWrapsTheSumOfAPodOrNode) {
  const auto pod_with_second = [](const std::string& amount) {
    return json_of(
        "metadata: {name: a}\nspec: {containers: [{name: main, resources: {limits: "
        "{nvidia.com/gpu: 1}}}, {name: second, env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}], "
        "resources: {limits: {" +
        amount + "}}}]}");
  };
  const auto verdict = [&](const std::string& amount) {
    return Webhook().validate({.object = pod_with_second(amount)}, {.hidden = true});
  };
  EXPECT_EQ(verdict("nvidia.com/gpu: 9223372036854775807").message,
            "pod a: container \"second\": nvidia.com/gpu \"9223372036854775807\" is no number "
            "up to 10T; Kubernetes' sums of larger ones wrap, so write the number that the "
            "container needs");
  // Kubernetes reads them all, and what it sees of them is no more than 0, alone or beside the 1.
  for (const char* amount :
       {"10E", "50e18", "9300000001G", "9300e4294967311", "18446744073709551617"}) {
    EXPECT_FALSE(verdict("nvidia.com/gpu: \"" + std::string(amount) + "\"").allowed) << amount;
  }
  EXPECT_FALSE(verdict("aliyun.com/gpu-mem: 20T").allowed);
  EXPECT_TRUE(verdict("aliyun.com/gpu-mem: 10T").allowed);
  EXPECT_TRUE(verdict("koordinator.sh/gpu-memory: 20T").allowed) << "bytes, which give no card";
  EXPECT_TRUE(verdict("example.com/bytes: 20T").allowed);
  const std::string wraps = pod_with_second("nvidia.com/gpu: 9223372036854775807");
  EXPECT_FALSE(Webhook().validate({.object = wraps}).allowed) << "without the label, too";
}

/// HAMi's webhook adds the number of cards, and a variable in the pod would win over its plugin's.
TEST(HiddenRuleTest, LeavesAnAmountToTheWebhookOfItsSystem) {
  const std::string alone = json_of(
      "metadata: {name: a}\nspec: {containers: [{name: main, resources: {limits: "
      "{nvidia.com/gpumem: 3000}}}]}");
  const std::string pod = Webhook().mutated(alone);
  EXPECT_EQ(testing::at(pod, "spec.containers.0.env"), "");
  EXPECT_EQ(
      Webhook().validate({.object = pod}, {.hidden = true}).message,
      "pod a: container \"main\": could see every card of its node: nvidia.com/gpumem \"3000\" "
      "is an amount, and gives it no card by itself; write the number of cards, too, such as "
      "nvidia.com/gpu: 1");
  std::string counted = pod;
  const std::string amount = R"("nvidia.com/gpumem")";
  counted.insert(counted.find(amount), R"("nvidia.com/gpu":"1",)");
  EXPECT_EQ(Webhook().mutated(counted), counted);
  EXPECT_TRUE(Webhook().validate({.object = counted}, {.hidden = true}).allowed);
}

TEST(HiddenRuleTest, PodsMayShowThemselvesCardsWhereThatIsAllowed) {
  auto settings = shipped_settings();
  settings.allow_visible_devices = true;
  const auto allowed = [&](const std::string& container) {
    return Webhook(settings)
        .validate({.object = pod_with("containers", container, false)}, {.hidden = true})
        .allowed;
  };
  EXPECT_TRUE(allowed("env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]"));
  EXPECT_FALSE(allowed("image: i"));
}

}  // namespace
}  // namespace tangram::extender
