#include "tests/e2e/karpenter.hpp"

#include "base/json.hpp"
#include "base/rapidjson.hpp"
#include "tests/e2e/environment.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/objects.hpp"
#include "tests/e2e/raw_json.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tangram::e2e {

namespace {

using namespace std::chrono_literals;
using rapidjson::Value;

constexpr const char* kKinds = "nodes,nodeclaims,nodepools,nodeoverlays,kwoknodeclasses";
constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";

// Prices are in dollars an hour.
constexpr const char* kInstanceTypes = R"([
  {"name": "cpu-1x", "architecture": "amd64", "operatingSystems": ["linux"],
   "resources": {"cpu": "128", "memory": "1024Gi", "pods": "250", "ephemeral-storage": "100Gi"},
   "offerings": [{"Price": 1, "Available": true, "Requirements": [
     {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
     {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}]}]},
  {"name": "gpu-4x", "architecture": "amd64", "operatingSystems": ["linux"],
   "resources": {"cpu": "128", "memory": "1024Gi", "pods": "250", "ephemeral-storage": "100Gi"},
   "offerings": [{"Price": 8, "Available": true, "Requirements": [
     {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
     {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}]}]}])";

// What node_with_cards() publishes for kCardsOfInstance cards.
constexpr const char* kObjects = R"(
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: gpu-4x}
spec:
  requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [gpu-4x]}
  capacity:
    tangram.dev/gpu-slot: "64"
    tangram.dev/gpu-milli: "4000"
    tangram.dev/gpu-mem-mib: "327680"
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    metadata:
      labels: {tangram.dev/agent: "true", tangram.dev/gpu-model: A100-SXM4-80GB}
    spec:
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      expireAfter: Never
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: 1s
    budgets: [{nodes: "100%"}]
)";

std::filesystem::path log_file() { return environment().state / "logs" / "karpenter.log"; }

void demand(const KubectlAnswer& answer) {
  if (!answer.done()) throw std::runtime_error(answer.text);
}

/// The node's taints as JSON, without the one that a new node has until it is ready.
std::string other_taints(const Value& node) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> out(text);
  out.StartArray();
  const Value& spec = node["spec"];
  const auto taints = spec.FindMember("taints");
  if (taints != spec.MemberEnd()) {
    for (const Value& taint : taints->value.GetArray()) {
      if (text_of(taint, "key") != kNotReady) taint.Accept(out);
    }
  }
  out.EndArray();
  return text.GetString();
}

}  // namespace

Karpenter::Karpenter() {
  // The program's folder in the cache also has the definitions of its kinds.
  const auto definitions =
      std::filesystem::path(environment().karpenter).parent_path().parent_path() / "crds";
  demand(kubectl({"apply", "--server-side", "-f", definitions.string()}));
  demand(kubectl(
      {"wait", "--for=condition=Established", "--timeout=30s", "-f", definitions.string()}));
  demand(kubectl({"apply", "-f", "-"}, kObjects));
  start();
  wait_ready("nodepool/gpu");
  wait_ready("nodeoverlay/gpu-4x");
}

void Karpenter::start() {
  const auto types = environment().state / "instance-types.json";
  std::ofstream(types) << kInstanceTypes;
  auto started = Process::start(
      {environment().karpenter}, log_file(),
      {"KUBECONFIG=" + environment().admin_kubeconfig, "INSTANCE_TYPES_FILE_PATH=" + types.string(),
       "FEATURE_GATES=NodeOverlay=true", "DISABLE_LEADER_ELECTION=true",
       "METRICS_PORT=" + std::to_string(free_port()),
       "HEALTH_PROBE_PORT=" + std::to_string(free_port())});
  if (!started) throw std::runtime_error(started.error().message);
  process_ = std::move(*started);
}

void Karpenter::wait_ready(const std::string& object) {
  const auto waited = kubectl({"wait", "--for=condition=Ready", "--timeout=60s", object});
  if (!waited.done()) throw std::runtime_error(waited.text + tail(log_file()));
}

Karpenter::~Karpenter() {
  process_.reset();
  // Only Karpenter would remove the finalizers.
  std::istringstream names(kubectl({"get", kKinds, "--output", "name"}).text);
  for (std::string name; std::getline(names, name);) {
    kubectl({"patch", name, "--type", "merge", "--patch", R"({"metadata":{"finalizers":null}})"});
  }
  kubectl({"delete", kKinds, "--all"});
}

StandInNodes::StandInNodes()
    : api_(admin_api()), thread_([this](const std::stop_token& stop) { run(stop); }) {}

void StandInNodes::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look();
    std::this_thread::sleep_for(100ms);  // polls: a machine, too, is later than its object
  }
}

void StandInNodes::look() {
  const auto listed = parse_json(list_all(*api_, "/api/v1/nodes"));
  std::set<std::string> names;
  for (const Value& node : listed["items"].GetArray()) {
    const Value& metadata = node["metadata"];
    names.insert(text_of(metadata, "name"));
    if (annotations_of(node).contains("cards") || metadata.HasMember("deletionTimestamp")) continue;
    publish(text_of(metadata, "name"));
  }
  const std::scoped_lock lock(mutex_);
  count_ = static_cast<int>(names.size());
  made_.merge(names);
  changed_.notify_all();
}

void StandInNodes::publish(const std::string& name) {
  NodeSpec spec = node_with_cards(name, kCardsOfInstance);
  spec.aggregates = true;
  const std::string path = "/api/v1/nodes/" + name;
  const auto ready = patch(path + "/status", node_status_json(spec));
  if (!ready) return;

  // Karpenter changes new nodes, too. At a conflict, the next round repeats both.
  const auto node = parse_json(*ready);
  std::string body;
  json::Writer out(body);
  out.begin_object().key("metadata").begin_object();
  out.member("resourceVersion", text_of(node["metadata"], "resourceVersion"));
  out.key("labels").begin_object().member("tangram.dev/gpu", "true");
  out.member("tangram.dev/gpu-model", spec.cards.front().model).end_object();
  out.key("annotations").begin_object();
  out.member("tangram.dev/cards", cards_json(spec.cards)).end_object().end_object();
  out.key("spec").begin_object().key("taints").raw(other_taints(node)).end_object().end_object();
  (void)patch(path, body);
}

std::optional<std::string> StandInNodes::patch(const std::string& path, const std::string& body) {
  kube::Request request;
  request.method = kube::Method::kPatch;
  request.content_type = "application/merge-patch+json";
  request.path = path;
  request.body = body;
  const auto answer = api_->call(request);
  if (!answer || answer->status != 200) return std::nullopt;
  return answer->body;
}

bool StandInNodes::wait_count(int count, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return count_ == count; });
}

int StandInNodes::count() const {
  const std::scoped_lock lock(mutex_);
  return count_;
}

int StandInNodes::made() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(made_.size());
}

}  // namespace tangram::e2e
