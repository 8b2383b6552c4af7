#include "bench/objects.hpp"

#include "base/json.hpp"
#include "model/annotations.hpp"
#include "model/cards.hpp"

namespace tangram::bench {

namespace {

using json::Writer;

void write_amounts(Writer& out, MilliCpu cpu, Mebibytes memory) {
  out.member("cpu", std::to_string(cpu.count()) + "m");
  out.member("memory", std::to_string(memory.count()) + "Mi");
}

void write_cards(Writer& out, const model::NodeInventory& node) {
  out.key("annotations").begin_object();
  out.member(model::kCardsAnnotation, model::encode_cards(node.cards)).end_object();
}

void write_container(Writer& out, const PodSpec& pod) {
  out.begin_object().member("name", "main").member("image", "registry.example/train:1");
  out.key("resources").begin_object();
  out.key("requests").begin_object();
  write_amounts(out, pod.cpu, pod.memory);
  if (pod.slot) out.member(model::kSlotResource, "1");
  out.end_object();
  if (pod.slot) out.key("limits").begin_object().member(model::kSlotResource, "1").end_object();
  out.end_object().end_object();
}

}  // namespace

std::string node_json(const model::NodeInventory& node) {
  std::string text;
  Writer out(text);
  out.begin_object().member("apiVersion", "v1").member("kind", "Node");
  out.key("metadata").begin_object().member("name", node.name);
  write_cards(out, node);
  out.end_object();
  out.key("status").begin_object().key("allocatable").begin_object();
  write_amounts(out, node.cpu, node.memory);
  out.end_object().end_object().end_object();
  return text;
}

std::string cards_patch(const model::NodeInventory& node) {
  std::string text;
  Writer out(text);
  out.begin_object().key("metadata").begin_object();
  write_cards(out, node);
  out.end_object().end_object();
  return text;
}

std::string pod_json(const PodSpec& pod) {
  std::string text;
  Writer out(text);
  out.begin_object().member("apiVersion", "v1").member("kind", "Pod");
  out.key("metadata").begin_object().member("name", pod.name).member("namespace", pod.ns);
  out.key("annotations").begin_object();
  for (const auto& [name, value] : pod.annotations) out.member(name, value);
  out.end_object().end_object();
  out.key("spec").begin_object();
  if (!pod.node.empty()) out.member("nodeName", pod.node);
  if (pod.priority != 0) out.member("priority", pod.priority);
  out.key("containers").begin_array();
  write_container(out, pod);
  out.end_array().end_object();
  out.key("status").begin_object().member("phase", "Pending").end_object().end_object();
  return text;
}

}  // namespace tangram::bench
