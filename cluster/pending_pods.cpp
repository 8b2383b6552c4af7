#include "cluster/pending_pods.hpp"

namespace tangram::cluster {

void PendingPods::put(kube::Pod pod) {
  auto shared = std::make_shared<const kube::Pod>(std::move(pod));
  const std::scoped_lock lock(mutex_);
  uid_by_name_[shared->full_name()] = shared->uid;
  if (shared->nominated_node.empty()) {
    nominated_.erase(shared->uid);
  } else {
    nominated_.insert(shared->uid);
  }
  by_uid_[shared->uid] = std::move(shared);
}

void PendingPods::erase(std::string_view uid) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return;
  // A pod of the same name that was made since keeps its entry.
  const auto name = uid_by_name_.find(found->second->full_name());
  if (name != uid_by_name_.end() && name->second == uid) uid_by_name_.erase(name);
  nominated_.erase(found->first);
  by_uid_.erase(found);
}

void PendingPods::retain(const std::function<bool(const std::string& uid)>& keep) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(by_uid_, [&](const auto& entry) { return !keep(entry.first); });
  std::erase_if(uid_by_name_, [&](const auto& entry) { return !by_uid_.contains(entry.second); });
  std::erase_if(nominated_, [&](const auto& uid) { return !by_uid_.contains(uid); });
}

PodPtr PendingPods::find(std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : found->second;
}

PodPtr PendingPods::find(std::string_view ns, std::string_view name) const {
  const std::string full = std::string(ns) + "/" + std::string(name);
  const std::scoped_lock lock(mutex_);
  const auto uid = uid_by_name_.find(full);
  if (uid == uid_by_name_.end()) return nullptr;
  const auto found = by_uid_.find(uid->second);
  return found == by_uid_.end() ? nullptr : found->second;
}

std::vector<PodPtr> PendingPods::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<PodPtr> pods;
  pods.reserve(by_uid_.size());
  for (const auto& [uid, pod] : by_uid_) pods.push_back(pod);
  return pods;
}

std::vector<PodPtr> PendingPods::nominated() const {
  const std::scoped_lock lock(mutex_);
  std::vector<PodPtr> pods;
  for (const std::string& uid : nominated_) pods.push_back(by_uid_.at(uid));
  return pods;
}

std::size_t PendingPods::size() const {
  const std::scoped_lock lock(mutex_);
  return by_uid_.size();
}

}  // namespace tangram::cluster
