#include "cluster/grant_key_use.hpp"

namespace tangram::cluster {

void GrantKeyUse::set(std::string_view pod_uid, const std::string& key) {
  if (key.empty()) return forget(pod_uid);
  const std::scoped_lock lock(mutex_);
  keys_.insert_or_assign(std::string(pod_uid), key);
}

void GrantKeyUse::forget(std::string_view pod_uid) {
  const std::scoped_lock lock(mutex_);
  if (const auto known = keys_.find(pod_uid); known != keys_.end()) keys_.erase(known);
}

std::map<std::string, std::size_t> GrantKeyUse::counts() const {
  std::map<std::string, std::size_t> counts;
  const std::scoped_lock lock(mutex_);
  for (const auto& [uid, key] : keys_) ++counts[key];
  return counts;
}

}  // namespace tangram::cluster
