#include "extender/admission/mutate.hpp"

#include "extender/admission/limits.hpp"
#include "tests/extender/admission/reviews.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::at;
using testing::json_of;
using testing::shipped_settings;
using testing::Webhook;

constexpr const char* kHalf = R"(
metadata:
  name: half
  annotations: {tangram.dev/gpu-fraction: "0.5"}
spec:
  containers:
  - {name: main, image: train}
)";

constexpr const char* kTwoContainers = R"(
metadata:
  name: two
  annotations: {tangram.dev/gpu-mem: 8Gi, tangram.dev/gpu-compute: "0.3"}
spec:
  containers:
  - name: main
    resources: {limits: {cpu: 2}, requests: {cpu: 1}}
    env: [{name: MODE, value: fast}]
  - name: logs
    env: [{name: MODE, value: fast}]
  initContainers:
  - {name: fetch}
  - {name: proxy, restartPolicy: Always}
)";

/// The pod with a container put before its others, as injectors do.
std::string with_injected(std::string pod) {
  const std::string place = R"("containers":[)";
  const std::size_t found = pod.find(place);
  return pod.insert(found + place.size(), R"({"name":"istio-proxy","image":"proxy"},)");
}

std::string changes(const Webhook& webhook, const std::string& pod) {
  return webhook.mutate({.object = pod}).patch;
}

TEST(MutateTest, GivesTheContainerItsSlotAndWhatItCounts) {
  const std::string pod = Webhook().mutated(json_of(kHalf));
  for (const char* list : {"limits", "requests"}) {
    EXPECT_EQ(at(pod, std::string("spec.containers.0.resources.") + list),
              R"({"tangram.dev/gpu-milli":"500","tangram.dev/gpu-slot":"1"})");
  }
  EXPECT_EQ(at(pod, "metadata.annotations.tangram:dev|gpu-container"), "main");
  EXPECT_EQ(at(pod, "spec.schedulerName"), "");
  EXPECT_EQ(at(pod, "spec.nodeSelector"), "");
}

TEST(MutateTest, HidesTheCardsFromAContainerUntilItsDeviceShowsItsOwn) {
  const std::string pod = Webhook().mutated(json_of(kHalf));
  EXPECT_EQ(at(pod, "spec.containers.0.env"),
            R"([{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}])");
}

TEST(MutateTest, KeepsWhatTheContainerHoldsAlready) {
  const std::string pod = Webhook().mutated(json_of(kTwoContainers));
  EXPECT_EQ(at(pod, "spec.containers.0.resources.limits"),
            R"({"cpu":"2","tangram.dev/gpu-mem-mib":"8192","tangram.dev/gpu-milli":"300",)"
            R"("tangram.dev/gpu-slot":"1"})");
  EXPECT_EQ(at(pod, "spec.containers.0.resources.requests.cpu"), "1");
  EXPECT_EQ(at(pod, "spec.containers.0.env"),
            R"([{"name":"MODE","value":"fast"},{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}])");
}

TEST(MutateTest, ShowsNoCardToContainersWithoutARequest) {
  const std::string pod = Webhook().mutated(json_of(kTwoContainers));
  const std::string no_card = R"({"name":"NVIDIA_VISIBLE_DEVICES","value":"void"})";
  EXPECT_EQ(at(pod, "spec.containers.1.env"),
            R"([{"name":"MODE","value":"fast"},)" + no_card + "]");
  EXPECT_EQ(at(pod, "spec.initContainers.0.env"), "[" + no_card + "]");
  EXPECT_EQ(at(pod, "spec.initContainers.1.env"), "[" + no_card + "]");
  EXPECT_EQ(at(pod, "spec.containers.1.resources"), "");
}

TEST(MutateTest, ShowsNoCardToPodsWithoutARequest) {
  const std::string pod =
      Webhook().mutated(json_of("metadata: {name: web}\nspec: {containers: [{name: main}]}"));
  EXPECT_EQ(at(pod, "spec.containers.0.env"),
            R"([{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}])");
  EXPECT_EQ(at(pod, "spec.containers.0.resources"), "");
  EXPECT_EQ(at(pod, "metadata.annotations"), "");
}

TEST(MutateTest, LeavesAloneContainersThatSayThemselvesWhatTheySee) {
  for (const char* container : {
           "{name: a, env: [{name: NVIDIA_VISIBLE_DEVICES, value: none}]}",
           "{name: a, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}",
           "{name: a, resources: {limits: {nvidia.com/gpu: 1}}}",
           "{name: a, resources: {limits: {nvidia.com/mig-1g.10gb: 1}}}",
           "{name: a, resources: {limits: {aliyun.com/gpu-mem: 3}}}",
           "{name: a, resources: {requests: {tencent.com/vcuda-core: 3}}}",
       }) {
    const std::string pod = std::string("metadata: {name: a}\nspec: {containers: [") + container;
    EXPECT_EQ(changes(Webhook(), json_of(pod + "]}")), "") << container;
  }
}

TEST(MutateTest, ANetworkCardOrNoneAtAllIsNoCard) {
  for (const char* resources : {
           "{limits: {nvidia.com/hostdev: 1}}",
           "{limits: {rdma.gpucloud.io/hca: 1}}",
           "{limits: {example.com/gpu: 0}}",
           "{limits: {nvidia.com/gpu: 0}}",
           "{limits: {nvidia.com/gpu: \"0\"}, requests: {nvidia.com/gpu: 0}}",
       }) {
    const std::string pod = Webhook().mutated(
        json_of(std::string("metadata: {name: a}\nspec: {containers: [{name: a, resources: ") +
                resources + "}]}"));
    EXPECT_EQ(at(pod, "spec.containers.0.env.0.value"), "void") << resources;
  }
}

TEST(MutateTest, TrustsNoResourceOfAnotherSystemInAPodThatPlacesItself) {
  for (const char* resource : {"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-zzz"}) {
    const std::string pod = json_of(
        "metadata: {name: a}\nspec: {nodeName: gpu-1, containers: [{name: main, resources: "
        "{limits: {" +
        std::string(resource) + ": 1}}}]}");
    EXPECT_EQ(at(Webhook().mutated(pod), "spec.containers.0.env.0.value"), "void") << resource;
    const auto warnings = Webhook().mutate({.object = pod}).warnings;
    ASSERT_EQ(warnings.size(), 1U) << resource;
    EXPECT_EQ(warnings[0],
              "container \"main\": " + std::string(resource) +
                  " \"1\" does not count in a pod with spec.nodeName, since kubelet also starts it "
                  "on nodes without that resource; write nodeSelector: {kubernetes.io/hostname: "
                  "gpu-1} instead");
    EXPECT_EQ(Webhook().refusal(pod), "");
  }
}

TEST(MutateTest, OtherCardsAreThoseOfTheConfiguration) {
  auto settings = shipped_settings();
  settings.card_resources = {"nvidia.com/GA102GL_A10", "example.com/slice-*"};
  const Webhook webhook(settings);
  const auto env_with = [&](const std::string& resource) {
    return at(webhook.mutated(json_of("metadata: {name: a}\nspec: {containers: [{name: a, "
                                      "resources: {limits: {" +
                                      resource + ": 1}}}]}")),
              "spec.containers.0.env");
  };
  EXPECT_EQ(env_with("nvidia.com/GA102GL_A10"), "");
  EXPECT_EQ(env_with("example.com/slice-7"), "");
  EXPECT_NE(env_with("nvidia.com/GA102GL_A100"), "");
  EXPECT_NE(env_with("nvidia.com/gpu"), "");
}

TEST(MutateTest, ASecondTimeChangesNothing) {
  for (const char* yaml : {kHalf, kTwoContainers}) {
    const std::string once = Webhook().mutated(json_of(yaml));
    EXPECT_EQ(changes(Webhook(), once), "");
    EXPECT_EQ(Webhook().refusal(once), "");
  }
}

TEST(MutateTest, AContainerPutBeforeTheOthersChangesNothingButItself) {
  for (const char* yaml : {kHalf, kTwoContainers}) {
    const std::string injected = with_injected(Webhook().mutated(json_of(yaml)));
    EXPECT_EQ(changes(Webhook(), injected),
              R"([{"op":"add","path":"/spec/containers/0/env","value":)"
              R"([{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}]}])");
    EXPECT_EQ(Webhook().refusal(injected), "");
  }
}

TEST(MutateTest, AContainerThatCameToAskKeepsTheVoidThatItGotBefore) {
  const std::string plain = Webhook().mutated(json_of(R"(
metadata: {name: a, annotations: {x: y}}
spec: {containers: [{name: main, env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}, {name: B}]}]}
)"));
  ASSERT_NE(plain.find("void"), std::string::npos);
  std::string annotated = plain;
  const std::string place = R"("x":"y")";
  annotated.replace(annotated.find(place), place.size(), R"("tangram.dev/gpu-fraction":"0.5")");
  const std::string pod = Webhook().mutated(annotated);
  EXPECT_EQ(at(pod, "spec.containers.0.env.0.value"), "void");
  EXPECT_EQ(at(pod, "spec.containers.0.env.1.name"), "B");
  EXPECT_EQ(at(pod, "spec.containers.0.env.2"), "");
  EXPECT_EQ(Webhook().refusal(pod), "");
  EXPECT_EQ(changes(Webhook(), pod), "");
}

TEST(MutateTest, LeavesOtherDevicesOfAContainerThatAsksForValidateToRefuse) {
  const std::string pod = Webhook().mutated(json_of(R"(
metadata: {name: a, annotations: {tangram.dev/gpu-fraction: "0.5"}}
spec: {containers: [{name: main, env: [{name: NVIDIA_VISIBLE_DEVICES, value: none}]}]}
)"));
  EXPECT_EQ(at(pod, "spec.containers.0.env.0.value"), "none");
  EXPECT_NE(Webhook().refusal(pod), "");
}

TEST(MutateTest, TakesOutTheDevicesThatGoWithAPeersWords) {
  auto settings = shipped_settings();
  settings.other_systems.nvidia = true;
  const Webhook webhook(settings);
  const std::string pod = json_of(R"(
metadata: {name: a}
spec:
  containers:
  - name: main
    resources: {limits: {nvidia.com/gpu: 1}}
    env:
    - {name: NVIDIA_VISIBLE_DEVICES, value: all}
    - {name: NVIDIA_DRIVER_CAPABILITIES, value: compute}
    - {name: NVIDIA_VISIBLE_DEVICES, valueFrom: {configMapKeyRef: {name: x, key: y}}}
)");
  const auto verdict = webhook.mutate({.object = pod});
  ASSERT_EQ(verdict.warnings.size(), 2U);
  EXPECT_EQ(verdict.warnings[0].rfind("container \"main\": the variable NVIDIA_VISIBLE_DEVICES", 0),
            0U);
  const std::string mutated = webhook.mutated(pod);
  EXPECT_EQ(at(mutated, "spec.containers.0.env"),
            R"([{"name":"NVIDIA_DRIVER_CAPABILITIES","value":"compute"},)"
            R"({"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}])");
  EXPECT_EQ(webhook.refusal(pod), "");
  EXPECT_EQ(changes(webhook, mutated), "");
}

TEST(MutateTest, LeavesTheVariableToThePodWhereThatIsAllowed) {
  auto settings = shipped_settings();
  settings.allow_visible_devices = true;
  const auto env_after = [&](const std::string& env) {
    return at(Webhook(settings).mutated(
                  json_of("metadata: {name: a, annotations: {tangram.dev/gpu-fraction: \"0.5\"}}\n"
                          "spec: {containers: [{name: main, env: [" +
                          env + "]}]}")),
              "spec.containers.0.env");
  };
  EXPECT_EQ(env_after("{name: NVIDIA_VISIBLE_DEVICES, value: all}"),
            R"([{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}])");
  EXPECT_EQ(env_after(""), R"([{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}])");
}

TEST(MutateTest, PinsNothingWhereEachContainerIsNamed) {
  const std::string pod = Webhook().mutated(json_of(R"(
metadata:
  name: named
  annotations: {tangram.dev/gpu-fraction.b: "0.5", tangram.dev/gpu-mem.a: 1Gi}
spec:
  containers: [{name: a}, {name: b}, {name: c}]
)"));
  EXPECT_EQ(at(pod, "metadata.annotations.tangram:dev|gpu-container"), "");
  EXPECT_EQ(at(pod, "spec.containers.0.resources.limits"),
            R"({"tangram.dev/gpu-mem-mib":"1024","tangram.dev/gpu-slot":"1"})");
  EXPECT_EQ(at(pod, "spec.containers.1.resources.limits"),
            R"({"tangram.dev/gpu-milli":"500","tangram.dev/gpu-slot":"1"})");
  EXPECT_EQ(at(pod, "spec.containers.2.resources"), "");
}

TEST(MutateTest, PinsTheContainerThatHoldsTheSlot) {
  const std::string pod = Webhook().mutated(json_of(R"(
metadata: {name: slot, annotations: {tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-mem.c: 1Gi}}
spec:
  containers: [{name: a}, {name: b, resources: {limits: {tangram.dev/gpu-slot: 1}}}, {name: c}]
)"));
  EXPECT_EQ(at(pod, "metadata.annotations.tangram:dev|gpu-container"), "b");
  EXPECT_EQ(at(pod, "spec.containers.0.resources"), "");
}

TEST(MutateTest, CompletesWhatStandsInOneListAlone) {
  const std::string pod = Webhook().mutated(json_of(R"(
metadata: {name: part, annotations: {tangram.dev/gpu-fraction: "0.5"}}
spec:
  containers:
  - name: a
    resources: {limits: {tangram.dev/gpu-slot: 1}, requests: {tangram.dev/gpu-milli: 500}}
)"));
  for (const char* list : {"limits", "requests"}) {
    const std::string path = std::string("spec.containers.0.resources.") + list;
    EXPECT_EQ(at(pod, path + ".tangram:dev|gpu-slot"), "1");
    EXPECT_EQ(at(pod, path + ".tangram:dev|gpu-milli"), "500");
  }
  EXPECT_EQ(Webhook().refusal(pod), "");
}

TEST(MutateTest, KeepsOtherMembersOfResources) {
  const std::string pod = Webhook().mutated(json_of(R"(
metadata: {name: claims, annotations: {tangram.dev/gpu-fraction: "0.5"}}
spec: {containers: [{name: a, resources: {claims: [{name: nic}]}}]}
)"));
  EXPECT_EQ(at(pod, "spec.containers.0.resources.claims"), R"([{"name":"nic"}])");
  EXPECT_EQ(at(pod, "spec.containers.0.resources.limits.tangram:dev|gpu-slot"), "1");
}

TEST(MutateTest, LeavesAPodWhoseRequestIsWrong) {
  const std::string pod =
      json_of(R"({metadata: {name: a, annotations: {tangram.dev/gpu-fraction: "2"}}, )"
              "spec: {containers: [{name: a}, {name: b}]}}");
  EXPECT_EQ(changes(Webhook(), pod), "");
}

TEST(MutateTest, LeavesThePodsOfOthersAndOtherOperations) {
  const std::string pod = json_of(kHalf);
  const Webhook webhook;
  EXPECT_EQ(webhook.mutate({.operation = "UPDATE", .object = pod, .old_object = pod}).patch, "");
  EXPECT_EQ(webhook.mutate({.operation = "DELETE", .old_object = pod}).patch, "");
  EXPECT_EQ(webhook.mutate({.resource = "replicasets", .object = pod}).patch, "");
  EXPECT_EQ(webhook.mutate({.subresource = "binding", .object = pod}).patch, "");
}

TEST(MutateTest, WithoutAggregatesThereIsTheSlotAlone) {
  auto settings = shipped_settings();
  settings.aggregates = false;
  const std::string pod = Webhook(settings).mutated(json_of(kHalf));
  EXPECT_EQ(at(pod, "spec.containers.0.resources.limits"), R"({"tangram.dev/gpu-slot":"1"})");
}

TEST(MutateTest, SetsRuntimeClassAndNodeSelectorWhereThePodSaysNothing) {
  auto settings = shipped_settings();
  settings.runtime_class = "nvidia";
  settings.node_selector = true;
  const Webhook webhook(settings);
  const std::string pod = webhook.mutated(json_of(kHalf));
  EXPECT_EQ(at(pod, "spec.runtimeClassName"), "nvidia");
  EXPECT_EQ(at(pod, "spec.nodeSelector"), R"({"tangram.dev/gpu":"true"})");
  EXPECT_EQ(changes(webhook, pod), "");

  const std::string own = webhook.mutated(json_of(R"(
metadata: {name: own, annotations: {tangram.dev/gpu-fraction: "0.5"}}
spec:
  runtimeClassName: kata
  nodeSelector: {zone: a, tangram.dev/gpu: "false"}
  containers: [{name: a}]
)"));
  EXPECT_EQ(at(own, "spec.runtimeClassName"), "kata");
  EXPECT_EQ(at(own, "spec.nodeSelector"), R"({"zone":"a","tangram.dev/gpu":"false"})");

  const std::string zone = webhook.mutated(json_of(R"(
metadata: {name: zone, annotations: {tangram.dev/gpu-fraction: "0.5"}}
spec: {nodeSelector: {zone: a}, containers: [{name: a}]}
)"));
  EXPECT_EQ(at(zone, "spec.nodeSelector"), R"({"zone":"a","tangram.dev/gpu":"true"})");

  const std::string plain = json_of("metadata: {name: a}\nspec: {containers: [{name: a}]}");
  EXPECT_EQ(at(webhook.mutated(plain), "spec.runtimeClassName"), "");
  EXPECT_EQ(at(webhook.mutated(plain), "spec.nodeSelector"), "");
}

constexpr const char* kTwoTolerations =
    R"([{"effect":"NoSchedule","key":"nvidia.com/gpu","operator":"Exists"},)"
    R"({"effect":"NoSchedule","key":"amd.com/gpu","operator":"Exists"}])";

TEST(MutateTest, ToleratesTheTaintsOfGpuNodes) {
  const Webhook webhook;
  const std::string pod = webhook.mutated(json_of(kHalf));
  EXPECT_EQ(at(pod, "spec.tolerations"), kTwoTolerations);
  EXPECT_EQ(changes(webhook, pod), "");
  const std::string plain = json_of("metadata: {name: a}\nspec: {containers: [{name: a}]}");
  EXPECT_EQ(at(webhook.mutated(plain), "spec.tolerations"), "");

  auto settings = shipped_settings();
  settings.tolerations.clear();
  EXPECT_EQ(at(Webhook(settings).mutated(json_of(kHalf)), "spec.tolerations"), "");
}

/// The tolerations that a pod with these ones gets from the webhook.
std::string added_to(const std::string& tolerations) {
  const Webhook webhook;
  const std::string pod = webhook.mutated(
      R"({"metadata":{"name":"a","annotations":{"tangram.dev/gpu-fraction":"0.5"}},"spec":)"
      R"({"tolerations":)" +
      tolerations + R"(,"containers":[{"name":"a"}]}})");
  EXPECT_EQ(changes(webhook, pod), "") << tolerations;
  const std::string all = at(pod, "spec.tolerations");
  if (all == tolerations) return "";
  return all.substr(std::min(all.size(), tolerations.size() - 1));
}

TEST(MutateTest, ATolerationThatThePodHasIsNotAdded) {
  const std::string amd = R"({"effect":"NoSchedule","key":"amd.com/gpu","operator":"Exists"}])";
  const std::string both =
      R"({"effect":"NoSchedule","key":"nvidia.com/gpu","operator":"Exists"},)" + amd;
  EXPECT_EQ(added_to(R"([{"operator":"Exists"}])"), "");
  EXPECT_EQ(added_to(R"([{"key":"nvidia.com/gpu","operator":"Exists"}])"), "," + amd);
  // One that covers some values, another effect, or another key does not cover the taint.
  for (const char* other : {R"({"key":"nvidia.com/gpu","operator":"Equal","value":"present"})",
                            R"({"key":"nvidia.com/gpu"})",
                            R"({"key":"nvidia.com/gpu","operator":"Exists","effect":"NoExecute"})",
                            R"({"key":"gpu","operator":"Exists"})"}) {
    EXPECT_EQ(added_to("[" + std::string(other) + "]"), "," + both) << other;
  }
  EXPECT_EQ(at(Webhook().mutated(R"({"metadata":{"name":"a","annotations":)"
                                 R"({"tangram.dev/gpu-fraction":"0.5"}},"spec":{"tolerations":[],)"
                                 R"("containers":[{"name":"a"}]}})"),
               "spec.tolerations"),
            kTwoTolerations);
}

TEST(MutateTest, APodWithMoreTolerationsThanAreReadKeepsThem) {
  std::string list = "[";
  for (std::size_t i = 0; i <= kMaxTolerated; ++i) {
    list += R"({"key":"k)" + std::to_string(i) + R"(","operator":"Exists"},)";
  }
  list.back() = ']';
  EXPECT_EQ(added_to(list), "");
}

TEST(MutateTest, ReplacesTheSchedulersThatAreListed) {
  auto settings = shipped_settings();
  settings.scheduler_name = "tangram";
  const auto scheduler_of = [&](const std::string& before) {
    std::string pod = json_of(kHalf);
    const std::string place = R"("spec":{)";
    if (!before.empty()) {
      pod.insert(pod.find(place) + place.size(), R"("schedulerName":")" + before + "\",");
    }
    return at(Webhook(settings).mutated(pod), "spec.schedulerName");
  };
  EXPECT_EQ(scheduler_of(""), "tangram");
  EXPECT_EQ(scheduler_of("default-scheduler"), "tangram");
  EXPECT_EQ(scheduler_of("hami-scheduler"), "tangram");
  EXPECT_EQ(scheduler_of("kai-scheduler"), "tangram");
  EXPECT_EQ(scheduler_of("tangram"), "tangram");
  EXPECT_EQ(scheduler_of("volcano"), "volcano");
  settings.scheduler_name = "";
  EXPECT_EQ(scheduler_of("default-scheduler"), "default-scheduler");
  EXPECT_EQ(scheduler_of("kai-scheduler"), "kai-scheduler");
}

TEST(MutateTest, PutsAPeersWordsIntoTangrams) {
  auto settings = shipped_settings();
  settings.other_systems = {.nvidia = true, .hami = true, .gpushare = true, .kai = true};
  const Webhook webhook(settings);
  const std::string hami = json_of(R"(
metadata: {name: hami}
spec:
  schedulerName: hami-scheduler
  containers:
  - name: main
    resources: {limits: {cpu: 1, nvidia.com/gpu: 1, nvidia.com/gpumem: 3000, nvidia.com/gpucores: 30}}
)");
  const std::string pod = webhook.mutated(hami);
  EXPECT_EQ(at(pod, "spec.containers.0.resources.limits"),
            R"({"cpu":"1","tangram.dev/gpu-mem-mib":"3000","tangram.dev/gpu-milli":"300",)"
            R"("tangram.dev/gpu-slot":"1"})");
  EXPECT_EQ(at(pod, "metadata.annotations.tangram:dev|gpu-mem"), "3000Mi");
  EXPECT_EQ(at(pod, "spec.schedulerName"), "default-scheduler") << "HAMi's may not be there";
  EXPECT_EQ(changes(webhook, pod), "");
  EXPECT_EQ(webhook.refusal(hami), "");
  EXPECT_EQ(changes(Webhook(), hami), "") << "not translated unless switched on";

  const std::string kai = json_of(R"(
metadata: {name: kai, labels: {kai.scheduler/queue: test}, annotations: {gpu-fraction: "0.5"}}
spec: {schedulerName: kai-scheduler, containers: [{name: main}]}
)");
  const auto verdict = webhook.mutate({.object = kai});
  EXPECT_EQ(verdict.warnings.size(), 1U) << "the queue";
  const std::string translated = webhook.mutated(kai);
  EXPECT_EQ(at(translated, "metadata.annotations.gpu-fraction"), "0.5") << "stays where it is";
  EXPECT_EQ(at(translated, "metadata.annotations.tangram:dev|gpu-fraction"), "0.5");
  EXPECT_EQ(changes(webhook, with_injected(translated)).find("resources"), std::string::npos);
  EXPECT_EQ(webhook.refusal(with_injected(translated)), "");
}

TEST(MutateTest, LeavesWhatCannotBeTranslatedForValidateToRefuse) {
  auto settings = shipped_settings();
  settings.other_systems.kai = true;
  const Webhook webhook(settings);
  const std::string pod = json_of(
      "metadata: {name: kai, annotations: {gpu-fraction: half}}\nspec: {containers: [{name: a}]}");
  EXPECT_EQ(changes(webhook, pod), "");
  EXPECT_NE(webhook.refusal(pod).find("gpu-fraction"), std::string::npos);
  EXPECT_EQ(Webhook().refusal(pod), "") << "somebody else's annotation";
}

TEST(MutateTest, ShowsNoCardToNewEphemeralContainers) {
  const std::string before = json_of(R"(
metadata: {name: a}
spec: {containers: [{name: a}], ephemeralContainers: [{name: first}]}
)");
  const std::string now = json_of(R"(
metadata: {name: a}
spec:
  containers: [{name: a}]
  ephemeralContainers:
  - {name: first}
  - {name: second}
  - {name: third, env: [{name: X, value: y}]}
  - {name: fourth, env: [{name: NVIDIA_VISIBLE_DEVICES, value: none}]}
)");
  const auto verdict = Webhook().mutate({.operation = "UPDATE",
                                         .subresource = "ephemeralcontainers",
                                         .object = now,
                                         .old_object = before});
  EXPECT_EQ(verdict.patch, R"([{"op":"add","path":"/spec/ephemeralContainers/1/env","value":)"
                           R"([{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}]},)"
                           R"({"op":"add","path":"/spec/ephemeralContainers/2/env/-","value":)"
                           R"({"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}}])");
}

}  // namespace
}  // namespace tangram::extender
