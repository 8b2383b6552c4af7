#include "node/pods/local_pods.hpp"

#include "kube/client.hpp"
#include "kube/pod_manifest.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tangram::node {
namespace {

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
// A container's start waits for it, and kubelet waits 30 s for that.
constexpr std::chrono::milliseconds kReadLimit{5'000};

/// What is in the ConfigMap or Secret of envFrom is not ours to read.
bool may_set(std::string_view name, const kube::ContainerManifest& container) {
  return container.has_env_from ||
         std::any_of(container.env.begin(), container.env.end(),
                     [&](const kube::Variable& variable) { return variable.name == name; });
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
  local.pod = std::move(*pod);
  auto requests = card_requests(manifest);
  if (!requests) return requests.error();
  local.requests = *requests;
  kube::visit_started(manifest.containers, [&](const kube::ContainerManifest& container) {
    if (may_set(*rules.device_variable, container)) local.choose_devices.insert(container.name);
    if (sets(*rules.device_variable, *rules.no_card, container)) {
      local.hide_devices.insert(container.name);
    }
  });
  local.kubelet_uid = mirrored_uid(local.pod, manifest, rules.node);
  if (const auto found = local.pod.annotations.find(model::kGrantKey);
      found != local.pod.annotations.end()) {
    local.grant_text = found->second;
  }
  read_pod_grant(local, rules.node, *rules.check);
  return local;
}

LocalPods::LocalPods(kube::KubeApi& api, PodRules rules, std::function<void()> changed)
    : api_(api), rules_(std::move(rules)), changed_(std::move(changed)) {}

kube::ReflectorOptions LocalPods::to_watch(std::string_view node) {
  kube::ReflectorOptions options;
  options.path = "/api/v1/pods";
  options.field_selector = "spec.nodeName=" + std::string(node);
  // Some hundred pods; a pod is a few KiB, 3 MiB at the very most.
  options.max_kept_bytes = std::size_t{256} << 20U;
  // Containers wait for what it brings.
  options.max_backoff = std::chrono::seconds(5);
  return options;
}

LocalPodPtr LocalPods::find(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = pods_.find(uid); found != pods_.end()) return found->second;
  for (const auto& [api_uid, pod] : pods_) {
    if (!uid.empty() && pod->kubelet_uid == uid) return pod;
  }
  return nullptr;
}

std::vector<LocalPodPtr> LocalPods::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<LocalPodPtr> all;
  all.reserve(pods_.size());
  for (const auto& [uid, pod] : pods_) all.push_back(pod);
  return all;
}

bool LocalPods::synced() const {
  const std::lock_guard lock(mutex_);
  return synced_;
}

std::optional<CardRequests> LocalPods::requested() const {
  const std::lock_guard lock(mutex_);
  if (!synced_) return std::nullopt;
  CardRequests sum;
  for (const auto& [uid, pod] : pods_) sum = sum + pod->requests;
  return sum;
}

Result<LocalPodPtr> LocalPods::fetch(std::string_view ns, std::string_view name) {
  auto response = api_.call({.method = kube::Method::kGet,
                             .path = kube::pod_path(ns, name),
                             .query = {},
                             .body = {},
                             .timeout = kReadLimit,
                             .urgent = true});
  if (!response) return fail(Errc::kUnavailable, response.error().message);
  if (response->status == 404) return fail(Errc::kNotFound, "it does not exist any more");
  if (response->status != 200) {
    return fail(Errc::kUnavailable, kube::status_message(*response));
  }
  auto pod = decode_local_pod(std::move(response->body), rules_);
  if (!pod) return fail(Errc::kUnavailable, pod.error().message);
  if (pod->pod.node != rules_.node) return fail(Errc::kNotFound, "it is not on this node");
  return std::make_shared<const LocalPod>(std::move(*pod));
}

void LocalPods::replace(std::vector<std::string> objects) {
  Pods pods;
  for (std::string& object : objects) {
    auto pod = decode_local_pod(std::move(object), rules_);
    if (!pod) {
      spdlog::warn("a pod of this node cannot be read: {}", pod.error().message);
      continue;
    }
    if (pod->pod.finished) continue;
    std::string uid = pod->pod.uid;
    pods.emplace(std::move(uid), std::make_shared<const LocalPod>(std::move(*pod)));
  }
  {
    const std::lock_guard lock(mutex_);
    pods_ = std::move(pods);
    synced_ = true;
  }
  changed_();
}

void LocalPods::change(kube::EventType type, std::string object) {
  auto pod = decode_local_pod(std::move(object), rules_);
  if (!pod) return spdlog::warn("a pod of this node cannot be read: {}", pod.error().message);
  {
    const std::lock_guard lock(mutex_);
    const std::string uid = pod->pod.uid;
    if (type == kube::EventType::kDeleted || pod->pod.finished) {
      pods_.erase(uid);
    } else {
      pods_.insert_or_assign(uid, std::make_shared<const LocalPod>(std::move(*pod)));
    }
  }
  changed_();
}

}  // namespace tangram::node
