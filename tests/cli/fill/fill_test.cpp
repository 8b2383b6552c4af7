#include "cli/fill/fill.hpp"

#include "cli/fill/yaml_tree.hpp"
#include "cli/format.hpp"
#include "config/config.hpp"
#include "kube/local/yaml_to_json.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace tangram::cli {
namespace {

extender::AdmissionSettings default_settings() {
  return extender::admission_settings(config::Config{});
}

Filled filled_of(const std::string& text,
                 const extender::AdmissionSettings& settings = default_settings()) {
  Filled filled;
  const auto done = fill("f.yaml", text, settings, filled);
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return filled;
}

/// "" = it is filled.
std::string error_of(const std::string& text) {
  Filled filled;
  const auto done = fill("f.yaml", text, default_settings(), filled);
  return done ? "" : done.error().message;
}

std::string json_of(const std::string& yaml) {
  const auto objects = kube::yaml_to_json(yaml, kube::YamlMaps::kAsWritten);
  EXPECT_TRUE(objects) << yaml;
  return objects && !objects->empty() ? objects->front().json : "";
}

std::size_t count_in(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

const std::string kJob = "apiVersion: batch/v1\nkind: Job\n";
constexpr const char* kTemplate =
    "{metadata: {annotations: {tangram.dev/gpu-fraction: '0.5'}}, "
    "spec: {containers: [{name: main, image: x}]}}";

std::string job(const std::string& annotation, const std::string& container = "name: main") {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {template: {metadata: "
         "{annotations: {" +
         annotation + "}}, spec: {containers: [{" + container + "}]}}}\n";
}

TEST(FillTest, WritesIntoATemplateWhatTheWebhookWritesIntoItsPods) {
  const Filled filled = filled_of(job("tangram.dev/gpu-mem: 8Gi, tangram.dev/gpu-compute: '0.3'"));
  ASSERT_EQ(filled.documents.size(), 1U);
  EXPECT_EQ(filled.documents[0],
            "apiVersion: batch/v1\n"
            "kind: Job\n"
            "metadata:\n"
            "  name: train\n"
            "spec:\n"
            "  template:\n"
            "    metadata:\n"
            "      annotations:\n"
            "        tangram.dev/gpu-mem: 8Gi\n"
            "        tangram.dev/gpu-compute: \"0.3\"\n"
            "        tangram.dev/gpu-container: main\n"
            "    spec:\n"
            "      containers:\n"
            "        - name: main\n"
            "          resources:\n"
            "            limits:\n"
            "              tangram.dev/gpu-mem-mib: \"8192\"\n"
            "              tangram.dev/gpu-milli: \"300\"\n"
            "              tangram.dev/gpu-slot: \"1\"\n"
            "            requests:\n"
            "              tangram.dev/gpu-mem-mib: \"8192\"\n"
            "              tangram.dev/gpu-milli: \"300\"\n"
            "              tangram.dev/gpu-slot: \"1\"\n"
            "          env:\n"
            "            - name: NVIDIA_VISIBLE_DEVICES\n"
            "              value: void\n"
            "      tolerations:\n"
            "        - effect: NoSchedule\n"
            "          key: nvidia.com/gpu\n"
            "          operator: Exists\n"
            "        - effect: NoSchedule\n"
            "          key: amd.com/gpu\n"
            "          operator: Exists\n");
  EXPECT_EQ(joined(filled.refusals) + joined(filled.notes), "");
}

TEST(FillTest, AddsNothingToWhatIsFilled) {
  const std::string once = filled_yaml(filled_of(job("tangram.dev/gpu-fraction: '0.5'")));
  EXPECT_EQ(filled_yaml(filled_of(once)), once);
}

TEST(FillTest, ReplacesAmountsThatTheRequestDoesNotCount) {
  const std::string text = filled_yaml(
      filled_of(job("tangram.dev/gpu-fraction: '0.5'",
                    "name: main, resources: {limits: {cpu: 2, tangram.dev/gpu-milli: 1, "
                    "tangram.dev/gpu-mem-mib: 7}, requests: {tangram.dev/gpu-mem-mib: 7}}")));
  EXPECT_EQ(count_in(text, "gpu-milli: \"500\""), 2U) << text;
  EXPECT_EQ(count_in(text, "gpu-mem-mib"), 0U) << text;
  EXPECT_EQ(count_in(text, "cpu: 2\n"), 1U) << text;
}

TEST(FillTest, FollowsTheExtendersSettings) {
  auto settings = default_settings();
  settings.aggregates = false;
  settings.scheduler_name = "tangram";
  const std::string text = filled_yaml(filled_of(job("tangram.dev/gpu-fraction: '0.5'"), settings));
  EXPECT_EQ(count_in(text, "gpu-milli"), 0U) << text;
  EXPECT_EQ(count_in(text, "gpu-slot: \"1\""), 2U) << text;
  EXPECT_EQ(count_in(text, "schedulerName: tangram"), 1U) << text;
}

TEST(FillTest, TranslatesOtherSystemsRequestsWhereTheWebhookDoes) {
  const std::string text =
      "kind: Pod\napiVersion: v1\nspec: {containers: [{name: main, resources: {limits: "
      "{nvidia.com/gpu: 2}}}]}\n";
  EXPECT_EQ(filled_yaml(filled_of(text)), text);
  config::Config config;
  config.foreign.nvidia = true;
  const std::string filled = filled_yaml(filled_of(text, extender::admission_settings(config)));
  EXPECT_EQ(count_in(filled, "nvidia.com/gpu:"), 0U) << filled;
  EXPECT_EQ(count_in(filled, "metadata:\n  annotations:"), 1U) << filled;
  EXPECT_EQ(count_in(filled, "gpu-milli: \"2000\""), 2U) << filled;
}

/// Where an object has its templates.
struct Kind {
  std::string name;
  std::string head;  ///< apiVersion and kind
  std::string spec;  ///< with TEMPLATE for each
  std::size_t templates = 1;
};
std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

class FillKindTest : public ::testing::TestWithParam<Kind> {};

TEST_P(FillKindTest, FillsEveryTemplate) {
  const Kind& kind = GetParam();
  std::string text = kind.head + "\nmetadata: {name: n}\n" + kind.spec + "\n";
  for (std::size_t at = text.find("TEMPLATE"); at != std::string::npos;
       at = text.find("TEMPLATE")) {
    text.replace(at, 8, kTemplate);
  }
  const std::string filled = filled_yaml(filled_of(text));
  // In limits and in requests.
  EXPECT_EQ(count_in(filled, "gpu-milli: \"500\""), 2 * kind.templates) << filled;
  if (kind.templates == 0) {
    EXPECT_EQ(filled, text);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FillKindTest,
    ::testing::Values(
        Kind{"Deployment", "apiVersion: apps/v1\nkind: Deployment", "spec: {template: TEMPLATE}"},
        Kind{"StatefulSet", "apiVersion: apps/v1\nkind: StatefulSet", "spec: {template: TEMPLATE}"},
        Kind{"DaemonSet", "apiVersion: apps/v1\nkind: DaemonSet", "spec: {template: TEMPLATE}"},
        Kind{"ReplicaSet", "apiVersion: apps/v1\nkind: ReplicaSet", "spec: {template: TEMPLATE}"},
        Kind{"ReplicationController", "apiVersion: v1\nkind: ReplicationController",
             "spec: {template: TEMPLATE}"},
        Kind{"CronJob", "apiVersion: batch/v1\nkind: CronJob",
             "spec: {jobTemplate: {spec: {template: TEMPLATE}}}"},
        Kind{"JobSet", "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet",
             "spec: {replicatedJobs: [{name: a, template: {spec: {template: TEMPLATE}}}, "
             "{name: b, template: {spec: {template: TEMPLATE}}}]}",
             2},
        Kind{"RayCluster", "apiVersion: ray.io/v1\nkind: RayCluster",
             "spec: {headGroupSpec: {template: TEMPLATE}, workerGroupSpecs: [{template: TEMPLATE}, "
             "{template: TEMPLATE}]}",
             3},
        Kind{"RayJob", "apiVersion: ray.io/v1\nkind: RayJob",
             "spec: {submitterPodTemplate: TEMPLATE, rayClusterSpec: {headGroupSpec: {template: "
             "TEMPLATE}, workerGroupSpecs: [{template: TEMPLATE}]}}",
             3},
        Kind{"RayService", "apiVersion: ray.io/v1\nkind: RayService",
             "spec: {rayClusterConfig: {headGroupSpec: {template: TEMPLATE}, workerGroupSpecs: "
             "[{template: TEMPLATE}]}}",
             2},
        Kind{"MPIJob", "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob",
             "spec: {mpiReplicaSpecs: {Launcher: {template: TEMPLATE}, Worker: {template: "
             "TEMPLATE}}}",
             2},
        Kind{"PyTorchJob", "apiVersion: kubeflow.org/v1\nkind: PyTorchJob",
             "spec: {pytorchReplicaSpecs: {Master: {template: TEMPLATE}, Worker: {template: "
             "TEMPLATE}}}",
             2},
        Kind{"TFJob", "apiVersion: kubeflow.org/v1\nkind: TFJob",
             "spec: {tfReplicaSpecs: {Chief: {template: TEMPLATE}, Worker: {template: TEMPLATE}}}",
             2},
        Kind{"LeaderWorkerSet", "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet",
             "spec: {leaderWorkerTemplate: {leaderTemplate: TEMPLATE, workerTemplate: TEMPLATE}}",
             2},
        Kind{"JobOfAnotherSystem", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job",
             "spec: {template: TEMPLATE}", 0}),
    [](const auto& kind) { return kind.param.name; });

TEST(FillTest, KeepsValuesAsTheyWereWritten) {
  const std::string volumes =
      "volumes: [{name: a, secret: {secretName: \"0644\", defaultMode: 0644, optional: yes}}], "
      "terminationGracePeriodSeconds: 0x10, hostname: ~, ";
  std::string text = job("tangram.dev/gpu-fraction: '0.5', a: \"on\", b: '', c: \"a\\tb\\u00e9\"");
  text.insert(text.find("containers:"), volumes);
  const std::string filled = filled_yaml(filled_of(text));
  for (const char* line :
       {"secretName: \"0644\"\n", "defaultMode: 0644\n", "optional: yes\n",
        "terminationGracePeriodSeconds: 0x10\n", "hostname: null\n", "a: \"on\"\n", "b: \"\"\n"}) {
    EXPECT_EQ(count_in(filled, line), 1U) << line << filled;
  }
  EXPECT_NE(json_of(filled).find("\"c\":\"a\\tb\u00e9\""), std::string::npos) << filled;
}

TEST(FillTest, KeepsScripts) {
  for (const std::string& script :
       {std::string("|\n      set -e\n        run  \n      # no comment\n"),
        std::string("|+\n      a\n\n"), std::string("|-\n      a\n      b\n"),
        std::string(">\n      one\n      line\n"), std::string("|2\n        indented\n"),
        std::string("\"tab\\there\\nand\\n\"\n")}) {
    const std::string text =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {tangram.dev/gpu-fraction: "
        "'0.5'}}\nspec:\n  containers:\n  - name: main\n    args:\n    - " +
        script;
    const std::string filled = filled_yaml(filled_of(text));
    const auto args_of = [](const std::string& json) {
      const std::size_t at = json.find("\"args\":");
      return json.substr(at, json.find(']', at) - at);
    };
    EXPECT_EQ(count_in(filled, "gpu-milli"), 2U) << filled;
    EXPECT_EQ(args_of(json_of(filled)), args_of(json_of(text))) << filled;
  }
}

TEST(FillTest, WritesAliasesAndMergedMapsOut) {
  const std::string filled = filled_yaml(filled_of(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {tangram.dev/gpu-mem.a: 1Gi, "
      "tangram.dev/gpu-mem.b: 2Gi}}\nspec:\n  containers:\n  - &c\n    name: a\n    image: x\n"
      "    resources: &r {limits: {cpu: 1}}\n  - {<<: *c, name: b}\n"));
  // Each container has its own amounts.
  EXPECT_EQ(count_in(filled, "gpu-mem-mib: \"1024\""), 2U) << filled;
  EXPECT_EQ(count_in(filled, "gpu-mem-mib: \"2048\""), 2U) << filled;
  EXPECT_EQ(count_in(filled, "image: x"), 2U) << filled;
  EXPECT_EQ(count_in(filled, "<<"), 0U) << filled;
}

TEST(FillTest, PrintsOtherDocumentsAsTheyAre) {
  const std::string config =
      "# settings\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}   # note\ndata: {a: "
      "'\tb'}\n";
  const std::string plain =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: "
      "[{name: main}]}\n";
  const Filled filled = filled_of("---\n" + config + "---\n# nothing\n---\n" + plain);
  EXPECT_EQ(filled_yaml(filled), config + "---\n" + plain);
  EXPECT_EQ(joined(filled.notes),
            "f.yaml: left as they are, since their kinds are not known to have pod templates: "
            "ConfigMap c");
}

TEST(FillTest, NamesSomeOfManyOtherDocuments) {
  std::string text;
  for (int i = 0; i < 12; ++i) {
    text += "kind: Secret\nmetadata: {name: s" + std::to_string(i) + "}\n---\n";
  }
  const Filled filled = filled_of(text);
  EXPECT_EQ(filled.documents.size(), 12U);
  EXPECT_NE(joined(filled.notes).find(": Secret s0, Secret s1, "), std::string::npos);
  EXPECT_NE(joined(filled.notes).find(", Secret s9 and 2 others"), std::string::npos);
}

TEST(FillTest, LeavesOutWhatTheWebhookRefuses) {
  const Filled filled = filled_of(
      job("tangram.dev/gpu-fraction: 50%") + "---\n" + job("tangram.dev/gpu-fraction: '0.5'") +
      "---\n" + job("tangram.dev/gpufraction: '0.5'") + "---\n" +
      job("a: b", "name: main, resources: {limits: {tangram.dev/gpu-slot: 1}}"));
  EXPECT_EQ(filled.documents.size(), 1U);
  ASSERT_EQ(filled.refusals.size(), 3U);
  EXPECT_EQ(filled.refusals[0],
            "f.yaml: document 1 (Job train): pod train: tangram.dev/gpu-fraction: \"50%\" is not a "
            "decimal number; write one from 0.001 to 1, such as 0.5");
  EXPECT_EQ(filled.refusals[1].find("f.yaml: document 3 (Job train): pod train: "), 0U);
  EXPECT_NE(filled.refusals[1].find("tangram.dev/gpu-fraction"), std::string::npos);
  EXPECT_EQ(filled.refusals[2].find("f.yaml: document 4 (Job train): pod train: "), 0U);
}

TEST(FillTest, NamesTheTemplateThatTheWebhookRefuses) {
  const Filled filled = filled_of(
      "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r}\nspec: {headGroupSpec: "
      "{template: {spec: {containers: [{name: head}]}}}, workerGroupSpecs: [{template: {metadata: "
      "{annotations: {tangram.dev/gpu-fraction: '2'}}, spec: {containers: [{name: w}]}}}]}\n");
  EXPECT_TRUE(filled.documents.empty());
  ASSERT_EQ(filled.refusals.size(), 1U);
  EXPECT_EQ(filled.refusals[0].find("f.yaml: document 1 (RayCluster r), "
                                    "spec.workerGroupSpecs[0].template: pod r: "),
            0U)
      << filled.refusals[0];
}

TEST(FillTest, FillsTheItemsOfAList) {
  const std::string item =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: "
      "{template: " +
      std::string(kTemplate) + "}}";
  const std::string list =
      "apiVersion: v1\nkind: List\nitems: [" + item + ", {kind: Service, metadata: {name: s}}]\n";
  const Filled filled = filled_of(list);
  ASSERT_EQ(filled.documents.size(), 1U);
  EXPECT_EQ(count_in(filled.documents[0], "gpu-milli: \"500\""), 2U) << filled.documents[0];
  EXPECT_EQ(count_in(filled.documents[0], "kind: Service"), 1U);
  std::string wrong = list;
  wrong.replace(wrong.find("0.5"), 3, "0,5");
  const Filled refused = filled_of(wrong);
  EXPECT_TRUE(refused.documents.empty());
  EXPECT_EQ(joined(refused.refusals).find("f.yaml: document 1, item 1 (Job j): pod j: "), 0U);
}

TEST(FillTest, ReadsJson) {
  const std::string text =
      filled_yaml(filled_of(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},)"
                            R"("spec":{"backoffLimit":0,"template":{"metadata":{"annotations":)"
                            R"({"tangram.dev/gpu-fraction":"0.5"}},"spec":{"containers":)"
                            R"([{"name":"main","env":[{"name":"A","value":"1"}]}]}}}})"));
  EXPECT_EQ(count_in(text, "\"backoffLimit\": 0\n"), 1U) << text;
  EXPECT_EQ(count_in(text, "\"value\": \"1\"\n"), 1U) << text;
  EXPECT_EQ(count_in(text, "gpu-milli: \"500\""), 2U) << text;
}

TEST(FillTest, NamesTheLineThatIsNoYaml) {
  EXPECT_EQ(
      error_of("a: b\n---\nkind: Job\nspec: {a: 1, a: [}\n").find("f.yaml: line 4: not valid"), 0U);
  EXPECT_EQ(error_of("a: b\n---\n" + kJob + "spec: {a: 1, a: 2}\n"),
            "f.yaml: line 5: key \"a\" stands twice");
  EXPECT_NE(error_of(kJob + "a: " + std::string(100, '[') + std::string(100, ']'))
                .find("nested deeper than 64 levels"),
            std::string::npos);
}

TEST(FillTest, PrintsWhatItDoesNotReadAsItIs) {
  for (const char* const text :
       {"apiVersion: v1\nkind: Service\nmetadata: {name: s, labels: {a: b, a: c}}\n",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "
        "c}\nspec: {~: a, [b]: c}\n",
        "apiVersion: v1\nkind: List\nitems: [{kind: Service, a: b, a: c}]\n",
        "&a {kind: List, items: [*a]}\n", "kind: List\n", "- {kind: Service}\n"}) {
    EXPECT_EQ(filled_yaml(filled_of(text)), text);
  }
  const Filled list = filled_of(
      "kind: List\nitems: [{kind: Service, metadata: {name: s}}, {kind: Secret, a: b, a: c}]\n");
  EXPECT_NE(joined(list.notes).find(": Service s, Secret"), std::string::npos);
}

TEST(FillTest, FindsAKindInAMergedMap) {
  const std::string text =
      "base: &base {apiVersion: batch/v1, kind: Job}\n<<: *base\nspec: {template: " +
      std::string(kTemplate) + "}\n";
  EXPECT_EQ(count_in(filled_yaml(filled_of(text)), "gpu-milli: \"500\""), 2U);
}

/// Ten lists, each of ten times the one before; the first of ten values.
std::string nested_aliases(const std::string& value, const std::string& merge = "") {
  const auto ten = [](const std::string& each) {
    std::string text;
    for (int n = 0; n < 10; ++n) text += (n == 0 ? "" : ", ") + each;
    return text;
  };
  std::string text = kJob + "a0: &a0 " + (merge.empty() ? "[" + ten(value) + "]" : value) + "\n";
  for (int i = 1; i < 10; ++i) {
    const std::string name = "a" + std::to_string(i);
    const std::string list = "[" + ten("*a" + std::to_string(i - 1)) + "]";
    text += name + ": &" + name + " " + (merge.empty() ? list : "{" + merge + list + "}") + "\n";
  }
  return text;
}

TEST(FillTest, BoundsWhatAliasesStandFor) {
  for (const std::string& text :
       {nested_aliases("x"), nested_aliases("~"), nested_aliases("{}", "<<: ")}) {
    const std::string error = error_of(text);
    EXPECT_NE(error.find("the text is too large with its aliases"), std::string::npos) << error;
  }
}

TEST(FillTest, BoundsTheDepthOfMergedMaps) {
  std::string text = kJob + "a0: &a0 {b: c}\n";
  for (int i = 1; i < 1'000; ++i) {
    const std::string name = "a" + std::to_string(i);
    text += name + ": &" + name + " {<<: *a" + std::to_string(i - 1) + "}\n";
  }
  for (const std::string& deep : {text, std::string("&a {kind: Job, <<: *a}\n")}) {
    EXPECT_NE(error_of(deep).find("nested deeper than 64 levels"), std::string::npos);
  }
}

}  // namespace
}  // namespace tangram::cli
