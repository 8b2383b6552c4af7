#include "node/container/start_identifier.hpp"

#include "node/container/claims.hpp"
#include "node/container/grant_check.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace tangram::node {
namespace {

Error not_yet(std::string why) { return fail(Errc::kUnavailable, std::move(why)); }

std::string list(const std::vector<std::string>& slots) {
  return fmt::format("{}", fmt::join(slots, ", "));
}

const ListedContainer* container_with(const PodList& list, const std::vector<std::string>& slots) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const ListedContainer& container) {
    return std::find_first_of(container.slots.begin(), container.slots.end(), slots.begin(),
                              slots.end()) != container.slots.end();
  });
  return found == list.end() ? nullptr : &*found;
}

/// From the API server.
/// @returns nothing if it is gone, has finished, or is another pod by now
Result<LocalPodPtr> fetch_live(PodSource& pods, std::string_view ns, std::string_view name,
                               std::string_view uid) {
  const auto pod = pods.fetch(ns, name);
  if (!pod && pod.error().code == Errc::kNotFound) return LocalPodPtr{};
  if (!pod) return not_yet("the API server does not answer: " + pod.error().message);
  return (*pod)->pod.uid == uid && !(*pod)->pod.finished ? *pod : LocalPodPtr{};
}

}  // namespace

/// The containers that have these slots. Two if an init container and an app container of one pod
/// have a slot one after the other: kubelet does not say which one starts, so both get their spec.
Result<std::vector<Start>> StartIdentifier::identify(const std::vector<std::string>& slots) const {
  auto owners = parts_.slot_owners();
  if (!owners) return not_yet(owners.error().message);
  const auto listed = parts_.lister.list();
  if (!listed) return listed.error();
  const ListedContainer* const by_list = container_with(*listed, slots);

  std::vector<Start> starts;
  for (SlotOwner& owner : *owners) {
    if (owner.slots != slots) continue;
    auto pod = find_pod(owner, by_list);
    if (!pod) return pod.error();
    if (*pod == nullptr) continue;  // kubelet removes ended containers at its next Allocate
    const bool watched = parts_.pods.find(owner.pod_uid) != nullptr;
    starts.push_back({std::move(owner), std::move(*pod), watched});
  }
  if (starts.empty()) return not_yet("kubelet names no live pod as the owner of " + list(slots));
  const NodePod& pod = starts.front().pod->pod;
  const bool agree = std::ranges::all_of(starts, [&](const Start& start) {
    const bool as_listed = by_list != nullptr ? by_list->ns == pod.ns && by_list->pod == pod.name
                                              : is_ordinary_init(pod, start.owner.container);
    return start.pod->pod.uid == pod.uid && as_listed;
  });
  if (agree) return starts;
  return not_yet("kubelet's checkpoint and its list of pods differ about the owner of " +
                 list(slots));
}

/// The last act before the answer. At every list kubelet takes the devices from pods that were
/// deleted by force, even from one whose container is starting, and then creates that container
/// without them. So what an earlier list said may not hold any more.
///
/// The list has no UIDs, and a pod that was made anew has the name of the former one. So kubelet's
/// checkpoint, which has UIDs, must name the pod, too: kubelet writes it at the Allocate that gives
/// the slots to another pod. Ordinary init containers are in the checkpoint only.
Result<void> StartIdentifier::confirm(const std::vector<Start>& starts) const {
  const auto listed = parts_.lister.list();
  if (!listed) return listed.error();
  const auto owners = parts_.slot_owners();
  if (!owners) return not_yet(owners.error().message);
  for (const Start& start : starts) {
    const NodePod& pod = start.pod->pod;
    const ListedContainer* const now = container_with(*listed, start.owner.slots);
    const bool is_listed = is_ordinary_init(pod, start.owner.container) ||
                           (now != nullptr && now->ns == pod.ns && now->pod == pod.name);
    const bool owns = std::ranges::find(*owners, start.owner) != owners->end();
    const bool deleted = start.watched && parts_.pods.synced() && !parts_.pods.find(pod.uid);
    if (is_listed && owns && !deleted) continue;
    spdlog::warn("start of {} in pod {}: the pod was deleted", start.owner.container,
                 pod.full_name());
    return not_yet("the pod was deleted while its container was about to start");
  }
  return {};
}

/// @returns nothing if the pod is gone or has finished
Result<LocalPodPtr> StartIdentifier::find_pod(const SlotOwner& owner,
                                              const ListedContainer* listed) const {
  const LocalPodPtr watched = parts_.pods.find(owner.pod_uid);
  if (watched && !watched->left_out) return watched;
  const auto entry = parts_.journal.find(owner.name);
  const bool known = entry && entry->claim && entry->claim->pod_uid == owner.pod_uid;
  if (!watched && listed == nullptr && !known) {
    // The watch lacks only the newest pods, and those are in kubelet's list.
    if (parts_.pods.synced()) return LocalPodPtr{};
    return not_yet("the pod with UID " + owner.pod_uid + " is not known yet");
  }
  auto pod = watched ? fetch_live(parts_.pods, watched->pod.ns, watched->pod.name, watched->pod.uid)
             : known ? fetch_live(parts_.pods, entry->claim->ns, entry->claim->pod, owner.pod_uid)
                     : fetch_live(parts_.pods, listed->ns, listed->pod, owner.pod_uid);
  if (pod) return pod;
  if (known && entry->claim->container == owner.container) {
    spdlog::info("the API server does not answer: pod {}/{} starts from the journal",
                 entry->claim->ns, entry->claim->pod);
    return pod_of(*entry->claim, parts_.node);
  }
  return pod;
}

}  // namespace tangram::node
