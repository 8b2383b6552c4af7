#include "node/pods/local_pods.hpp"

#include "base/quote.hpp"
#include "kube/client.hpp"
#include "kube/object_scan.hpp"
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

/// Some megabytes of a pod are its users' to fill: labels, variables, containers that have no card.
/// There may be a hundred such pods, and the agent has 512 MiB.
kube::Pod kept_of(kube::Pod pod) {
  std::erase_if(pod.containers, [](const model::ContainerInfo& info) { return info.slots == 0; });
  pod.containers.shrink_to_fit();
  kube::Pod kept;
  kept.uid = std::move(pod.uid);
  kept.ns = std::move(pod.ns);
  kept.name = std::move(pod.name);
  kept.containers = std::move(pod.containers);
  kept.node = std::move(pod.node);
  kept.deleting = pod.deleting;
  kept.finished = pod.finished;
  return kept;
}

/// About how much memory it takes, in bytes. A grant that is decoded takes about its text once
/// more.
std::size_t weight_of(const LocalPod& local) {
  std::size_t weight = sizeof local + local.pod.uid.size() * 2 + local.pod.ns.size() +
                       local.pod.name.size() + local.pod.node.size() + local.kubelet_uid.size() +
                       local.grant_text.size() * 2 + local.grant_problem.size();
  // At most once in each of the three.
  for (const model::ContainerInfo& info : local.pod.containers) {
    weight += 3 * (sizeof info + info.name.size());
  }
  return weight;
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

LocalPods::LocalPods(kube::KubeApi& api, PodRules rules, std::function<void()> changed)
    : api_(api), rules_(std::move(rules)), changed_(std::move(changed)) {}

kube::ReflectorOptions LocalPods::to_watch(std::string_view node) {
  kube::ReflectorOptions options;
  options.path = "/api/v1/pods";
  // Kubelet keeps some hundred pods at most, but rejects others without end, and those stay as
  // Failed. The watch shows a pod that finishes as deleted.
  options.field_selector =
      "spec.nodeName=" + std::string(node) + ",status.phase!=Succeeded,status.phase!=Failed";
  // An ordinary page is 2 MiB, and 11 pods of the largest kind fit into RestOptions::max_body.
  options.page_size = 100;
  // What is kept of a pod is a KiB. With a grant of 256 KiB, which is all that annotations may
  // take, it is twice that: 128 pods, more than kubelet's own limit of 110. The former pods are
  // beside.
  options.max_kept_bytes = std::size_t{64} << 20U;
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

LocalPods::Shown LocalPods::read(const std::string& object) const {
  auto pod = decode_local_pod(object, rules_);
  if (pod) {
    auto local = std::make_shared<const LocalPod>(std::move(*pod));
    return {.uid = local->pod.uid, .ended = local->pod.finished, .pod = std::move(local)};
  }
  const auto scanned = kube::scan_pod(object);
  spdlog::warn("pod {} of this node cannot be read and is left as it was: {}",
               quote(scanned ? scanned->full_name() : ""), pod.error().message);
  if (!scanned) return {};
  return {.uid = scanned->uid, .ended = scanned->finished, .pod = former(scanned->uid)};
}

LocalPodPtr LocalPods::former(const std::string& uid) const {
  const std::lock_guard lock(mutex_);
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : found->second;
}

void LocalPods::begin_list() {
  listed_.clear();
  kept_ = 0;
}

void LocalPods::listed(std::string object) {
  const Shown now = read(object);
  if (now.ended) return drop(now.uid);
  if (!now.pod) return;
  drop(now.uid);
  kept_ += weight_of(*now.pod);
  listed_.emplace(now.uid, now.pod);
}

void LocalPods::unlisted(std::string object) { drop(kube::scan_id(object).uid); }

void LocalPods::drop(const std::string& uid) {
  const auto found = listed_.find(uid);
  if (found == listed_.end()) return;
  kept_ -= weight_of(*found->second);
  listed_.erase(found);
}

void LocalPods::end_list() {
  {
    const std::lock_guard lock(mutex_);
    pods_ = std::exchange(listed_, {});
    synced_ = true;
  }
  kept_ = 0;
  changed_();
}

void LocalPods::change(kube::EventType type, std::string object) {
  const Shown now = type == kube::EventType::kDeleted
                        ? Shown{.uid = kube::scan_id(object).uid, .ended = true, .pod = nullptr}
                        : read(object);
  if (!now.ended && !now.pod) return;
  {
    const std::lock_guard lock(mutex_);
    if (now.ended) {
      pods_.erase(now.uid);
    } else {
      pods_.insert_or_assign(now.uid, now.pod);
    }
  }
  changed_();
}

}  // namespace tangram::node
