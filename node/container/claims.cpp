#include "node/container/claims.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tangram::node {
namespace {

/// The claim of a container by a grant; nothing if the grant does not name it.
std::optional<CardClaim> claim_of(const model::Grant& grant, std::string_view container) {
  for (const model::ContainerGrant& part : grant.containers) {
    if (part.container != container) continue;
    return CardClaim{.pod_uid = grant.pod_uid,
                     .issued_at = grant.issued_at,
                     .isolation = grant.isolation,
                     .container = part};
  }
  return std::nullopt;
}

/// The pods that have a process; read at the first call.
class PodsWithProcess {
 public:
  explicit PodsWithProcess(const Processes& processes) : processes_(processes) {}
  bool has(const std::string& uid) {
    if (!pods_) pods_ = processes_.pods();
    return pods_->contains(uid);
  }

 private:
  const Processes& processes_;
  std::optional<std::map<std::string, std::int64_t>> pods_;
};

using Containers = std::set<std::pair<std::string, std::string>>;  ///< pod UID, container

CardClaim* find_claim(std::vector<CardClaim>& claims, const Claim& noted) {
  const auto found = std::find_if(claims.begin(), claims.end(), [&](const CardClaim& claim) {
    return claim.pod_uid == noted.pod_uid && claim.container.container == noted.container;
  });
  return found == claims.end() ? nullptr : &*found;
}

/// A resize changes the entries of a container one after the other. Until all are changed it has
/// the larger of the amounts.
void raise(model::ContainerGrant& container, const model::ContainerGrant& other) {
  for (model::GrantedCard& card : container.cards) {
    for (const model::GrantedCard& again : other.cards) {
      if (again.uuid == card.uuid) card.set_amounts(larger_of(card.amounts(), again.amounts()));
    }
  }
}

/// Whether the pod of this UID, which is gone, has a process.
using Runs = std::function<bool(const std::string&)>;

/// Adds the claims of admitted containers that may still run. @returns those containers
Containers add_admitted(const PodSource& pods, const Journal& journal, const Runs& runs,
                        std::vector<CardClaim>& claims) {
  Containers admitted;
  const bool synced = pods.synced();
  for (const JournalEntry& entry : journal.all()) {
    if (!entry.claim) continue;
    const Claim& noted = *entry.claim;
    const bool awaited = journal.awaits_pod(noted.pod_uid);
    const bool ending = synced && !pods.find(noted.pod_uid) && !awaited;
    if (ending && !runs(noted.pod_uid)) continue;
    const auto grant = model::decode_grant(noted.grant);
    auto claim = grant ? claim_of(*grant, noted.container) : std::nullopt;
    if (!claim) continue;
    if (CardClaim* const again = find_claim(claims, noted)) {
      again->allocations.push_back(entry.name);
      raise(again->container, claim->container);
      continue;
    }
    admitted.emplace(noted.pod_uid, noted.container);
    claim->allocations = {entry.name};
    claim->admitted = true;
    claim->whole = noted.whole;
    claim->ending = ending;
    claim->awaited = awaited;
    claim->ns = noted.ns;
    claim->pod = noted.pod;
    claims.push_back(std::move(*claim));
  }
  return admitted;
}

std::vector<CardClaim> claims_of(const PodSource& pods, const Journal& journal, const Runs& runs) {
  std::vector<CardClaim> claims;
  const Containers admitted = add_admitted(pods, journal, runs, claims);
  for (const LocalPodPtr& pod : pods.all()) {
    if (!pod->grant) continue;
    for (const model::ContainerInfo& info : pod->pod.containers) {
      if (info.slots == 0 || admitted.contains({pod->pod.uid, info.name})) continue;
      auto claim = claim_of(*pod->grant, info.name);
      if (!claim) continue;
      claim->ns = pod->pod.ns;
      claim->pod = pod->pod.name;
      claims.push_back(std::move(*claim));
    }
  }
  return claims;
}

}  // namespace

std::vector<CardClaim> card_claims(const PodSource& pods, const Journal& journal,
                                   const Processes& processes) {
  PodsWithProcess running(processes);
  return claims_of(pods, journal, [&](const std::string& uid) { return running.has(uid); });
}

std::vector<CardClaim> claims_of_present(const PodSource& pods, const Journal& journal) {
  return claims_of(pods, journal, [](const std::string&) { return false; });
}

void note_shown(const PodSource& pods, Journal& journal) {
  for (const std::string& uid : journal.awaited_pods()) {
    if (pods.find(uid)) journal.pod_shown(uid);
  }
}

LocalPod as_admitted(LocalPod pod, const Claim& claim, std::string_view node) {
  pod.grant_text = claim.grant;
  read_pod_grant(pod, node, model::signatures_not_checked());
  return pod;
}

LocalPodPtr pod_of(const Claim& claim, std::string_view node) {
  LocalPod pod;
  pod.pod.uid = claim.pod_uid;
  pod.pod.ns = claim.ns;
  pod.pod.name = claim.pod;
  pod.pod.node = node;
  return std::make_shared<const LocalPod>(as_admitted(std::move(pod), claim, node));
}

Result<std::vector<OrphanedMemory>> orphaned_memory(CardSource& source,
                                                    const std::vector<std::string>& cards,
                                                    const PodSource& pods,
                                                    const Processes& processes,
                                                    const std::vector<CardClaim>& claims) {
  std::vector<OrphanedMemory> orphaned;
  if (!pods.synced()) return orphaned;  // it is not known yet which pods are gone
  for (const std::string& card : cards) {
    const auto activity = source.activity(card);
    if (!activity && activity.error().code == Errc::kNotFound)
      continue;  // check_grant() reports it
    if (!activity) return activity.error();
    std::map<std::string, std::uint64_t> used;  // by pod UID
    for (const CardProcess& process : activity->processes) {
      const std::string uid = processes.pod_of(process.pid);
      const bool claimed = std::any_of(claims.begin(), claims.end(), [&](const CardClaim& claim) {
        return claim.pod_uid == uid;
      });
      if (uid.empty() || claimed || pods.find(uid)) continue;
      used[uid] += process.memory_bytes;
    }
    for (const auto& [uid, bytes] : used) orphaned.push_back({card, uid, bytes});
  }
  return orphaned;
}

SharedCards shared_cards(const std::vector<CardClaim>& claims) {
  SharedCards shared;
  for (const CardClaim& claim : claims) {
    if (!claim.admitted || claim.whole) continue;
    for (const model::GrantedCard& part : claim.container.cards) {
      CardSharers& sharers = shared.at(static_cast<std::size_t>(claim.isolation))[part.uuid];
      for (const std::string& allocation : claim.allocations) sharers.add(allocation, part);
    }
  }
  return shared;
}

std::set<std::string> granted_cards(const std::vector<LocalPodPtr>& pods) {
  std::set<std::string> granted;
  for (const LocalPodPtr& pod : pods) {
    if (!pod->grant) continue;
    for (const model::ContainerGrant& container : pod->grant->containers) {
      for (const model::GrantedCard& part : container.cards) granted.insert(part.uuid);
    }
  }
  return granted;
}

}  // namespace tangram::node
