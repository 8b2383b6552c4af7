#include "tests/e2e/wrong_pods.hpp"

namespace tangram::e2e {

namespace {

/// @param annotations  lines "name: value" without the prefix tangram.dev/
/// @param spec         a YAML mapping
std::string pod(const std::string& name, const std::vector<std::string>& annotations,
                const std::string& spec) {
  std::string text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n";
  if (!annotations.empty()) text += "  annotations:\n";
  for (const auto& line : annotations) {
    const bool prefixed = line.find('/') < line.find(':');
    text += "    " + std::string(prefixed ? "" : "tangram.dev/") + line + "\n";
  }
  return text + "spec: " + spec + "\n";
}

WrongPod wrong(const std::string& name, const std::vector<std::string>& annotations,
               std::vector<std::string> says,
               const std::string& spec = "{containers: [{name: main, image: i}]}") {
  return {.name = name,
          .manifest = pod(name, annotations, spec),
          .says = std::move(says),
          .says_not = {}};
}

/// One container "main" with these limits.
std::string with_limits(const std::string& limits) {
  return "{containers: [{name: main, image: i, resources: {limits: {" + limits + "}}}]}";
}

const std::string kFraction = "gpu-fraction: \"0.5\"";

std::vector<WrongPod> of_amounts() {
  return {
      wrong("percent", {"gpu-fraction: 50%"}, {"gpu-fraction", "\"50%\"", "such as 0.5"}),
      wrong("nothing", {"gpu-fraction: \"0\""}, {"gpu-fraction", "\"0\"", "0.001 to 1"}),
      wrong("more-than-one", {"gpu-fraction: \"1.5\""},
            {"gpu-fraction", "\"1.5\"", "gpu-count for several"}),
      wrong("too-fine", {"gpu-fraction: \"0.3333\""}, {"gpu-fraction", "write 0.333"}),
      wrong("empty", {"gpu-fraction: \"\""}, {"gpu-fraction", "\"\"", "such as 0.5"}),
      wrong("no-unit", {"gpu-mem: \"8\""}, {"gpu-mem", "\"8\"", "8 bytes", "write 8Gi"}),
      wrong("wrong-unit", {"gpu-mem: 8GB"}, {"gpu-mem", "\"8GB\"", "such as 8Gi"}),
      wrong("both-forms", {kFraction, "gpu-mem: 8Gi"},
            {"gpu-fraction", "gpu-mem", "write only one of them"}),
      wrong("compute-alone", {"gpu-compute: \"0.3\""}, {"gpu-compute", "gpu-mem"}),
      wrong("compute-beside-fraction", {kFraction, "gpu-compute: \"0.3\""},
            {"gpu-compute", "remove it"}),
      wrong("no-cards", {"gpu-count: \"0\""}, {"gpu-count", "\"0\"", "from 1 to 64"}),
      wrong("cards-in-words", {"gpu-count: two"}, {"gpu-count", "\"two\"", "from 1 to 64"}),
      wrong("limit-below", {"gpu-mem: 8Gi", "gpu-mem-limit: 4Gi"},
            {"gpu-mem-limit", "\"4Gi\"", "at least the same as tangram.dev/gpu-mem"}),
      wrong("two-mistakes", {"gpu-fraction: \"2\"", "gpu-isolation: strong"},
            {"gpu-fraction", "\"2\"", "gpu-isolation", "\"strong\"", "mps, time-slice or none"}),
  };
}

std::vector<WrongPod> of_names() {
  return {
      wrong("misspelt", {"gpu-memory: 8Gi"}, {"gpu-memory", "write tangram.dev/gpu-mem"}),
      wrong("unknown-container", {"gpu-fraction.web: \"0.5\""},
            {"gpu-fraction.web", "no container \"web\"", "main"}),
      wrong("unknown-default", {kFraction, "gpu-container: web"},
            {"gpu-container", "\"web\"", "main"}),
      wrong("init-container", {"gpu-fraction.setup: \"0.5\""},
            {"gpu-fraction.setup", "init container", "main"},
            "{initContainers: [{name: setup, image: i}], containers: [{name: main, image: i}]}"),
      wrong("several-shares-by-mps", {kFraction, "gpu-count: \"2\"", "gpu-isolation: mps"},
            {"\"main\"", "mps", "time-slice"}),
      wrong("unknown-policy", {kFraction, "gpu-policy: bestest"}, {"gpu-policy", "\"bestest\""}),
      wrong("unknown-isolation", {kFraction, "gpu-isolation: mig"},
            {"gpu-isolation", "\"mig\"", "mps, time-slice or none"}),
      wrong("empty-model", {kFraction, "gpu-model: \"A100*,,T4\""},
            {"gpu-model", "one comma between"}),
      wrong("empty-uuid", {kFraction, "gpu-uuid: \"!\""}, {"gpu-uuid", "write a UUID after"}),
      wrong("model-alone", {"gpu-model: A100*"},
            {"gpu-model", "how much GPU", "write tangram.dev/gpu-fraction"}),
      wrong("forged-grant", {kFraction, "gpu-grant: \"{}\""}, {"tangram.dev/gpu-grant", "remove"}),
      wrong("bound-by-hand", {kFraction}, {"nodeName", "node"},
            "{nodeName: gpu-1, containers: [{name: main, image: i}]}"),
  };
}

std::vector<WrongPod> of_resources() {
  return {
      wrong("two-slots", {kFraction}, {"tangram.dev/gpu-slot", "main", "1"},
            with_limits("tangram.dev/gpu-slot: 2")),
      wrong("slot-alone", {},
            {"tangram.dev/gpu-slot", "\"main\"", "write tangram.dev/gpu-fraction"},
            with_limits("tangram.dev/gpu-slot: 1")),
      wrong("slot-of-another", {kFraction, "gpu-container: main"},
            {"tangram.dev/gpu-slot", "\"web\"", "remove"},
            "{containers: [{name: main, image: i}, {name: web, image: i, resources: {limits: "
            "{tangram.dev/gpu-slot: 1}}}]}"),
      wrong("slot-of-init", {kFraction}, {"tangram.dev/gpu-slot", "\"setup\"", "init container"},
            "{initContainers: [{name: setup, image: i, resources: {limits: {tangram.dev/gpu-slot: "
            "1}}}], containers: [{name: main, image: i}]}"),
      wrong("aggregate-alone", {}, {"tangram.dev/gpu-milli", "\"main\""},
            with_limits("tangram.dev/gpu-milli: 500")),
      wrong("takes-all-cards", {kFraction}, {"NVIDIA_VISIBLE_DEVICES", "\"main\"", "remove"},
            "{containers: [{name: main, image: i, env: [{name: NVIDIA_VISIBLE_DEVICES, value: "
            "all}]}]}"),
  };
}

std::vector<WrongPod> of_peers() {
  return {
      wrong("ours-and-nvidias", {kFraction},
            {"nvidia.com/gpu \"1\"", "tangram.dev/gpu-fraction \"0.5\"", "write only one of them"},
            with_limits("nvidia.com/gpu: 1")),
      wrong("half-of-nvidias", {}, {"nvidia.com/gpu.shared", "write tangram.dev/gpu-fraction"},
            with_limits("nvidia.com/gpu.shared: 1")),
      wrong("hami-memory-twice", {},
            {"nvidia.com/gpumem \"100\"", "nvidia.com/gpumem-percentage \"10\"", "only one"},
            with_limits("nvidia.com/gpumem: 100, nvidia.com/gpumem-percentage: 10")),
      wrong("hami-by-index", {"nvidia.com/use-gpuindexes: \"0\""},
            {"nvidia.com/use-gpuindexes", "tangram.dev/gpu-uuid"},
            with_limits("nvidia.com/gpu: 1")),
      wrong("gpushare-wrong-unit", {}, {"aliyun.com/gpu-mem \"8138\"", "GiB"},
            with_limits("aliyun.com/gpu-mem: 8138")),
  };
}

}  // namespace

const std::vector<WrongPod>& wrong_pods() {
  static const std::vector<WrongPod> kPods = [] {
    std::vector<WrongPod> pods = of_amounts();
    for (const auto& more : {of_names(), of_resources(), of_peers()}) {
      pods.insert(pods.end(), more.begin(), more.end());
    }
    // Messages name slots only if the pod sets one.
    for (WrongPod& pod : pods) {
      if (pod.manifest.find("gpu-slot") == std::string::npos) pod.says_not = "gpu-slot";
    }
    return pods;
  }();
  return kPods;
}

}  // namespace tangram::e2e
