#include "tests/e2e/objects.hpp"

#include "base/json.hpp"

namespace tangram::e2e {

namespace {

using json::Writer;
using StringMap = std::map<std::string, std::string>;

void write_texts(Writer& out, std::string_view key, const StringMap& texts,
                 const std::string& prefix = "") {
  out.key(key).begin_object();
  for (const auto& [name, value] : texts) out.member(prefix + name, value);
  out.end_object();
}

void write_amounts(Writer& out, std::string_view key, const NodeSpec& node) {
  StringMap amounts = {{"cpu", "128"},
                       {"memory", "1024Gi"},
                       {"pods", "250"},
                       {"tangram.dev/gpu-slot", std::to_string(node.slots)}};
  if (node.aggregates) {
    int memory = 0;
    for (const auto& card : node.cards) memory += card.memory_mib;
    amounts["tangram.dev/gpu-milli"] = std::to_string(1000 * node.cards.size());
    amounts["tangram.dev/gpu-mem-mib"] = std::to_string(memory);
  }
  write_texts(out, key, amounts);
}

void write_ready(Writer& out) {
  out.key("conditions").begin_array().begin_object();
  out.member("type", "Ready").member("status", "True");
  out.member("reason", "TestNode").member("message", "no machine stands behind it");
  out.end_object().end_array();
}

void write_status(Writer& out, const NodeSpec& node) {
  out.key("status").begin_object();
  write_amounts(out, "capacity", node);
  write_amounts(out, "allocatable", node);
  write_ready(out);
  out.end_object();
}

void write_resources(Writer& out, const PodSpec& pod) {
  StringMap requests = {{"cpu", "100m"}, {"memory", "64Mi"}};
  requests.insert(pod.requests.begin(), pod.requests.end());
  if (pod.slot) requests["tangram.dev/gpu-slot"] = "1";
  StringMap limits;
  for (const auto& [name, amount] : requests) {
    if (name.starts_with("tangram.dev/")) limits[name] = amount;
  }
  out.key("resources").begin_object();
  write_texts(out, "requests", requests);
  write_texts(out, "limits", limits);
  out.end_object();
}

void write_volume(Writer& out, const std::string& claim) {
  out.key("volumes").begin_array().begin_object().member("name", "data");
  out.key("persistentVolumeClaim").begin_object().member("claimName", claim).end_object();
  out.end_object().end_array();
}

}  // namespace

NodeSpec node_with_cards(const std::string& name, int cards, const std::string& model,
                         int memory_mib) {
  NodeSpec node{.name = name, .cards = {}, .slots = 16 * cards, .labels = {}};
  for (int i = 0; i < cards; ++i) {
    node.cards.push_back(
        {.id = "GPU-" + name + "-" + std::to_string(i), .model = model, .memory_mib = memory_mib});
  }
  return node;
}

std::string cards_json(const std::vector<CardSpec>& cards) {
  std::string text;
  Writer out(text);
  out.begin_object().member("version", 1).key("cards").begin_array();
  for (const auto& card : cards) {
    out.begin_object().member("id", card.id).member("model", card.model);
    out.member("memMiB", card.memory_mib).member("healthy", card.healthy);
    out.member("maxSharers", card.max_sharers).end_object();
  }
  out.end_array().end_object();
  return text;
}

std::string node_json(const NodeSpec& node) {
  StringMap labels = {{"tangram.dev/gpu", "true"}, {"kubernetes.io/hostname", node.name}};
  labels.insert(node.labels.begin(), node.labels.end());
  std::string text;
  Writer out(text);
  out.begin_object().member("apiVersion", "v1").member("kind", "Node");
  out.key("metadata").begin_object().member("name", node.name);
  write_texts(out, "labels", labels);
  write_texts(out, "annotations", {{"tangram.dev/cards", cards_json(node.cards)}});
  out.end_object();
  write_status(out, node);
  out.end_object();
  return text;
}

std::string node_status_json(const NodeSpec& node) {
  std::string text;
  Writer out(text);
  out.begin_object();
  write_status(out, node);
  out.end_object();
  return text;
}

std::string pod_json(const PodSpec& pod) {
  std::string text;
  Writer out(text);
  out.begin_object().member("apiVersion", "v1").member("kind", "Pod");
  out.key("metadata").begin_object().member("name", pod.name);
  write_texts(out, "labels", pod.labels);
  write_texts(out, "annotations", pod.gpu, "tangram.dev/");
  out.end_object();
  out.key("spec").begin_object().member("schedulerName", pod.scheduler);
  out.member("automountServiceAccountToken", false);
  if (!pod.node.empty()) out.member("nodeName", pod.node);
  if (!pod.group.empty()) {
    out.key("schedulingGroup").begin_object().member("podGroupName", pod.group).end_object();
  }
  if (!pod.priority_class.empty()) out.member("priorityClassName", pod.priority_class);
  write_texts(out, "nodeSelector", pod.node_selector);
  if (!pod.claim.empty()) write_volume(out, pod.claim);
  out.key("containers").begin_array().begin_object();
  out.member("name", "main").member("image", "registry.example/train:1");
  write_resources(out, pod);
  out.end_object().end_array().end_object().end_object();
  if (!pod.rules.empty()) text.insert(text.size() - 2, "," + pod.rules);
  return text;
}

PodSpec fraction_pod(const std::string& name, const std::string& fraction) {
  PodSpec pod;
  pod.name = name;
  pod.gpu = {{"gpu-fraction", fraction}};
  return pod;
}

}  // namespace tangram::e2e
