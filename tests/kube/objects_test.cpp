#include "kube/objects.hpp"

#include "kube/pod_manifest.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/odd_fields.hpp"

#include <gtest/gtest.h>

namespace tangram::kube {
namespace {

using testing::pod_json;

std::string with_spec(const std::string& spec) {
  return R"({"metadata":{"name":"p","namespace":"ml","uid":"u"},"spec":)" + spec + "}";
}

struct FootprintCase {
  std::string name;
  std::string spec;
  std::int64_t cpu;
  std::int64_t memory;
  friend void PrintTo(const FootprintCase& c, std::ostream* out) { *out << c.name; }
};

class Footprint : public ::testing::TestWithParam<FootprintCase> {};

TEST_P(Footprint, FollowsKubernetesRule) {
  const auto pod = decode_pod(with_spec(GetParam().spec));
  ASSERT_TRUE(pod.has_value()) << pod.error().message;
  EXPECT_EQ(pod->footprint.cpu, MilliCpu(GetParam().cpu));
  EXPECT_EQ(pod->footprint.memory, Mebibytes(GetParam().memory));
}

std::string container(const std::string& cpu, const std::string& memory,
                      const std::string& more = "") {
  return R"({"name":"c","resources":{"requests":{"cpu":")" + cpu + R"(","memory":")" + memory +
         R"("}})" + more + "}";
}
const std::string kAlways = R"(,"restartPolicy":"Always")";

/// A running pod may be resized to anything, and must not vanish from the ledger for that.
TEST(ObjectsTest, AbsurdAmountsCountAsMoreThanAnyNodeHas) {
  const auto pod = decode_pod(with_spec(R"({"containers":[)" + container("1E", "2Pi") + "," +
                                        container("1E", "7E") + "," + container("1", "1") + "]}"));
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->footprint.cpu, MilliCpu(1'000'000'000));
  EXPECT_EQ(pod->footprint.memory, Mebibytes(1 << 30));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Footprint,
    ::testing::Values(
        FootprintCase{"NoContainers", "{}", 0, 0},
        FootprintCase{"NullEverywhere",
                      R"({"containers":null,"initContainers":null,"overhead":null})", 0, 0},
        FootprintCase{
            "AppsAddUp",
            R"({"containers":[)" + container("500m", "1Gi") + "," + container("1", "512Mi") + "]}",
            1500, 1536},
        // Bytes add up before they round: 2 x 1.5 MiB = 3 MiB, not 4.
        FootprintCase{
            "MemoryRoundsOnce",
            R"({"containers":[)" + container("1", "1536Ki") + "," + container("1", "1536Ki") + "]}",
            2000, 3},
        FootprintCase{"PartsRoundUp", R"({"containers":[)" + container("1u", "1") + "]}", 1, 1},
        FootprintCase{"NumbersAreQuantities",
                      R"({"containers":[{"resources":{"requests":{"cpu":2,"memory":1048576}}}]})",
                      2000, 1},
        // Ordinary init containers run one after the other: max(3, 2) = 3 > 1.
        FootprintCase{"LargestInitCounts",
                      R"({"containers":[)" + container("1", "1Gi") + R"(],"initContainers":[)" +
                          container("3", "1Mi") + "," + container("2", "2Gi") + "]}",
                      3000, 2048},
        // Apps 1 + sidecar 1 = 2; init beside the sidecar before it: 1 + 2 = 3.
        FootprintCase{"SidecarRunsBesideLaterInit",
                      R"({"containers":[)" + container("1", "1Mi") + R"(],"initContainers":[)" +
                          container("1", "1Mi", kAlways) + "," + container("2", "1Mi") + "]}",
                      3000, 2},
        // The init is over when the sidecar starts: max(2, 1 + 1) = 2.
        FootprintCase{"SidecarAfterInitDoesNotAddToIt",
                      R"({"containers":[)" + container("1", "1Mi") + R"(],"initContainers":[)" +
                          container("2", "1Mi") + "," + container("1", "1Mi", kAlways) + "]}",
                      2000, 2},
        FootprintCase{"RestartPolicyOfAppMeansNothing",
                      R"({"containers":[)" + container("1", "1Mi", kAlways) + "]}", 1000, 1},
        FootprintCase{"OverheadIsAdded",
                      R"({"containers":[)" + container("1", "1Gi") +
                          R"(],"overhead":{"cpu":"250m","memory":"120Mi"}})",
                      1250, 1144},
        FootprintCase{"LimitStandsInForRequest",
                      R"({"containers":[{"resources":{"limits":{"cpu":"2","memory":"1Gi"},)"
                      R"("requests":{"cpu":"1"}}}]})",
                      1000, 1024},
        // Of the pod as a whole: cpu 5 instead of 1, memory still the containers'; plus overhead.
        FootprintCase{"PodLevelRequestOverridesPerResource",
                      R"({"containers":[)" + container("1", "1Gi") +
                          R"(],"resources":{"requests":{"cpu":"5"}},"overhead":{"cpu":"1"}})",
                      6000, 1024},
        FootprintCase{"PodLevelRequestMayBeSmaller",
                      R"({"containers":[],"initContainers":[)" + container("4", "1Gi") +
                          R"(],"resources":{"requests":{"cpu":"3"}}})",
                      3000, 1024},
        FootprintCase{"PodLevelLimitCountsWhereNobodyAsks",
                      R"({"containers":[)" + container("1", "0") +
                          R"(],"resources":{"limits":{"cpu":"5","memory":"2Gi"}}})",
                      1000, 2048}),
    [](const auto& test) { return test.param.name; });

struct BadPod {
  std::string name;
  std::string text;
  std::string says;
  friend void PrintTo(const BadPod& c, std::ostream* out) { *out << c.name; }
};

class RefusedPod : public ::testing::TestWithParam<BadPod> {};

TEST_P(RefusedPod, NamesThePlace) {
  const auto pod = decode_pod(GetParam().text);
  ASSERT_FALSE(pod.has_value());
  EXPECT_EQ(pod.error().code, Errc::kInvalidArgument);
  EXPECT_NE(pod.error().message.find(GetParam().says), std::string::npos) << pod.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, RefusedPod,
    ::testing::Values(
        BadPod{"Empty", "", "not valid JSON"}, BadPod{"Array", "[]", "expected an object"},
        BadPod{"Nothing", "{}", "metadata.uid: missing"},
        BadPod{"NoName", R"({"metadata":{"uid":"u","namespace":"n"}})", "metadata.name: missing"},
        BadPod{"NoNamespace", R"({"metadata":{"uid":"u","name":"n"}})",
               "metadata.namespace: missing"},
        BadPod{"NameIsNumber", R"({"metadata":{"name":1}})", "metadata.name: expected a string"},
        BadPod{"AnnotationIsNumber", R"({"metadata":{"annotations":{"tangram.dev/gpu-mem":8}}})",
               "metadata.annotations.tangram.dev/gpu-mem: expected a string"},
        BadPod{"ContainersIsObject", with_spec(R"({"containers":{}})"),
               "spec.containers: expected an array"},
        BadPod{"Quantity", with_spec(R"({"containers":[)" + container("lots", "1") + "]}"),
               "spec.containers.resources.requests.cpu: \"lots\" is not a quantity"},
        BadPod{"NegativeQuantity", with_spec(R"({"containers":[)" + container("-1", "1") + "]}"),
               "spec.containers.resources.requests.cpu"},
        BadPod{
            "AbsurdSlots",
            with_spec(R"({"containers":[{"resources":{"limits":{"tangram.dev/gpu-slot":"5k"}}}]})"),
            "more than any node has"},
        BadPod{"AbsurdSumOfSlots",
               with_spec(R"({"containers":[{"resources":{"limits":{"tangram.dev/gpu-slot":4096}}},)"
                         R"({"resources":{"limits":{"tangram.dev/gpu-slot":1}}}]})"),
               "slots in all"},
        BadPod{"AbsurdSumOfInitSlots",
               with_spec(
                   R"({"initContainers":[{"resources":{"limits":{"tangram.dev/gpu-slot":4096}}},)"
                   R"({"resources":{"limits":{"tangram.dev/gpu-slot":1}}}]})"),
               "slots in all"},
        BadPod{"QuantityIsBool", with_spec(R"({"overhead":{"memory":true}})"),
               "spec.overhead.memory"},
        BadPod{"PriorityIsReal", with_spec(R"({"priority":1.5})"), "spec.priority"},
        BadPod{"PriorityIsHuge", with_spec(R"({"priority":2147483648})"), "32-bit"}),
    [](const auto& test) { return test.param.name; });

/// As kube-scheduler sends one, with much that does not matter.
std::string realistic_pod() {
  return R"({"metadata":{"name":"train-0","namespace":"ml","uid":"6c5f","resourceVersion":"812",)"
         R"("creationTimestamp":null,"labels":{"app":"train"},"annotations":{)"
         R"("tangram.dev/gpu-fraction":"0.5","tangram.dev/gpu-model":"A100*",)"
         R"("example.com/other":"\"quoted\" é"},"ownerReferences":[{"kind":"Job","uid":"9"}]},)"
         R"("spec":{"volumes":[{"name":"data","emptyDir":{}}],"initContainers":[)"
         R"({"name":"fetch","image":"i","resources":{"requests":{"cpu":"2","memory":"1Gi"}}},)"
         R"({"name":"proxy","image":"i","restartPolicy":"Always","resources":{"requests":)"
         R"({"cpu":"100m","memory":"64Mi"}}}],"containers":[{"name":"main","image":"i","ports":)"
         R"([{"containerPort":80}],"resources":{"limits":{"tangram.dev/gpu-slot":"1","memory":"8Gi"},)"
         R"("requests":{"cpu":"1500m","memory":"4Gi"}}},{"name":"side","image":"i","resources":{}}],)"
         R"("nodeName":"n1","priority":1000,"preemptionPolicy":"Never","schedulingGates":[{"name":"g"}],)"
         R"("tolerations":[{"key":"k","operator":"Exists","tolerationSeconds":300}]},)"
         R"("status":{"phase":"Running","nominatedNodeName":"n2","conditions":[{"type":"PodScheduled"}],)"
         R"("qosClass":"Burstable"}})";
}

TEST(PodTest, ReadsWhatKubeSchedulerSends) {
  const auto pod = decode_pod(realistic_pod());
  ASSERT_TRUE(pod.has_value()) << pod.error().message;
  EXPECT_EQ(pod->uid, "6c5f");
  EXPECT_EQ(pod->full_name(), "ml/train-0");
  EXPECT_EQ(pod->resource_version, "812");
  EXPECT_EQ(pod->annotations,
            (model::Annotations{{"gpu-fraction", "0.5"}, {"gpu-model", "A100*"}}));
  EXPECT_EQ(pod->node, "n1");
  EXPECT_EQ(pod->nominated_node, "n2");
  EXPECT_EQ(pod->priority, 1000);
  EXPECT_TRUE(pod->never_preempts);
  EXPECT_TRUE(pod->gated);
  EXPECT_FALSE(pod->deleting);
  EXPECT_FALSE(pod->finished);
  // Init alone: 2 cores, 1 GiB. Apps and sidecar: 1.5 + 0.1 cores, 4 GiB + 64 MiB.
  EXPECT_EQ(pod->footprint, (model::Footprint{MilliCpu(2000), Mebibytes(4160), 1}));
}

TEST(PodTest, OrdersContainersAppsSidecarsInits) {
  const auto pod = decode_pod(realistic_pod());
  ASSERT_TRUE(pod.has_value());
  ASSERT_EQ(pod->containers.size(), 4U);
  EXPECT_EQ(pod->containers[0].name, "main");
  EXPECT_EQ(pod->containers[0].slots, 1);
  EXPECT_EQ(pod->containers[1].name, "side");
  EXPECT_EQ(pod->containers[1].slots, 0);
  EXPECT_EQ(pod->containers[2].name, "proxy");
  EXPECT_FALSE(pod->containers[2].ordinary_init);
  EXPECT_EQ(pod->containers[3].name, "fetch");
  EXPECT_TRUE(pod->containers[3].ordinary_init);
}

TEST(PodTest, AManifestComesInTheSamePassAndHoldsWhatItsAuthorWrote) {
  PodManifest manifest;
  const auto pod = decode_pod(realistic_pod(), &manifest);
  ASSERT_TRUE(pod.has_value()) << pod.error().message;
  const auto alone = decode_pod(realistic_pod());
  EXPECT_EQ(pod->annotations, alone->annotations);
  EXPECT_EQ(pod->footprint, alone->footprint);
  EXPECT_EQ(pod->containers.size(), alone->containers.size());
  EXPECT_EQ(manifest.name, "train-0");
  EXPECT_EQ(manifest.node, "n1");
  EXPECT_EQ(manifest.labels, pod->labels);
  EXPECT_EQ(manifest.annotations.at("example.com/other"), "\"quoted\" é");
  EXPECT_EQ(manifest.annotations.at("tangram.dev/gpu-fraction"), "0.5");
  ASSERT_EQ(manifest.containers.size(), 4U);
  EXPECT_EQ(manifest.containers[0].limits,
            (StringMap{{"memory", "8Gi"}, {"tangram.dev/gpu-slot", "1"}}));
  EXPECT_EQ(manifest.containers[0].requests, (StringMap{{"cpu", "1500m"}, {"memory", "4Gi"}}));
  EXPECT_TRUE(manifest.containers[1].has_resources);
  // App containers first, whatever comes first in the text; sidecars stay in their list.
  EXPECT_EQ(manifest.containers[2].name, "fetch");
  EXPECT_EQ(manifest.containers[2].kind, ContainerKind::kInit);
  EXPECT_EQ(manifest.containers[3].kind, ContainerKind::kSidecar);
  EXPECT_EQ(manifest.containers[3].index, 1U);
}

/// The webhook has its own words for a wrong quantity, and must not fail on one.
TEST(PodTest, AManifestTakesQuantitiesAsTheyAre) {
  std::string text =
      with_spec(R"({"containers":[{"name":"c","resources":{"limits":{"tangram.dev/gpu-slot":"5k"},)"
                R"("requests":{"cpu":"lots"}}}],"priority":1.5})");
  EXPECT_FALSE(decode_pod(text).has_value());
  json::Reader in(text);
  const PodManifest manifest = read_manifest(in);
  ASSERT_TRUE(in.finish().has_value());
  EXPECT_EQ(*manifest.containers.at(0).quantity("tangram.dev/gpu-slot"), "5k");
  EXPECT_EQ(*manifest.containers.at(0).quantity("cpu"), "lots");
}

TEST(PodTest, TheOutlineOfAManifestHasAllThatIsRead) {
  const std::string rest =
      R"({"metadata":{"generateName":"g-","labels":{"a":"b"}},"spec":{"nodeSelector":{"c":"d"},)"
      R"("runtimeClassName":"nvidia","schedulerName":"s","containers":[{"name":"c","env":[{"name":)"
      R"("A","value":"1"},{"name":"B","valueFrom":{"fieldRef":{}}}],"envFrom":[{"secretRef":{}}]}],)"
      R"("initContainers":[{"name":"i","restartPolicy":"Always","resources":{"requests":{"x":1}}}],)"
      R"("ephemeralContainers":[{"name":"e","env":[{"name":"A"}]}]}})";
  for (const std::string& text : {realistic_pod(), rest}) {
    std::string whole = text;
    json::Reader all(whole);
    const PodManifest expected = read_manifest(all);
    std::string outlined = text;
    json::Reader in(outlined, json::Outline{.members = manifest_outline({})});
    EXPECT_TRUE(read_manifest(in) == expected) << text;
    EXPECT_TRUE(all.finish().has_value() && in.finish().has_value());
  }
}

TEST(PodTest, EveryTruncationIsAnError) {
  const std::string whole = realistic_pod();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_pod(whole.substr(0, size)).has_value()) << "cut at byte " << size;
  }
}

struct PhaseCase {
  std::string phase;
  bool finished;
};

TEST(PodTest, FinishedPodsHoldNothing) {
  for (const PhaseCase& c :
       {PhaseCase{"Pending", false}, PhaseCase{"Running", false}, PhaseCase{"Unknown", false},
        PhaseCase{"Succeeded", true}, PhaseCase{"Failed", true}}) {
    const auto pod = decode_pod(pod_json({.uid = "u", .phase = c.phase}));
    ASSERT_TRUE(pod.has_value());
    EXPECT_EQ(pod->finished, c.finished) << c.phase;
  }
}

TEST(PodTest, DeletionTimestampMeansDeleting) {
  const auto pod = decode_pod(
      R"({"metadata":{"name":"p","namespace":"n","uid":"u","deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  ASSERT_TRUE(pod.has_value());
  EXPECT_TRUE(pod->deleting);
  const auto null =
      decode_pod(R"({"metadata":{"name":"p","namespace":"n","uid":"u","deletionTimestamp":null}})");
  ASSERT_TRUE(null.has_value());
  EXPECT_FALSE(null->deleting);
}

TEST(PodTest, AScheduledConditionMeansThatASchedulerHasTried) {
  const auto pod = [](const std::string& conditions) {
    return decode_pod(R"({"metadata":{"name":"p","namespace":"ml","uid":"u"},)"
                      R"("spec":{"schedulerName":"tangram"},"status":{"conditions":)" +
                      conditions + "}}");
  };
  EXPECT_EQ(pod("null")->scheduler, "tangram");
  EXPECT_FALSE(pod("null")->tried);
  EXPECT_FALSE(pod(R"([{"type":"Ready","status":"False"}])")->tried);
  EXPECT_TRUE(pod(R"([{"type":"PodScheduled","status":"False"},{"type":"Ready"}])")->tried);
}

TEST(PodTest, ARefusalChangesWithWhatTheSchedulerSays) {
  const auto refusal = [](const std::string& members) {
    const auto pod = decode_pod(R"({"metadata":{"name":"p","namespace":"ml","uid":"u"},"spec":{},)"
                                R"("status":{"conditions":[{"type":"PodScheduled",)" +
                                members + "}]}}");
    return pod ? pod->refusal : 1;
  };
  const auto first = refusal(R"("status":"False","reason":"Unschedulable","message":"0/3 nodes")");
  EXPECT_NE(first, 0);
  EXPECT_EQ(refusal(R"("message":"0/3 nodes","status":"False","reason":"Unschedulable")"), first);
  EXPECT_NE(refusal(R"("status":"False","reason":"Unschedulable","message":"0/4 nodes")"), first);
  EXPECT_NE(refusal(R"("status":"False","reason":"SchedulerError","message":"0/3 nodes")"), first);
  EXPECT_EQ(refusal(R"("status":"True")"), 0);
  EXPECT_EQ(refusal(R"("status":"False","reason":"SchedulingGated","message":"gates")"), 0);
}

TEST(PodTest, ItsGroupIsThatOfItsSpecElseOfALabel) {
  const auto group = [](const std::string& spec, const std::string& labels = "{}") {
    const auto pod = decode_pod(R"({"metadata":{"name":"p","namespace":"ml","uid":"u","labels":)" +
                                labels + R"(},"spec":)" + spec + "}");
    return pod ? pod->group : GroupOfPod{};
  };
  using Kind = GroupOfPod::Kind;
  const std::string native = R"({"schedulingGroup":{"podGroupName":"g"}})";
  const std::string coscheduling = R"({"scheduling.x-k8s.io/pod-group":"c"})";
  EXPECT_EQ(group("{}"), GroupOfPod{});
  EXPECT_EQ(group(R"({"schedulingGroup":null})"), GroupOfPod{});
  EXPECT_EQ(group(R"({"schedulingGroup":{}})"), GroupOfPod{});
  EXPECT_EQ(group(native), (GroupOfPod{Kind::kPodGroup, "g"}));
  EXPECT_EQ(group(native, coscheduling), (GroupOfPod{Kind::kPodGroup, "g"}));
  EXPECT_EQ(group("{}", coscheduling), (GroupOfPod{Kind::kCoscheduling, "c"}));
  EXPECT_EQ(group("{}", R"({"pod-group.scheduling.sigs.k8s.io":"c"})"),
            (GroupOfPod{Kind::kCoscheduling, "c"}));
  EXPECT_EQ(group("{}", R"({"kueue.x-k8s.io/pod-group-name":"k"})"),
            (GroupOfPod{Kind::kKueue, "k"}));
}

TEST(PodTest, VolumesClaimsAndGroupsMayDelayABind) {
  const auto binds_late = [](const std::string& spec, const std::string& labels = "{}") {
    const auto pod = decode_pod(R"({"metadata":{"name":"p","namespace":"ml","uid":"u","labels":)" +
                                labels + R"(},"spec":)" + spec + "}");
    return pod && pod->binds_late;
  };
  EXPECT_FALSE(binds_late("{}"));
  EXPECT_FALSE(binds_late(R"({"volumes":[{"name":"a","emptyDir":{}}],"resourceClaims":[]})"));
  EXPECT_FALSE(binds_late(R"({"volumes":null,"schedulingGroup":null})"));
  EXPECT_TRUE(binds_late(
      R"({"volumes":[{"name":"a","emptyDir":{}},{"name":"b","persistentVolumeClaim":{}}]})"));
  EXPECT_TRUE(binds_late(R"({"volumes":[{"name":"a","ephemeral":{"volumeClaimTemplate":{}}}]})"));
  EXPECT_TRUE(binds_late(R"({"resourceClaims":[{"name":"net"}]})"));
  EXPECT_TRUE(binds_late("{}", R"({"scheduling.x-k8s.io/pod-group":"g"})"));
  EXPECT_FALSE(binds_late("{}", R"({"kueue.x-k8s.io/pod-group-name":"g"})"))
      << "each of its members is placed by itself";
  EXPECT_FALSE(binds_late(R"({"schedulingGroup":{"podGroupName":"g"}})"))
      << "all of its members are bound at once";
}

TEST(PodTest, SlotsComeFromLimitsElseRequests) {
  const auto limits = decode_pod(pod_json({.uid = "u",
                                           .requests = {{"tangram.dev/gpu-slot", "3"}},
                                           .limits = {{"tangram.dev/gpu-slot", "2"}}}));
  const auto requests =
      decode_pod(pod_json({.uid = "u", .requests = {{"tangram.dev/gpu-slot", "3"}}}));
  ASSERT_TRUE(limits.has_value() && requests.has_value());
  EXPECT_EQ(limits->containers.at(0).slots, 2);
  EXPECT_EQ(requests->containers.at(0).slots, 3);
}

TEST(NodeTest, AllocatableRoundsDown) {
  const auto node = decode_node(
      R"({"metadata":{"name":"n1","resourceVersion":"7","annotations":{"tangram.dev/cards":"x","a":"b"}},)"
      R"("status":{"capacity":{"cpu":"8","memory":"32Gi"},)"
      R"("allocatable":{"cpu":"7900500u","memory":"33284423681"}}})");
  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_EQ(node->name, "n1");
  EXPECT_EQ(node->resource_version, "7");
  EXPECT_EQ(node->annotations, (model::Annotations{{"cards", "x"}}));
  EXPECT_EQ(node->cpu, MilliCpu(7900));
  EXPECT_EQ(node->memory, Mebibytes(31742));  // 33284423681 / 2^20 = 31742.5...
}

TEST(NodeTest, CapacityStandsInForAllocatable) {
  const auto node =
      decode_node(R"({"metadata":{"name":"n1"},"status":{"capacity":{"cpu":"8","memory":"1Gi"},)"
                  R"("allocatable":{"cpu":"7"}}})");
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(node->cpu, MilliCpu(7000));
  EXPECT_EQ(node->memory, Mebibytes(1024));
}

TEST(NodeTest, RefusesWrongTypesAndNoName) {
  for (const char* text : {"{}", "[]", R"({"metadata":{"name":5}})", R"({"metadata":[]})",
                           R"({"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"x"}}})"}) {
    const auto node = decode_node(text);
    ASSERT_FALSE(node.has_value()) << text;
    EXPECT_EQ(node.error().code, Errc::kInvalidArgument);
  }
}

TEST(ObjectNameTest, ReadsTheNameAlone) {
  std::string text = testing::node_json("n7");
  json::Reader in(text);
  EXPECT_EQ(read_object_name(in), "n7");
  EXPECT_TRUE(in.finish().has_value());
}

Pod with_status(const std::string& status, const std::string& metadata = "") {
  const auto pod = decode_pod(R"({"metadata":{"name":"p","namespace":"ml","uid":"u")" + metadata +
                              R"(},"spec":{},"status":)" + status + "}");
  EXPECT_TRUE(pod.has_value()) << pod.error().message;
  return pod ? *pod : Pod{};
}

TEST(PodStart, SaysWhatItsContainersWaitFor) {
  const Pod pod = with_status(
      R"({"phase":"Pending","initContainerStatuses":[{"name":"i","restartCount":0,"state":)"
      R"({"waiting":{"reason":"PodInitializing"}},"lastState":{}}],"containerStatuses":[)"
      R"({"name":"a","started":false,"restartCount":0,"state":{"waiting":{"reason":)"
      R"("CreateContainerConfigError","message":"tangram: cannot start: no"}}},)"
      R"({"name":"b","state":null,"lastState":null}]})");
  EXPECT_EQ(pod.waiting,
            (std::vector<Waiting>{{"CreateContainerConfigError", "tangram: cannot start: no"}}));
  EXPECT_FALSE(pod.started);
}

TEST(PodStart, WhatAContainerWaitsForIsOneLine) {
  const Pod pod = with_status(
      R"({"phase":"Pending","containerStatuses":[{"name":"a","restartCount":0,"state":{"waiting":)"
      R"({"reason":"ErrImagePull","message":"no\nml/other  bound\u202e"}}}]})");
  EXPECT_EQ(pod.waiting, (std::vector<Waiting>{{"ErrImagePull", "no?ml/other  bound?"}}));
}

TEST(PodStart, HasStartedOnceAContainerRan) {
  const auto started = [](const std::string& container) {
    return with_status(R"({"phase":"Pending","containerStatuses":[)" + container + "]}").started;
  };
  EXPECT_FALSE(started(R"({"state":{"waiting":{}}})"));
  EXPECT_TRUE(started(R"({"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}})"));
  EXPECT_TRUE(started(R"({"state":{"waiting":{}},"lastState":{"terminated":{"exitCode":1}}})"));
  EXPECT_TRUE(started(R"({"restartCount":2})"));
  EXPECT_TRUE(with_status(R"({"phase":"Pending","initContainerStatuses":[)"
                          R"({"state":{"terminated":{"exitCode":0}}}]})")
                  .started);
  EXPECT_TRUE(with_status(R"({"phase":"Running"})").started);
  EXPECT_FALSE(with_status("{}").started);
}

TEST(PodStart, NamesTheContainersThatHaveRun) {
  const Pod pod = with_status(
      R"({"phase":"Running","containerStatuses":[)"
      R"({"name":"a","state":{"running":{}}},{"lastState":{"terminated":{}},"name":"b"},)"
      R"({"name":"c","restartCount":0,"state":{"waiting":{}}},{"restartCount":1,"name":"d"}],)"
      R"("initContainerStatuses":[{"name":"i","state":{"terminated":{}}}]})");
  EXPECT_EQ(pod.ran, (std::vector<std::string>{"a", "b", "d", "i"}));
}

TEST(PodController, IsTheOwnerThatControls) {
  const auto controller = [](const std::string& owners) {
    return with_status("{}", R"(,"ownerReferences":)" + owners).controller;
  };
  EXPECT_EQ(controller(R"([{"kind":"Other","name":"o"},{"kind":"ReplicaSet","name":"train-7",)"
                       R"("uid":"r","controller":true,"blockOwnerDeletion":true}])"),
            (Controller{"ReplicaSet", "train-7"}));
  EXPECT_EQ(controller(R"([{"kind":"Other","name":"o","controller":false}])"), Controller{});
  EXPECT_EQ(controller("null"), Controller{});
  EXPECT_EQ(with_status("{}").controller, Controller{});
}

// ---- What is not read may be anything

/// All that is read of a pod, and around each member one that is not.
std::string whole_pod() {
  const std::string container =
      R"({"x":1,"name":"c","image":"i","resources":{"x":[],"limits":{"cpu":"2"},"requests":)"
      R"({"cpu":1}},"restartPolicy":"Always","env":[{"name":"A","value":"1"},{"name":"B",)"
      R"("valueFrom":{"x":{}}}],"envFrom":[{"x":{}}]})";
  const std::string state =
      R"({"name":"c","x":{},"state":{"waiting":{"reason":"R","message":"M","x":1},"x":{}},)"
      R"("lastState":{"terminated":{"x":1}},"restartCount":1})";
  return R"({"kind":"Pod","metadata":{"x":{},"uid":"u","namespace":"ml","name":"p",)"
         R"("generateName":"p-","resourceVersion":"7","annotations":{"tangram.dev/gpu-fraction":)"
         R"("0.5","other":"a"},"labels":{"a":"b"},"deletionTimestamp":"t","ownerReferences":)"
         R"([{"x":1,"kind":"Node","name":"n1","controller":true}]},"spec":{"x":{},)"
         R"("nodeName":"n1","schedulerName":"s","runtimeClassName":"r","nodeSelector":{"a":"b"},)"
         R"("tolerations":[{"key":"k","operator":"Exists","effect":"NoSchedule","x":1}],)"
         R"("containers":[)" +
         container + R"(],"initContainers":[)" + container + R"(],"ephemeralContainers":[)" +
         container +
         R"(],"priority":3,"volumes":[{"x":1,"ephemeral":{"volumeClaimTemplate":{}}}],)"
         R"("resourceClaims":[{"x":1}],"schedulingGroup":{"x":1,"podGroupName":"g"},"preemptionPolicy":"Never",)"
         R"("schedulingGates":[{"name":"g"}],"overhead":{"memory":"1Mi"},"resources":{"x":1,)"
         R"("limits":{"memory":"1Gi"},"requests":{"memory":"1Gi"}}},"status":{"x":{},)"
         R"("phase":"Running","containerStatuses":[)" +
         state + R"(],"initContainerStatuses":[)" + state +
         R"(],"nominatedNodeName":"n2","conditions":[{"type":"PodScheduled","reason":"r",)"
         R"("x":1,"status":"False","message":"m"}]}})";
}

TEST(ObjectsTest, PassesOverNothingThatCounts) {
  std::string text = whole_pod();
  json::Reader in(text);
  PodManifest whole_manifest;
  const Pod whole = read_pod(in, &whole_manifest);
  ASSERT_TRUE(in.finish());
  PodManifest manifest;
  const auto pod = decode_pod(whole_pod(), &manifest);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(*pod, whole);
  EXPECT_EQ(manifest, whole_manifest);
  const auto alone = decode_pod(whole_pod());
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_EQ(*alone, whole);
}

TEST(ObjectsTest, PassesOverManagedFieldsOfAnyDepthAndBytes) {
  PodManifest manifest;
  const auto pod = decode_pod(testing::with_odd_fields(whole_pod()), &manifest);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(*pod, *decode_pod(whole_pod()));
  EXPECT_EQ(manifest.name, "p");
  const auto node = decode_node(testing::with_odd_fields(testing::node_json("n1")));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->cpu, MilliCpu(7'900));
}

TEST(ObjectsTest, PassesOverTheMetadataOfAVolumesTemplate) {
  const auto pod = decode_pod(
      with_spec(R"({"volumes":[{"ephemeral":{"volumeClaimTemplate":{"metadata":{"managedFields":)" +
                testing::odd_fields() + R"(}}}}],"nodeName":"n1"})"));
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_TRUE(pod->binds_late);
  EXPECT_EQ(pod->node, "n1");
}

}  // namespace
}  // namespace tangram::kube
