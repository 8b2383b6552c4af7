#include "extender/scheduling/denials.hpp"

#include "extender/scheduling/forget_oldest.hpp"

#include <utility>
#include <vector>

namespace tangram::extender {

void Denials::denied(const kube::Pod& pod, std::span<const std::string_view> names,
                     const model::ClusterSnapshot& cluster, bool for_now) {
  auto denial = std::make_shared<Denial>();
  denial->pod = cluster::waiting_pod(pod);
  denial->nodes.resize(cluster.slots());
  std::vector<model::ClusterSnapshot::Found> found(names.size());
  cluster.lookup(names, found);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (found[i].index != model::kNoNode) {
      denial->nodes[found[i].index] = true;
    } else if (denial->unknown.size() < kMostUnknown) {
      denial->unknown.emplace(names[i]);
    }
  }
  denial->version = cluster.version();
  denial->for_now = for_now;
  denial->at = clock_.now();
  const std::scoped_lock lock(mutex_);
  offered_until_.erase(pod.uid);
  by_pod_.insert_or_assign(pod.uid, std::move(denial));
  forget_oldest(by_pod_, kMost, [](const auto& entry) { return entry.second->at; });
}

void Denials::offered(const std::string& pod_uid, TimePoint until) {
  const std::scoped_lock lock(mutex_);
  by_pod_.erase(pod_uid);
  offered_until_.insert_or_assign(pod_uid, until);
  forget_oldest(offered_until_, kMost, [](const auto& entry) { return entry.second; });
}

void Denials::in_doubt(std::string_view pod_uid, model::Ledger::Uids pods) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_pod_.find(pod_uid);
  if (found == by_pod_.end()) return;
  auto denial = std::make_shared<Denial>(*found->second);
  denial->in_doubt = std::move(pods);
  found->second = std::move(denial);
}

void Denials::forget(std::string_view pod_uid) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = by_pod_.find(pod_uid); found != by_pod_.end()) by_pod_.erase(found);
  const auto offered = offered_until_.find(pod_uid);
  if (offered != offered_until_.end()) offered_until_.erase(offered);
}

std::vector<std::string> Denials::offered_in_vain() const {
  const TimePoint now = clock_.now();
  std::vector<std::string> pods;
  const std::scoped_lock lock(mutex_);
  for (const auto& [uid, until] : offered_until_) {
    if (until <= now) pods.push_back(uid);
  }
  return pods;
}

void Denials::forget_offered_in_vain() {
  const TimePoint now = clock_.now();
  const std::scoped_lock lock(mutex_);
  std::erase_if(offered_until_, [&](const auto& entry) { return entry.second <= now; });
}

DenialPtr Denials::find(std::string_view pod_uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_pod_.find(pod_uid);
  return found == by_pod_.end() ? nullptr : found->second;
}

std::vector<DenialPtr> Denials::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<DenialPtr> denials;
  denials.reserve(by_pod_.size());
  for (const auto& [uid, denial] : by_pod_) denials.push_back(denial);
  return denials;
}

}  // namespace tangram::extender
