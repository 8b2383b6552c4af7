#include "extender/scheduling/promises.hpp"

#include "extender/scheduling/forget_oldest.hpp"

#include <array>
#include <utility>

namespace tangram::extender {

namespace {

struct Leaving {
  bool begun = false;  ///< all victims are terminating or gone: one may end by itself
  bool done = true;    ///< all are gone
};

Leaving leaving(const model::NodeState* node, const std::vector<std::string>& victims) {
  Leaving state{.begun = !victims.empty()};
  for (const std::string& uid : victims) {
    const model::Allocation* there = nullptr;
    if (node != nullptr) {
      for (const auto& allocation : node->allocations) {
        if (allocation->pod_uid == uid) there = allocation.get();
      }
    }
    if (there == nullptr) continue;
    state.done = false;
    if (!there->terminating) state.begun = false;
  }
  return state;
}

}  // namespace

void Promises::made(const kube::Pod& pod,
                    const std::map<std::string, Victims, std::less<>>& nodes) {
  if (nodes.empty()) return;
  Promise promise{.pod = cluster::waiting_pod(pod), .victims = {}, .made = clock_.now()};
  for (const auto& [name, victims] : nodes) promise.victims.emplace(name, victims.uids);
  const std::scoped_lock lock(mutex_);
  by_pod_.insert_or_assign(pod.uid, std::move(promise));
  forget_oldest(by_pod_, kMost, [](const auto& entry) { return entry.second.made; });
}

bool Promises::evicting(const kube::Pod& pod, const std::string& node,
                        std::vector<std::string> victims, RoomMaker by) {
  Promise promise{.pod = cluster::waiting_pod(pod),
                  .victims = {{node, std::move(victims)}},
                  .made = clock_.now(),
                  .by = by,
                  .evicting = true};
  const std::scoped_lock lock(mutex_);
  const auto [entry, is_new] = by_pod_.try_emplace(pod.uid);
  if (!is_new && entry->second.by != by) return false;
  entry->second = std::move(promise);
  forget_oldest(by_pod_, kMost, [](const auto& each) { return each.second.made; });
  return true;
}

void Promises::forget(std::string_view pod_uid) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = by_pod_.find(pod_uid); found != by_pod_.end()) by_pod_.erase(found);
}

bool Promises::withdraw(std::string_view pod_uid, RoomMaker by) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_pod_.find(pod_uid);
  if (found == by_pod_.end() || found->second.by != by) return false;
  by_pod_.erase(found);
  return true;
}

void Promises::review(const model::ClusterSnapshot& cluster, const cluster::PodTable& pods) {
  const std::scoped_lock lock(mutex_);
  for (auto entry = by_pod_.begin(); entry != by_pod_.end();) {
    const cluster::PodPtr shown = pods.find(entry->first);
    entry = review(entry->second, shown.get(), cluster) ? std::next(entry) : by_pod_.erase(entry);
  }
}

bool Promises::review(Promise& promise, const kube::Pod* shown,
                      const model::ClusterSnapshot& cluster) const {
  const TimePoint now = clock_.now();
  const bool fresh = now - promise.made < kUntilEviction;
  if (shown == nullptr) return fresh;  // ended, or the watch is behind
  const std::string& nominated = shown->nominated_node;
  const auto keep_only = [&](const std::string& name) {
    std::erase_if(promise.victims, [&](const auto& node) { return node.first != name; });
  };
  const bool chosen =
      nominated != promise.pod->nominated_node && promise.victims.contains(nominated);
  if (chosen) keep_only(nominated);
  if (!promise.evicting) {
    for (const auto& [name, victims] : promise.victims) {
      if (!leaving(cluster.find(name), victims).begun) continue;
      promise.evicting = true;
      keep_only(std::string(name));
      break;
    }
  }
  if (!promise.evicting) return fresh || chosen;
  const auto& [name, victims] = *promise.victims.begin();
  if (!leaving(cluster.find(name), victims).done) return true;
  if (!promise.victims_gone) promise.victims_gone = now;
  return now - *promise.victims_gone < kUntilAsked;
}

std::optional<RoomMaker> Promises::maker(std::string_view pod_uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_pod_.find(pod_uid);
  return found == by_pod_.end() ? std::nullopt : std::optional(found->second.by);
}

std::optional<cluster::RoomBeingMade> Promises::room_of(std::string_view pod_uid) const {
  constexpr std::array<std::string_view, 3> kMakers{"kube-scheduler", "preemption", "moves"};
  const std::scoped_lock lock(mutex_);
  const auto found = by_pod_.find(pod_uid);
  if (found == by_pod_.end() || found->second.victims.size() != 1) return std::nullopt;
  const auto& [node, victims] = *found->second.victims.begin();
  return cluster::RoomBeingMade{.by = kMakers.at(static_cast<std::size_t>(found->second.by)),
                                .node = node,
                                .leaving = victims};
}

std::vector<Nomination> Promises::nominated() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Nomination> pods;
  for (const auto& [uid, promise] : by_pod_) {
    for (const auto& [name, victims] : promise.victims) {
      pods.push_back({promise.pod, name, victims, promise.by != RoomMaker::kScheduler});
    }
  }
  return pods;
}

}  // namespace tangram::extender
