#include "node/pods/local_pod.hpp"

#include "kube/objects.hpp"
#include "kube/pod_manifest.hpp"

#include <algorithm>
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
NodePod kept_of(kube::Pod pod) {
  std::erase_if(pod.containers, [](const model::ContainerInfo& info) { return info.slots == 0; });
  pod.containers.shrink_to_fit();
  NodePod kept;
  kept.uid = std::move(pod.uid);
  kept.ns = std::move(pod.ns);
  kept.name = std::move(pod.name);
  kept.containers = std::move(pod.containers);
  kept.node = std::move(pod.node);
  kept.deleting = pod.deleting;
  kept.finished = pod.finished;
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

}  // namespace

void read_pod_grant(LocalPod& pod, std::string_view node, const model::SignatureCheck& check) {
  pod.grant.reset();
  pod.grant_problem.clear();
  if (pod.grant_text.empty()) return;
  auto reading = model::read_grant(pod.grant_text, pod.pod.uid, node, check);
  pod.grant = std::move(reading.grant);
  pod.grant_problem = std::move(reading.problem);
}

Result<LocalPod> decode_local_pod(std::string text, const PodRules& rules) {
  LocalPod local;
  kube::PodManifest manifest;
  auto pod = kube::decode_pod(std::move(text), &manifest);
  if (!pod) return pod.error();
  auto requests = card_requests(manifest);
  if (!requests) return requests.error();
  local.requests = *requests;
  std::set<std::string_view> with_slot;
  for (const model::ContainerInfo& info : pod->containers) {
    if (info.slots > 0) with_slot.insert(info.name);
  }
  kube::visit_started(manifest.containers, [&](const kube::ContainerManifest& container) {
    if (!with_slot.contains(container.name)) return;
    if (may_set(*rules.device_variable, container)) local.choose_devices.insert(container.name);
    if (sets(*rules.device_variable, *rules.no_card, container)) {
      local.hide_devices.insert(container.name);
    }
  });
  local.kubelet_uid = mirrored_uid(*pod, manifest, rules.node);
  if (const auto found = pod->annotations.find(model::kGrantKey); found != pod->annotations.end()) {
    local.grant_text = found->second;
  }
  local.pod = kept_of(std::move(*pod));
  read_pod_grant(local, rules.node, *rules.check);
  return local;
}

}  // namespace tangram::node
