#include "tests/e2e/pod_watcher.hpp"

#include "base/rapidjson.hpp"
#include "tests/e2e/cluster.hpp"

#include <algorithm>
#include <set>

namespace tangram::e2e {

namespace {

using namespace std::chrono_literals;
using rapidjson::Value;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

std::string text(const Value& object, const char* section, const char* key) {
  if (!object.HasMember(section)) return {};
  const Value& part = object[section];
  return part.HasMember(key) ? part[key].GetString() : "";
}

bool has_grant(const Value& pod) {
  const Value& metadata = pod["metadata"];
  return metadata.HasMember("annotations") &&
         metadata["annotations"].HasMember("tangram.dev/gpu-grant");
}

void take_state(SeenPod& seen, const Value& pod, TimePoint now) {
  if (seen.uid.empty()) {
    seen.uid = text(pod, "metadata", "uid");
    seen.name = text(pod, "metadata", "name");
    seen.added = now;
  }
  seen.node = text(pod, "spec", "nodeName");
  seen.nominated = text(pod, "status", "nominatedNodeName");
  seen.deleting = pod["metadata"].HasMember("deletionTimestamp");
}

}  // namespace

int count_bound(const SeenPods& pods) {
  return static_cast<int>(std::ranges::count_if(
      pods, [](const auto& entry) { return !entry.second.deleted && !entry.second.node.empty(); }));
}

int count_present(const SeenPods& pods) {
  return static_cast<int>(
      std::ranges::count_if(pods, [](const auto& entry) { return !entry.second.deleted; }));
}

PodWatcher::PodWatcher(kube::KubeApi& api) : api_(api), last_bind_(TimePoint::clock::now()) {
  if (!list()) throw std::runtime_error("the pods cannot be listed");
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}
PodWatcher::~PodWatcher() = default;

SeenPods PodWatcher::pods() const {
  const std::scoped_lock lock(mutex_);
  return pods_;
}

bool PodWatcher::wait(const std::function<bool(const SeenPods&)>& enough,
                      std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return enough(pods_); });
}

bool PodWatcher::wait_bound(int count, std::chrono::milliseconds limit) {
  return wait([&](const SeenPods& pods) { return count_bound(pods) >= count; }, limit);
}

bool PodWatcher::wait_calm(std::chrono::milliseconds calm, std::chrono::milliseconds limit) {
  const auto deadline = TimePoint::clock::now() + limit;
  const auto started = TimePoint::clock::now();
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto calm_at = std::max(last_bind_, started) + calm;
    const auto now = TimePoint::clock::now();
    if (now >= calm_at) return true;
    if (now >= deadline) return false;
    changed_.wait_until(lock, std::min(calm_at, deadline));
  }
}

std::optional<SeenPod> PodWatcher::wait_pod_bound(const std::string& name,
                                                  std::chrono::milliseconds limit) {
  std::optional<SeenPod> found;
  wait(
      [&](const SeenPods& pods) {
        for (const auto& [uid, pod] : pods) {
          if (pod.name == name && !pod.deleted && !pod.node.empty()) found = pod;
        }
        return found.has_value();
      },
      limit);
  return found;
}

void PodWatcher::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    watch(stop);
    // Some tests stop the API server for a while; its return must be detected soon.
    std::unique_lock lock(mutex_);
    std::condition_variable_any().wait_for(lock, stop, 50ms, [] { return false; });
  }
}

bool PodWatcher::list() {
  kube::Request request;
  request.path = kPods;
  request.timeout = 60s;
  const auto answer = api_.call(request);
  if (!answer || answer->status != 200) return false;
  rapidjson::Document list;
  if (list.Parse(answer->body.c_str()).HasParseError()) return false;

  const auto now = TimePoint::clock::now();
  const std::scoped_lock lock(mutex_);
  std::set<std::string> present;
  for (const Value& pod : list["items"].GetArray()) {
    const std::string uid = text(pod, "metadata", "uid");
    present.insert(uid);
    SeenPod& seen = pods_[uid];
    const bool was_bound = !seen.node.empty();
    take_state(seen, pod, now);
    if (!was_bound && !seen.node.empty()) seen.bound = last_bind_ = now;
  }
  for (auto& [uid, pod] : pods_) {
    if (!present.contains(uid)) pod.deleted = true;
  }
  version_ = text(list, "metadata", "resourceVersion");
  changed_.notify_all();
  return true;
}

void PodWatcher::watch(const std::stop_token& stop) {
  if (version_.empty() && !list()) return;
  kube::Request request;
  request.path = kPods;
  request.query = {{"watch", "1"}, {"resourceVersion", version_}, {"allowWatchBookmarks", "true"}};
  request.timeout = 10min;
  const auto end = api_.watch(
      request, [this](std::string frame) { return take_frame(std::move(frame)); }, stop);
  if (end && end->status != 200) version_.clear();
}

bool PodWatcher::take_frame(std::string frame) {
  rapidjson::Document event;
  if (event.Parse(frame.c_str()).HasParseError()) return false;
  const std::string type = event["type"].GetString();
  if (type == "ERROR") {
    version_.clear();
    return false;
  }
  const Value& pod = event["object"];
  version_ = text(pod, "metadata", "resourceVersion");
  if (type == "BOOKMARK") return true;

  const auto now = TimePoint::clock::now();
  const std::scoped_lock lock(mutex_);
  SeenPod& seen = pods_[text(pod, "metadata", "uid")];
  const bool known_unbound = !seen.uid.empty() && seen.node.empty();
  take_state(seen, pod, now);
  seen.deleted = type == "DELETED";
  if (known_unbound && !seen.node.empty()) {
    seen.bound = last_bind_ = now;
    seen.bind_was_seen = true;
    seen.granted_in_bind = has_grant(pod);
  }
  changed_.notify_all();
  return true;
}

FakeKubelet::FakeKubelet(kube::KubeApi& api, PodWatcher& watcher) {
  thread_ = std::jthread([&api, &watcher](const std::stop_token& stop) {
    std::set<std::string> ended;
    while (!stop.stop_requested()) {
      std::vector<SeenPod> ending;
      watcher.wait(
          [&](const SeenPods& pods) {
            for (const auto& [uid, pod] : pods) {
              if (pod.deleting && !pod.deleted && !ended.contains(uid)) ending.push_back(pod);
            }
            return !ending.empty();
          },
          100ms);
      for (const auto& pod : ending) {
        Cluster(api).delete_pod(pod.name);
        ended.insert(pod.uid);
      }
    }
  });
}

}  // namespace tangram::e2e
