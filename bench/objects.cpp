#include "bench/objects.hpp"

#include "base/json.hpp"
#include "model/annotations.hpp"
#include "model/cards.hpp"

#include <fmt/format.h>

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

/// An ordinary container as the API server shows it at admission: defaults filled in.
std::string admitted_container(const std::string& name) {
  return fmt::format(
      R"({{"name":"{0}","image":"registry.example.com/team/{0}:1.2.3","command":["/bin/{0}","--serve"],)"
      R"("ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],)"
      R"("env":[{{"name":"LEVEL","value":"info"}},{{"name":"POD","valueFrom":{{"fieldRef":)"
      R"({{"apiVersion":"v1","fieldPath":"metadata.name"}}}}}}],)"
      R"("resources":{{"limits":{{"cpu":"2","memory":"4Gi"}},"requests":{{"cpu":"1","memory":"2Gi"}}}},)"
      R"("volumeMounts":[{{"name":"token","readOnly":true,"mountPath":"/var/run/secrets"}}],)"
      R"("terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent"}})",
      name);
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

std::string admission_review(int sidecars) {
  std::string containers = admitted_container("main");
  for (int i = 0; i < sidecars; ++i)
    containers += "," + admitted_container("sidecar-" + std::to_string(i));
  return fmt::format(
      R"({{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{)"
      R"("uid":"705ab4f5-6393-11e8-b7cc-42010a800002","kind":{{"group":"","version":"v1","kind":"Pod"}},)"
      R"("resource":{{"group":"","version":"v1","resource":"pods"}},"namespace":"ml","operation":"CREATE",)"
      R"("userInfo":{{"username":"system:serviceaccount:ml:default"}},"dryRun":false,)"
      R"("object":{{"kind":"Pod","apiVersion":"v1","metadata":{{"generateName":"train-","namespace":"ml",)"
      R"("labels":{{"app":"train"}},"annotations":{{"tangram.dev/gpu-fraction":"0.5"}}}},)"
      R"("spec":{{"containers":[{0}],"restartPolicy":"Always","schedulerName":"default-scheduler",)"
      R"("serviceAccountName":"default","securityContext":{{}}}},"status":{{}}}},"oldObject":null}}}})",
      containers);
}

}  // namespace tangram::bench
