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

// By a pod that its author changes again and again.
constexpr std::chrono::seconds kLogInterval{60};

}  // namespace

LocalPods::LocalPods(kube::KubeApi& api, PodRules rules, const Clock& clock,
                     std::function<void()> changed)
    : api_(api),
      rules_(std::move(rules)),
      changed_(std::move(changed)),
      log_limit_(kLogInterval, 1, clock),
      listed_({rules_.most_kept_bytes, weight_of, outline_of}),
      pods_({rules_.most_kept_bytes, weight_of, outline_of}) {}

kube::ReflectorOptions LocalPods::to_watch(std::string_view node) {
  kube::ReflectorOptions options;
  options.path = "/api/v1/pods";
  // Kubelet keeps some hundred pods at most, but rejects others without end, and those stay as
  // Failed. The watch shows a pod that finishes as deleted.
  options.field_selector =
      "spec.nodeName=" + std::string(node) + ",status.phase!=Succeeded,status.phase!=Failed";
  // An ordinary page is 2 MiB, and 11 pods of the largest kind fit into RestOptions::max_body.
  options.page_size = 100;
  // Containers wait for what it brings.
  options.max_backoff = std::chrono::seconds(5);
  return options;
}

LocalPodPtr LocalPods::find(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  if (auto found = pods_.find(uid)) return found;
  for (const auto& [api_uid, pod] : pods_.all()) {
    if (!uid.empty() && pod->kubelet_uid == uid) return pod;
  }
  return nullptr;
}

std::vector<LocalPodPtr> LocalPods::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<LocalPodPtr> all;
  all.reserve(pods_.all().size());
  for (const auto& [uid, pod] : pods_.all()) all.push_back(pod);
  return all;
}

bool LocalPods::synced() const {
  const std::lock_guard lock(mutex_);
  return knows_all();
}

bool LocalPods::knows_all_grants() const {
  const std::lock_guard lock(mutex_);
  return synced_ && pods_.complete();
}

bool LocalPods::has_room_again() const {
  const std::lock_guard lock(mutex_);
  return synced_ && pods_.has_room_again();
}

std::optional<CardRequests> LocalPods::requested() const {
  const std::lock_guard lock(mutex_);
  if (!knows_all()) return std::nullopt;
  CardRequests sum;
  for (const auto& [uid, pod] : pods_.all()) sum = sum + pod->requests;
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

LocalPods::Shown LocalPods::read(std::string_view object) const {
  auto pod = decode_local_pod(std::string(object), rules_);
  if (pod) {
    const auto local = std::make_shared<const LocalPod>(std::move(*pod));
    return {.uid = local->pod.uid, .ended = local->pod.finished, .pod = local};
  }
  const auto scanned = kube::scan_pod(object);
  spdlog::warn("pod {} of this node cannot be read and is left as it was: {}",
               quote(scanned ? scanned->full_name() : ""), pod.error().message);
  if (!scanned) return {};
  return {.uid = scanned->uid, .ended = scanned->finished, .pod = former(scanned->uid)};
}

LocalPodPtr LocalPods::former(const std::string& uid) const {
  const std::lock_guard lock(mutex_);
  return pods_.find(uid);
}

void LocalPods::begin_list() { listed_.clear(); }

void LocalPods::listed(std::string_view object) {
  const Shown now = read(object);
  if (now.ended) return listed_.erase(now.uid);
  if (now.pod) note_left_out(listed_.put(now.uid, now.pod));
}

void LocalPods::unlisted(std::string_view object) { listed_.erase(kube::scan_id(object).uid); }

void LocalPods::end_list() {
  {
    const std::lock_guard lock(mutex_);
    std::swap(pods_, listed_);
    synced_ = true;
  }
  listed_.clear();
  changed_();
}

void LocalPods::note_left_out(const std::vector<LocalPodPtr>& pods) {
  if (pods.empty()) return;
  left_out_ += pods.size();
  if (!log_limit_.reserve(std::chrono::nanoseconds(0))) return;
  spdlog::warn(
      "the pods of this node take more than {} bytes, so the largest are left out, {} of them "
      "since the agent started; now pod {}, which takes {}: delete pods that do not run here",
      rules_.most_kept_bytes, left_out_.load(), quote(pods.front()->pod.full_name()),
      weight_of(*pods.front()));
}

void LocalPods::change(kube::EventType type, std::string_view object) {
  const Shown now = type == kube::EventType::kDeleted
                        ? Shown{.uid = kube::scan_id(object).uid, .ended = true, .pod = nullptr}
                        : read(object);
  if (!now.ended && !now.pod) return;
  std::vector<LocalPodPtr> left_out;
  {
    const std::lock_guard lock(mutex_);
    if (now.ended) {
      pods_.erase(now.uid);
    } else {
      left_out = pods_.put(now.uid, now.pod);
    }
  }
  note_left_out(left_out);
  changed_();
}

}  // namespace tangram::node
