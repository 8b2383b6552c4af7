#include "cli/autoscaler.hpp"

#include "base/json.hpp"
#include "base/quantity.hpp"
#include "base/quote.hpp"
#include "cli/api_reading.hpp"
#include "cli/format.hpp"
#include "cli/json_path.hpp"
#include "model/annotations.hpp"
#include "model/cards.hpp"
#include "node/publish/node_record.hpp"
#include "node/publish/own_node.hpp"

#include <boost/algorithm/string/case_conv.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace tangram::cli {

namespace {

/// By which deploy/node and the chart choose the nodes of agents.
constexpr std::string_view kAgentLabel = "tangram.dev/agent";
constexpr std::string_view kInstanceTypeLabel = "node.kubernetes.io/instance-type";
constexpr const char* kHeadroom = "tangram-headroom";

using Texts = std::map<std::string, std::string>;

Texts labels_of(const FutureNode& node) {
  return {{std::string(kAgentLabel), "true"},
          {std::string(model::kGpuLabel), "true"},
          {std::string(model::kModelLabel), node.model_label}};
}

Texts resources_of(const FutureNode& node) {
  Texts resources{{std::string(model::kSlotResource), std::to_string(node.slots)}};
  if (node.aggregates) {
    resources[std::string(model::kMilliResource)] =
        std::to_string(node.aggregates->compute.count());
    resources[std::string(model::kMemoryResource)] =
        std::to_string(node.aggregates->memory.count());
  }
  return resources;
}

void write(json::Writer& out, const Texts& texts) {
  out.begin_object();
  for (const auto& [name, text] : texts) out.member(name, text);
  out.end_object();
}

/// "a=b" for each.
std::vector<std::string> pairs_of(const Texts& texts) {
  std::vector<std::string> pairs;
  for (const auto& [name, text] : texts) pairs.push_back(joined({name, text}, "="));
  return pairs;
}

/// For names of objects: "p4d-24xlarge", "standard-nc24ads-a100-v4".
std::string part_of_name(const std::string& text) {
  std::string part = boost::to_lower_copy(text);
  std::ranges::replace_if(
      part, [](char c) { return (c < 'a' || c > 'z') && (c < '0' || c > '9'); }, '-');
  return part;
}

// ---- Each autoscaler.

/// Source: kubernetes-sigs/karpenter, pkg/apis/v1alpha1/nodeoverlay.go. It replaces no resource of
/// the instance type, and has no labels: those are the NodePool's.
Result<AutoscalerText> for_karpenter(const FutureNode& node) {
  if (node.instance_type.empty()) {
    return fail(Errc::kInvalidArgument,
                "a NodeOverlay is for an instance type; write --instance-type p4d.24xlarge");
  }
  std::string overlay;
  json::Writer out(overlay);
  out.begin_object().member("apiVersion", "karpenter.sh/v1alpha1").member("kind", "NodeOverlay");
  out.key("metadata")
      .begin_object()
      .member("name", "tangram-" + part_of_name(node.instance_type))
      .end_object();
  out.key("spec").begin_object().key("requirements").begin_array();
  out.begin_object().member("key", kInstanceTypeLabel).member("operator", "In");
  out.key("values").begin_array().string(node.instance_type).end_array().end_object();
  out.end_array().key("capacity");
  write(out, resources_of(node));
  out.end_object().end_object();
  return AutoscalerText{
      .objects = {overlay},
      .tags = {},
      .note = "the NodePool needs these labels in spec.template.metadata.labels: " +
              joined(pairs_of(labels_of(node)))};
}

/// Names and values of tags; the object for programs has the same.
AutoscalerText tagged(const Texts& tags, std::string note) {
  std::string object;
  json::Writer out(object);
  write(out, tags);
  return {.objects = {object}, .tags = pairs_of(tags), .note = std::move(note)};
}

/// Tags of an Auto Scaling Group. Source: kubernetes/autoscaler,
/// cluster-autoscaler/cloudprovider/aws/README.md.
AutoscalerText for_aws(const FutureNode& node) {
  const auto tag = [](const std::string& what, const std::string& name) {
    return "k8s.io/cluster-autoscaler/node-template/" + what + "/" + name;
  };
  Texts tags;
  for (const auto& [name, value] : labels_of(node)) tags[tag("label", name)] = value;
  for (const auto& [name, value] : resources_of(node)) tags[tag("resources", name)] = value;
  return tagged(tags, "tags do not label nodes: also set the label " + std::string(kAgentLabel) +
                          "=true in the node group or its kubelets");
}

/// Tags of a scale set, whose names cannot have slashes. Source: kubernetes/autoscaler,
/// cluster-autoscaler/cloudprovider/azure/azure_template.go.
AutoscalerText for_azure(const FutureNode& node) {
  const std::string prefix = "k8s.io_cluster-autoscaler_node-template_";
  const auto tag = [&](const std::string& what, std::string name) {
    std::ranges::replace(name, '/', '_');
    return prefix + what + "_" + name;
  };
  Texts tags;
  for (const auto& [name, value] : labels_of(node)) tags[tag("label", name)] = value;
  for (const auto& [name, value] : resources_of(node)) tags[tag("resources", name)] = value;
  return tagged(tags, "tags do not label nodes: also set the label " + std::string(kAgentLabel) +
                          "=true in the node pool");
}

/// A merge patch of a MachineDeployment or MachineSet. Its annotations can name one extended
/// resource. Source: kubernetes/autoscaler, cluster-autoscaler/cloudprovider/clusterapi.
AutoscalerText for_cluster_api(const FutureNode& node) {
  const std::string prefix = "capacity.cluster-autoscaler.kubernetes.io/";
  Texts labels = labels_of(node);
  // Other providers know it by themselves.
  if (!node.instance_type.empty()) labels[std::string(kInstanceTypeLabel)] = node.instance_type;
  std::string patch;
  json::Writer out(patch);
  out.begin_object().key("metadata").begin_object().key("annotations");
  write(out, {{prefix + "labels", joined(pairs_of(labels), ",")},
              {prefix + "gpu-type", std::string(model::kSlotResource)},
              {prefix + "gpu-count", std::to_string(node.slots)}});
  out.end_object().end_object();
  AutoscalerText text{.objects = {patch}, .tags = {}, .note = ""};
  if (node.aggregates) {
    Texts resources = resources_of(node);
    resources.erase(std::string(model::kSlotResource));
    text.note =
        "the annotations can name one resource only; the machine template's status.capacity must "
        "have the others: " +
        joined(pairs_of(resources)) +
        "; or switch the aggregates off, in the webhook and in the agents";
  }
  return text;
}

// ---- Headroom: pods that take the aggregates of one whole node and give way to all others.

std::string priority_class() {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("apiVersion", "scheduling.k8s.io/v1").member("kind", "PriorityClass");
  out.key("metadata").begin_object().member("name", kHeadroom).end_object();
  // Below every pod without a class; Cluster Autoscaler adds no node for one below -10.
  out.key("value").integer(-1).member("globalDefault", false).member("preemptionPolicy", "Never");
  out.member("description", "Pods that keep a GPU node free for others").end_object();
  return text;
}

/// Counts all compute and all memory of the node, so that no other pod that counts in either fits
/// by the sums; and so that it fits no node on which another pod has a share.
Texts headroom_request(const FutureNode& node) {
  return {{model::full_name(model::kMemoryKey), memory_text(node.smallest_card)},
          {model::full_name(model::kComputeKey), "1"},
          {model::full_name(model::kCountKey), std::to_string(node.cards)},
          {model::full_name(model::kIsolationKey), "none"}};
}

/// Distinguishes the headroom of groups: "p4d-24xlarge-a100-sxm4-80gb-x8". A name and a label's
/// value.
std::string headroom_instance(const FutureNode& node) {
  constexpr std::size_t kMost = 28;  // twice, of the 63 bytes of a label
  std::string name;
  for (const std::string& text : {node.instance_type, node.model_label}) {
    if (!text.empty()) name += part_of_name(text).substr(0, kMost) + "-";
  }
  return name + "x" + std::to_string(node.cards);
}

Texts headroom_labels(const FutureNode& node) {
  return {{"app.kubernetes.io/name", kHeadroom},
          {"app.kubernetes.io/instance", headroom_instance(node)}};
}

/// Nodes of other groups may have more cards of the model: without the instance type, the pod may
/// take a part of one of these.
Texts headroom_nodes(const FutureNode& node) {
  Texts labels;
  if (!node.model_label.empty()) labels[std::string(model::kModelLabel)] = node.model_label;
  if (!node.instance_type.empty()) {
    labels[std::string(kInstanceTypeLabel)] = node.instance_type;
  }
  return labels;
}

void write_headroom_pod(json::Writer& out, const FutureNode& node) {
  out.begin_object().key("metadata").begin_object().key("labels");
  write(out, headroom_labels(node));
  out.key("annotations");
  write(out, headroom_request(node));
  out.end_object().key("spec").begin_object();
  out.member("priorityClassName", kHeadroom);
  out.key("terminationGracePeriodSeconds").integer(0);
  out.key("nodeSelector");
  write(out, headroom_nodes(node));
  out.key("containers").begin_array().begin_object();
  out.member("name", "pause").member("image", "registry.k8s.io/pause:3.10");
  out.end_object().end_array().end_object().end_object();
}

std::string headroom_deployment(const FutureNode& node, const std::string& ns) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("apiVersion", "apps/v1").member("kind", "Deployment");
  out.key("metadata").begin_object();
  out.member("name", std::string(kHeadroom) + "-" + headroom_instance(node));
  if (!ns.empty()) out.member("namespace", ns);
  out.key("labels");
  write(out, headroom_labels(node));
  out.end_object().key("spec").begin_object().key("replicas").integer(1);
  out.key("strategy").begin_object().member("type", "Recreate").end_object();
  out.key("selector").begin_object().key("matchLabels");
  write(out, headroom_labels(node));
  out.end_object().key("template");
  write_headroom_pod(out, node);
  out.end_object().end_object();
  return text;
}

Result<AutoscalerText> for_headroom(const FutureNode& node, const std::string& ns) {
  if (!node.aggregates) {
    return fail(Errc::kInvalidArgument,
                "the node has no aggregates, which headroom works by; start its agent with "
                "--aggregates=true");
  }
  std::vector<std::string> notes;
  if (!node.equal_cards) {
    notes.emplace_back(
        "the cards have unequal memory: the headroom leaves some free by the sum, and pods "
        "that only that keeps out do not preempt it");
  }
  if (node.instance_type.empty()) {
    notes.emplace_back(
        "the instance type is not known, so the headroom may also go to a node with more cards of "
        "the model, and keep only a part of it free; write --instance-type");
  }
  return AutoscalerText{.objects = {priority_class(), headroom_deployment(node, ns)},
                        .tags = {},
                        .note = joined(notes, "; ")};
}

// ---- Nodes.

Result<FutureNode> node_of(const std::string& object, const NodeGroup& group) {
  auto own = node::decode_own_node(object);
  if (!own) return own.error();
  auto cards = model::decode_cards(own->cards.value_or(R"({"version":1,"cards":[]})"));
  if (!cards) return fail(cards.error().code, "node " + own->name + ": " + cards.error().message);
  const auto slots =
      KubeQuantity::parse(text_at(object, {"status", "allocatable", model::kSlotResource}));
  if (cards->empty() || !slots || slots->is_zero()) {
    return fail(Errc::kNotFound, "node " + own->name + " has no " +
                                     (cards->empty() ? "cards" : "slots") +
                                     " yet; `kubectl tangram doctor` says why");
  }
  FutureNode future;
  future.instance_type = group.instance_type.empty()
                             ? unescaped_at(object, {"metadata", "labels", kInstanceTypeLabel})
                             : group.instance_type;
  future.model_label = own->model_label.value_or("");
  future.cards = static_cast<std::int64_t>(cards->size());
  future.slots = slots->units_ceil();
  FutureNode::Capacity sum{};
  future.smallest_card = cards->front().memory;
  for (const model::Card& card : *cards) {
    sum.compute += card.compute;
    sum.memory += card.memory;
    future.equal_cards = future.equal_cards && card.memory == cards->front().memory;
    future.smallest_card = std::min(future.smallest_card, card.memory);
  }
  if (own->milli) future.aggregates = sum;
  return future;
}

}  // namespace

Result<FutureNode> described_node(const NodeGroup& group) {
  const auto wrong = [](const std::string& what) { return fail(Errc::kInvalidArgument, what); };
  if (group.model.empty() || group.memory.empty() || group.cards == 0) {
    return wrong("describe the nodes by --from NODE, or by --card MODEL, --memory and --cards");
  }
  const auto memory = KubeQuantity::parse(group.memory);
  if (!memory || memory->mebibytes_floor() < Mebibytes(1)) {
    return wrong("--memory " + quote(group.memory) +
                 " is not the memory of a card; write it as `top -o wide` shows it, such as "
                 "81559Mi");
  }
  FutureNode node;
  node.instance_type = group.instance_type;
  node.model_label = node::label_value(group.model);
  node.cards = group.cards;
  node.slots = group.cards * group.slots_per_card;
  node.smallest_card = memory->mebibytes_floor();
  node.aggregates = {MilliGpu(kWholeGpu.count() * group.cards),
                     Mebibytes(node.smallest_card.count() * group.cards)};
  return node;
}

Result<FutureNode> node_like(kube::KubeApi& api, const NodeGroup& group) {
  std::optional<Result<FutureNode>> found;
  const auto listed = list(api, "/api/v1/nodes", {}, [&](const std::string& object) {
    if (text_at(object, {"metadata", "name"}) == group.from) found = node_of(object, group);
  });
  if (!listed) return listed.error();
  if (found) return *found;
  return fail(Errc::kNotFound,
              "there is no node " + quote_if_needed(group.from) + "; see `kubectl get nodes`");
}

const std::vector<std::string>& autoscaler_kinds() {
  static const std::vector<std::string> kKinds{"karpenter", "aws", "azure", "cluster-api",
                                               "headroom"};
  return kKinds;
}

Result<AutoscalerText> autoscaler_text(std::string_view kind, const FutureNode& node,
                                       const std::string& ns) {
  if (kind == "karpenter") return for_karpenter(node);
  if (kind == "headroom") return for_headroom(node, ns);
  if (kind == "aws") return for_aws(node);
  return kind == "azure" ? for_azure(node) : for_cluster_api(node);
}

}  // namespace tangram::cli
