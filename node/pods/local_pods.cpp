#include "node/pods/local_pods.hpp"

#include "base/quote.hpp"
#include "kube/client.hpp"
#include "kube/object_scan.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

namespace tangram::node {
namespace {

// A container's start waits for it, and kubelet waits 30 s for that.
constexpr std::chrono::milliseconds kReadLimit{5'000};

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

}  // namespace

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
