#include "extender/scheduling/offers.hpp"

#include <algorithm>
#include <utility>

namespace tangram::extender {

std::set<std::string, std::less<>> Offers::begin_filter(std::string_view uid) {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(std::string(uid));
  if (found == pods_.end()) return {};
  Memory& memory = found->second;
  if (!memory.offered.empty()) refuse(memory, std::exchange(memory.offered, {}));
  return current(memory);
}

void Offers::offered(std::string_view uid, std::string_view node) {
  const std::scoped_lock lock(mutex_);
  touch(uid).offered = node;
}

void Offers::bind_failed(std::string_view uid, std::string_view node) {
  const std::scoped_lock lock(mutex_);
  Memory& memory = touch(uid);
  memory.offered.clear();  // the scheduler chose; only the chosen node failed
  refuse(memory, std::string(node));
}

void Offers::forget(std::string_view uid) {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(std::string(uid));
  if (found == pods_.end()) return;
  by_recency_.erase(found->second.recency);
  pods_.erase(found);
}

std::set<std::string, std::less<>> Offers::refused(std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = pods_.find(std::string(uid));
  if (found == pods_.end()) return {};
  return current(found->second);
}

std::size_t Offers::pods() const {
  const std::scoped_lock lock(mutex_);
  return pods_.size();
}

Offers::Memory& Offers::touch(std::string_view uid) {
  const auto [entry, is_new] = pods_.try_emplace(std::string(uid));
  if (is_new) {
    by_recency_.push_front(entry->first);
    entry->second.recency = by_recency_.begin();
    if (pods_.size() > max_pods_) {
      pods_.erase(by_recency_.back());
      by_recency_.pop_back();
    }
  } else {
    by_recency_.splice(by_recency_.begin(), by_recency_, entry->second.recency);
  }
  return entry->second;
}

void Offers::refuse(Memory& memory, std::string node) {
  std::erase_if(memory.refused, [&](const Refusal& known) { return known.node == node; });
  if (memory.refused.size() == kMaxRefusedPerPod) memory.refused.erase(memory.refused.begin());
  memory.refused.push_back({std::move(node), clock_.now() + penalty_});
}

std::set<std::string, std::less<>> Offers::current(const Memory& memory) const {
  std::set<std::string, std::less<>> nodes;
  const TimePoint now = clock_.now();
  for (const Refusal& refusal : memory.refused) {
    if (refusal.until > now) nodes.insert(refusal.node);
  }
  return nodes;
}

}  // namespace tangram::extender
