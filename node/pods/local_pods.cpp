#include "node/pods/local_pods.hpp"

#include "base/json.hpp"
#include "kube/client.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

namespace tangram::node {
namespace {

constexpr std::string_view kDevices = "NVIDIA_VISIBLE_DEVICES";
// A container's start waits for it, and kubelet waits 30 s for that.
constexpr std::chrono::milliseconds kReadLimit{5'000};

bool sets_devices(json::Reader& in) {
  bool found = false;
  in.array([&] {
    in.object([&](std::string_view key) {
      if (key == "name") {
        found = in.string() == kDevices || found;
      } else {
        in.skip();
      }
    });
  });
  return found;
}

bool has_elements(json::Reader& in) {
  bool any = false;
  in.array([&] {
    any = true;
    in.skip();
  });
  return any;
}

void read_containers(json::Reader& in, std::set<std::string, std::less<>>& choosers) {
  in.array([&] {
    std::string name;
    bool chooses = false;
    in.object([&](std::string_view key) {
      if (key == "name") {
        name = in.string();
      } else if (key == "env") {
        chooses = sets_devices(in) || chooses;
      } else if (key == "envFrom") {
        // What is in the ConfigMap or Secret is not ours to read.
        chooses = has_elements(in) || chooses;
      } else {
        in.skip();
      }
    });
    if (chooses) choosers.insert(std::move(name));
  });
}

/// What kube::Pod leaves out.
void read_rest(std::string text, LocalPod& pod) {
  json::Reader in(text);
  in.object([&](std::string_view key) {
    if (key != "spec" && key != "metadata") return in.skip();
    in.object([&](std::string_view member) {
      if (member == "containers" || member == "initContainers") {
        return read_containers(in, pod.choose_devices);
      }
      if (member != "annotations") return in.skip();
      in.object([&](std::string_view name) {
        const std::string value(in.string_or_null());
        if (name == "kubernetes.io/config.mirror") pod.kubelet_uid = value;
      });
    });
  });
}

}  // namespace

void judge_grant(LocalPod& pod, std::string_view node, const model::SignatureCheck& check) {
  pod.grant.reset();
  pod.grant_problem.clear();
  if (pod.grant_text.empty()) return;
  auto reading = model::read_grant(pod.grant_text, pod.pod.uid, node, check);
  pod.grant = std::move(reading.grant);
  pod.grant_problem = std::move(reading.problem);
}

Result<LocalPod> decode_local_pod(std::string text, std::string_view node,
                                  const model::SignatureCheck& check) {
  LocalPod local;
  read_rest(text, local);
  auto requests = read_card_requests(text);
  if (!requests) return requests.error();
  local.requests = *requests;
  auto pod = kube::decode_pod(std::move(text));
  if (!pod) return pod.error();
  local.pod = std::move(*pod);
  if (const auto found = local.pod.annotations.find(model::kGrantKey);
      found != local.pod.annotations.end()) {
    local.grant_text = found->second;
  }
  judge_grant(local, node, check);
  return local;
}

LocalPods::LocalPods(kube::KubeApi& api, std::string node, std::function<void()> changed,
                     model::SignatureCheck check)
    : api_(api), node_(std::move(node)), changed_(std::move(changed)), check_(std::move(check)) {}

kube::ReflectorOptions LocalPods::to_watch(std::string_view node) {
  kube::ReflectorOptions options;
  options.path = "/api/v1/pods";
  options.field_selector = "spec.nodeName=" + std::string(node);
  // Some hundred pods; a pod is a few KiB, 3 MiB at the very most.
  options.max_list_bytes = std::size_t{256} << 20U;
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
  auto pod = decode_local_pod(std::move(response->body), node_, check_);
  if (!pod) return fail(Errc::kUnavailable, pod.error().message);
  if (pod->pod.node != node_) return fail(Errc::kNotFound, "it is not on this node");
  return std::make_shared<const LocalPod>(std::move(*pod));
}

void LocalPods::replace(std::vector<std::string> objects) {
  Pods pods;
  for (std::string& object : objects) {
    auto pod = decode_local_pod(std::move(object), node_, check_);
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
  auto pod = decode_local_pod(std::move(object), node_, check_);
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
