#include "node/pods/local_pod.hpp"

#include "base/bounded_items.hpp"
#include "base/utf8.hpp"
#include "kube/objects.hpp"
#include "kube/pod_manifest.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace tangram::node {
namespace {

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";

/// What is in the ConfigMap or Secret of envFrom is not ours to read.
bool may_set(std::string_view name, const kube::ContainerManifest& container) {
  return container.has_env_from ||
         std::any_of(container.env.begin(), container.env.end(),
                     [&](const kube::Variable& variable) { return variable.name == name; });
}

/// Some megabytes of a pod are its users' to fill: labels, variables, containers that have no card.
/// There may be a hundred such pods, and the agent has 512 MiB.
NodePod kept_of(const kube::Pod& pod) {
  NodePod kept{.uid = pod.uid,
               .ns = pod.ns,
               .name = pod.name,
               .node = pod.node,
               .containers = {},
               .deleting = pod.deleting,
               .finished = pod.finished};
  std::copy_if(pod.containers.begin(), pod.containers.end(), std::back_inserter(kept.containers),
               [](const model::ContainerInfo& info) { return info.slots > 0; });
  return kept;
}

bool sets(std::string_view name, std::string_view value, const kube::ContainerManifest& container) {
  return std::any_of(container.env.begin(), container.env.end(),
                     [&](const kube::Variable& variable) {
                       return variable.name == name && variable.value == value;
                     });
}

/// The UID of the static pod that this pod mirrors; empty = it is no mirror of kubelet's.
///
/// Any user may create a pod with the annotation. It must not make a pod of the API server that is
/// gone look alive: those have UIDs with dashes, and kubelet's of a static pod is a hash. Nor a
/// static pod: kubelet makes its Node the controller, and deletes mirrors that it did not make.
std::string mirrored_uid(const kube::Pod& pod, const kube::PodManifest& manifest,
                         std::string_view node) {
  constexpr std::size_t kHashLength = 32;
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto* uid = kube::find(manifest.annotations, kMirror);
  const bool is_hash = uid != nullptr && uid->size() == kHashLength &&
                       uid->find_first_not_of(kDigits) == std::string::npos;
  const bool of_kubelet = pod.controller.kind == "Node" && pod.controller.name == node;
  return is_hash && of_kubelet && !pod.deleting ? *uid : std::string();
}

bool has_slot(const NodePod& pod, std::string_view container) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [&](const model::ContainerInfo& info) { return info.name == container; });
}

/// Of the containers that are kept.
void keep_variables(LocalPod& local, const kube::PodManifest& manifest, const PodRules& rules) {
  kube::visit_started(manifest.containers, [&](const kube::ContainerManifest& container) {
    if (!has_slot(local.pod, container.name)) return;
    if (may_set(*rules.device_variable, container)) local.choose_devices.insert(container.name);
    if (sets(*rules.device_variable, *rules.no_card, container)) {
      local.hide_devices.insert(container.name);
    }
  });
}

/// A text that grants nothing is its author's to fill, with up to 256 KiB, and so are names in it,
/// which a problem may quote.
void keep_grant(LocalPod& local, const std::string& text, const PodRules& rules) {
  constexpr std::size_t kOrdinaryText = 4'096;
  constexpr std::size_t kMostOfProblem = 512;
  local.grant_text = text;
  read_pod_grant(local, rules.node, *rules.check);
  if (local.grant) return;
  std::string().swap(local.grant_text);  // the memory, too
  local.grant_problem = std::string(utf8_prefix(local.grant_problem, kMostOfProblem));
  if (text.size() > kOrdinaryText) {
    local.grant_problem += " (its text has " + std::to_string(text.size()) + " bytes)";
  }
}

std::size_t weight_of(const model::Grant& grant) {
  std::size_t weight =
      grant.pod_uid.size() + grant.node.size() + grant.issued_at.size() + grant.signature.size();
  for (const model::ContainerGrant& container : grant.containers) {
    weight += sizeof container + container.container.size() +
              container.cards.capacity() * sizeof(model::GrantedCard);
    for (const model::GrantedCard& card : container.cards) weight += card.uuid.size();
  }
  return weight;
}

}  // namespace

void read_pod_grant(LocalPod& pod, std::string_view node, const model::SignatureCheck& check) {
  pod.grant.reset();
  pod.grant_problem.clear();
  if (pod.grant_text.empty()) return;
  auto reading = model::read_grant(pod.grant_text, pod.pod.uid, node, check);
  pod.grant = std::move(reading.grant);
  pod.grant_problem = std::move(reading.problem);
}

std::size_t weight_of(const LocalPod& local) {
  // The UID is the key, too.
  std::size_t weight = sizeof local + kPlaceOfItem + local.pod.uid.size() * 2 +
                       local.pod.ns.size() + local.pod.name.size() + local.pod.node.size() +
                       local.kubelet_uid.size() + local.grant_text.size() +
                       local.grant_problem.size();
  if (local.grant) weight += weight_of(*local.grant);
  // At most once in each of the three.
  for (const model::ContainerInfo& info : local.pod.containers) {
    weight += 3 * (sizeof info + info.name.size());
  }
  return weight;
}

LocalPod outline_of(const LocalPod& local) {
  LocalPod outline;
  outline.pod.uid = local.pod.uid;
  outline.pod.ns = local.pod.ns;
  outline.pod.name = local.pod.name;
  outline.pod.node = local.pod.node;
  outline.pod.deleting = local.pod.deleting;
  outline.pod.finished = local.pod.finished;
  outline.requests = local.requests;
  outline.kubelet_uid = local.kubelet_uid;
  outline.left_out = true;
  return outline;
}

Result<LocalPod> decode_local_pod(std::string text, const PodRules& rules) {
  kube::PodManifest manifest;
  auto pod = kube::decode_pod(std::move(text), &manifest);
  if (!pod) return pod.error();
  auto requests = card_requests(manifest);
  if (!requests) return requests.error();
  LocalPod local;
  local.requests = *requests;
  local.names_runtime_class = !manifest.runtime_class.empty();
  local.kubelet_uid = mirrored_uid(*pod, manifest, rules.node);
  const auto grant = pod->annotations.find(model::kGrantKey);
  local.pod = kept_of(*pod);
  const std::size_t with_slot = local.pod.containers.size();
  if (with_slot > static_cast<std::size_t>(model::kMaxGpuContainers)) {
    std::vector<model::ContainerInfo>().swap(local.pod.containers);
    local.grant_problem = "does not count, because " + std::to_string(with_slot) +
                          " containers of the pod have a slot; at most " +
                          std::to_string(model::kMaxGpuContainers) + " can have one";
    return local;
  }
  keep_variables(local, manifest, rules);
  if (grant != pod->annotations.end()) keep_grant(local, grant->second, rules);
  return local;
}

}  // namespace tangram::node
