#include "node/audit/audit.hpp"

#include <array>
#include <map>
#include <utility>

namespace tangram::node {
namespace {

using Pods = std::map<std::string, const LocalPod*, std::less<>>;  ///< by UID

Drift drift(Drift::Kind kind, const LocalPod& pod, std::string card, std::string sentence) {
  return {kind, pod.pod.uid, pod.pod.ns, pod.pod.name, std::move(card), std::move(sentence)};
}

void compare_slots(const AuditView& view, const Pods& pods, std::set<Drift>& drifts) {
  std::set<std::pair<std::string, std::string>> holders;  // UID, container
  for (const SlotOwner& owner : view.owners) {
    holders.emplace(owner.pod_uid, owner.container);
    const auto pod = pods.find(owner.pod_uid);
    if (pod == pods.end() || pod->second->grant || pod->second->left_out) continue;
    drifts.insert(drift(Drift::Kind::kSlotWithoutGrant, *pod->second, "",
                        "the pod has a slot and no valid grant, so it cannot start; delete it "
                        "and create it again through Tangram's scheduler"));
  }
  std::set<std::pair<std::string, std::string>> listed;  // pod's full name, container
  for (const ListedContainer& container : view.listed) {
    listed.emplace(container.ns + "/" + container.pod, container.container);
  }
  for (const auto& [uid, pod] : pods) {
    if (!pod->grant || pod->pod.deleting) continue;
    for (const model::ContainerInfo& container : pod->pod.containers) {
      if (container.slots == 0 || holders.contains({uid, container.name}) ||
          listed.contains({pod->pod.full_name(), container.name})) {
        continue;
      }
      drifts.insert(
          drift(Drift::Kind::kGrantWithoutSlot, *pod, "",
                "kubelet has given container " + container.name +
                    " no slot: it lost its record of devices; delete the pod and create it "
                    "again"));
    }
  }
}

bool has_share(const LocalPod& pod, std::string_view card) {
  if (!pod.grant) return false;
  for (const model::ContainerGrant& container : pod.grant->containers) {
    for (const model::GrantedCard& part : container.cards) {
      if (part.uuid == card) return true;
    }
  }
  return false;
}

void compare_processes(const AuditView& view, const Pods& pods, std::set<Drift>& drifts) {
  for (const PodUse& use : view.uses) {
    const auto found = pods.find(use.pod_uid);
    if (found == pods.end()) {
      drifts.insert({Drift::Kind::kProcessLeft, use.pod_uid, "", "", use.card,
                     "processes of pod UID " + use.pod_uid +
                         ", which is gone, still use memory of " + use.card +
                         "; end them on the node"});
      continue;
    }
    const LocalPod& pod = *found->second;
    if (pod.left_out) continue;  // its grant is not known
    if (!has_share(pod, use.card)) {
      drifts.insert(drift(Drift::Kind::kProcessWithoutGrant, pod, use.card,
                          "the pod uses card " + use.card +
                              ", which it was not granted; is it privileged, or does its runtime "
                              "ignore CDI devices?"));
    }
  }
}

void plan_repairs(const AuditView& view, const Pods& pods, Repairs& repairs) {
  std::map<std::string, const SlotOwner*, std::less<>> owners;  // by the name of the device
  for (const SlotOwner& owner : view.owners) owners.emplace(owner.name, &owner);
  const auto alive = [&](const std::string& uid) {
    return pods.contains(uid) || view.running.contains(uid);
  };
  const auto owner_alive = [&](const std::string& name) {
    const auto owner = owners.find(name);
    return owner != owners.end() && alive(owner->second->pod_uid);
  };
  std::set<std::string> known;
  for (const JournalEntry& entry : view.journal) {
    known.insert(entry.name);
    const auto& claim = entry.claim;
    if (!(claim ? alive(claim->pod_uid) : owner_alive(entry.name))) {
      repairs.forget.insert(entry.name);
    } else if (claim && !claim->spec.empty()) {
      repairs.restore.push_back(entry);
    }
  }
  for (const std::string& name : view.specs) {
    const bool keep = known.contains(name) ? !repairs.forget.contains(name) : owner_alive(name);
    if (!keep) repairs.remove.insert(name);
  }
}

}  // namespace

std::string_view to_string(Drift::Kind kind) {
  constexpr std::array<std::string_view, kDriftKinds> kNames{
      "slot_without_grant", "grant_without_slot", "process_without_grant", "process_left"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Audit audit(const AuditView& view) {
  Pods pods;
  for (const LocalPodPtr& pod : view.pods) pods.emplace(pod->pod.uid, pod.get());
  Audit result;
  compare_slots(view, pods, result.drifts);
  compare_processes(view, pods, result.drifts);
  plan_repairs(view, pods, result.repairs);
  return result;
}

}  // namespace tangram::node
