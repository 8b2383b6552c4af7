#include "tests/e2e/node_pods.hpp"

#include "base/json.hpp"
#include "tests/e2e/environment.hpp"

namespace tangram::e2e {

namespace {

using json::Writer;
using StringMap = std::map<std::string, std::string>;

// node.sh imports them.
constexpr const char* kImage = "e2e.tangram.dev/program:1";
constexpr const char* kCudaImage = "e2e.tangram.dev/cuda:1";

void write_variable(Writer& out, std::string_view name, std::string_view value) {
  out.begin_object().member("name", name).member("value", value).end_object();
}

std::string image_of(const ContainerSpec& container) {
  if (!container.image.empty()) return container.image;
  return container.cuda_image ? kCudaImage : kImage;
}

void write_container(Writer& out, const ContainerSpec& container, StringMap limits) {
  if (container.slot) limits["tangram.dev/gpu-slot"] = "1";
  out.begin_object().member("name", container.name).member("image", image_of(container));
  out.key("args").begin_array();
  for (const auto& argument : container.program) out.string(argument);
  out.end_array();
  if (container.sidecar) out.member("restartPolicy", "Always");
  out.key("env").begin_array();
  write_variable(out, "TANGRAM_E2E_RECORDS", "/records");
  write_variable(out, "TANGRAM_E2E_CONTAINER", container.name);
  for (const auto& [name, value] : container.env) write_variable(out, name, value);
  out.begin_object().member("name", "TANGRAM_E2E_POD_UID").key("valueFrom").begin_object();
  out.key("fieldRef").begin_object().member("fieldPath", "metadata.uid").end_object();
  out.end_object().end_object().end_array();
  out.key("resources").begin_object().key("limits").begin_object();
  for (const auto& [name, amount] : limits) out.member(name, amount);
  out.end_object().end_object();
  out.key("volumeMounts").begin_array().begin_object();
  out.member("name", "records").member("mountPath", "/records");
  out.end_object().end_array().end_object();
}

void write_containers(Writer& out, std::string_view key, const NodePod& pod, bool sidecars) {
  out.key(key).begin_array();
  for (const auto& container : pod.containers) {
    if (container.sidecar != sidecars) continue;
    const bool first = &container == &pod.containers.front();
    write_container(out, container, first ? pod.resources : StringMap());
  }
  out.end_array();
}

void write_metadata(Writer& out, const NodePod& pod) {
  if (!pod.name.empty()) out.member("name", pod.name);
  out.key("labels").begin_object();
  for (const auto& [name, value] : pod.labels) out.member(name, value);
  out.end_object();
  out.key("annotations").begin_object();
  for (const auto& [name, value] : pod.annotations) out.member("tangram.dev/" + name, value);
  for (const auto& container : pod.containers) {
    for (const auto& [name, value] : container.gpu) {
      out.member("tangram.dev/" + name + "." + container.name, value);
    }
  }
  out.end_object();
}

void write_spec(Writer& out, const NodePod& pod) {
  out.member("schedulerName", pod.scheduler).member("restartPolicy", pod.restart);
  if (!pod.node.empty()) out.member("nodeName", pod.node);
  if (!pod.runtime_class.empty()) out.member("runtimeClassName", pod.runtime_class);
  // The node has no pod network, no services and no token issuer.
  out.member("hostNetwork", true).member("enableServiceLinks", false);
  out.member("automountServiceAccountToken", false);
  out.member("terminationGracePeriodSeconds", 1);  // the program ends at once
  write_containers(out, "initContainers", pod, true);
  write_containers(out, "containers", pod, false);
  out.key("volumes").begin_array().begin_object().member("name", "records");
  out.key("hostPath").begin_object();
  out.member("path", (environment().state / "node/records").string());
  out.end_object().end_object().end_array();
}

void write_parts(Writer& out, const NodePod& pod) {
  out.key("metadata").begin_object();
  write_metadata(out, pod);
  out.end_object().key("spec").begin_object();
  write_spec(out, pod);
  out.end_object();
}

int one_of(std::mt19937& random, int low, int high) {
  return std::uniform_int_distribution(low, high)(random);
}

/// At most 100 thousandths of a card, so that 40 pods of two such containers always fit.
StringMap random_share(std::mt19937& random, int gibibytes_of_card) {
  const auto thousandths = [&](int high) {
    std::string digits = std::to_string(one_of(random, 1, high));
    return "0." + std::string(3 - digits.size(), '0') + digits;
  };
  const int largest = gibibytes_of_card * 1024 / 10;
  const std::string memory = std::to_string(one_of(random, 1, largest)) + "Mi";
  switch (one_of(random, 0, 4)) {
    case 0:
      return {{"gpu-fraction", thousandths(100)}};
    case 1:
      return {{"gpu-mem", memory}};
    case 2:
      return {{"gpu-mem", memory}, {"gpu-compute", "0"}};
    case 3:
      return {{"gpu-mem", memory}, {"gpu-compute", thousandths(100)}};
    default:
      return {{"gpu-fraction", thousandths(100)},
              {"gpu-mem-limit", "12Gi"},
              {"gpu-compute-limit", "0.5"}};
  }
}

}  // namespace

std::string node_pod_json(const NodePod& pod) {
  std::string text;
  Writer out(text);
  out.begin_object().member("apiVersion", "v1").member("kind", "Pod");
  write_parts(out, pod);
  out.end_object();
  return text;
}

std::string node_pod_template_json(const NodePod& pod) {
  NodePod nameless = pod;
  nameless.name.clear();
  std::string text;
  Writer out(text);
  out.begin_object();
  write_parts(out, nameless);
  out.end_object();
  return text;
}

NodePod plain_pod(const std::string& name, const std::vector<std::string>& program) {
  return {.name = name, .containers = {{.program = program}}};
}

NodePod gpu_pod(const std::string& name, const std::map<std::string, std::string>& share,
                const std::vector<std::string>& program) {
  return {.name = name, .containers = {{.slot = true, .program = program}}, .annotations = share};
}

std::vector<NodePod> random_pods(int count, const std::string& prefix, std::mt19937& random) {
  std::vector<NodePod> pods;
  for (int i = 0; i < count; ++i) {
    NodePod pod{.name = prefix + "-" + std::to_string(i), .containers = {}};
    const int with_card = one_of(random, 0, 3) == 0 ? 2 : 1;
    for (int c = 0; c < with_card; ++c) {
      pod.containers.push_back({.name = "gpu-" + std::to_string(c),
                                .slot = true,
                                .gpu = random_share(random, 80),
                                .sidecar = c == 1 && one_of(random, 0, 1) == 0});
    }
    if (one_of(random, 0, 2) == 0) pod.containers.push_back({.name = "plain"});
    // A card runs one mode at a time; each mode leaves at most one card half empty.
    pod.annotations["gpu-isolation"] = one_of(random, 0, 1) == 0 ? "mps" : "time-slice";
    pods.push_back(std::move(pod));
  }
  return pods;
}

}  // namespace tangram::e2e
