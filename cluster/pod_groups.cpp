#include "cluster/pod_groups.hpp"

#include <spdlog/spdlog.h>

namespace tangram::cluster {

namespace {

using Kind = kube::GroupOfPod::Kind;

/// No name of Kubernetes has an "@".
std::string_view suffix_of(Kind kind) {
  switch (kind) {
    case Kind::kCoscheduling:
      return "@coscheduling";
    case Kind::kKueue:
      return "@kueue";
    case Kind::kNone:
    case Kind::kPodGroup:
      break;
  }
  return "";
}

std::optional<kube::PodGroup> read(std::string_view object) {
  auto group = kube::decode_pod_group(std::string(object));
  if (group) return *std::move(group);
  spdlog::warn("a PodGroup could not be read, so its minimum is not known: {}",
               group.error().message);
  return std::nullopt;
}

std::string key_of(const kube::PodGroup& group) { return group.ns + "/" + group.name; }

}  // namespace

std::string group_key(const kube::Pod& pod) {
  if (pod.group.kind == Kind::kNone) return "";
  return pod.ns + "/" + pod.group.name + std::string(suffix_of(pod.group.kind));
}

void PodGroups::listed(std::string_view object) {
  const auto group = read(object);
  if (!group || listed_.size() >= kMost) return;
  listed_.insert_or_assign(key_of(*group), Group{group->min_count, group->refusal});
}

void PodGroups::unlisted(std::string_view object) { listed_.erase(kube::object_key(object)); }

void PodGroups::end_list() {
  const std::scoped_lock lock(mutex_);
  groups_ = std::exchange(listed_, {});
}

void PodGroups::change(kube::EventType type, std::string_view object) {
  const std::string key = kube::object_key(object);
  const auto group = type == kube::EventType::kDeleted ? std::nullopt : read(object);
  bool refused_anew = false;
  {
    const std::scoped_lock lock(mutex_);
    const auto known = groups_.find(key);
    const std::uint64_t before = known == groups_.end() ? 0 : known->second.refusal;
    refused_anew = group && group->refusal != 0 && group->refusal != before;
    if (!group) {
      if (known != groups_.end()) groups_.erase(known);
    } else if (known != groups_.end() || groups_.size() < kMost) {
      groups_.insert_or_assign(key, Group{group->min_count, group->refusal});
    }
  }
  if (refused_anew) refused_(key);
}

std::size_t PodGroups::kept_bytes() const {
  constexpr std::size_t kOne = 400;  // with the longest names
  return listed_.size() * kOne;
}

std::optional<int> PodGroups::min_count(std::string_view key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = groups_.find(key);
  return found == groups_.end() ? std::nullopt : std::optional(found->second.min_count);
}

std::size_t PodGroups::size() const {
  const std::scoped_lock lock(mutex_);
  return groups_.size();
}

}  // namespace tangram::cluster
