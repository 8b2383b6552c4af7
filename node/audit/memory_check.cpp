#include "node/audit/memory_check.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tangram::node {
namespace {

/// A pod with shares of one card.
struct PodOnCard {
  std::map<std::string, MemoryUse> containers;  ///< by name; those without a share have limit 0
  std::optional<std::uint64_t> unclear_bytes;   ///< of processes whose containers have no names
};
using PodsOnCard = std::map<std::string, PodOnCard>;  ///< by UID

void add_claim(const CardClaim& claim, const std::string& card, PodsOnCard& pods) {
  if (claim.whole) return;
  for (const model::GrantedCard& part : claim.container.cards) {
    if (part.uuid != card) continue;
    const std::string& name = claim.container.container;
    MemoryUse use{.pod_uid = claim.pod_uid,
                  .ns = claim.ns,
                  .pod = claim.pod,
                  .container = name,
                  .card = card,
                  .used_bytes = 0,
                  .limit_bytes = static_cast<std::uint64_t>(part.memory_limit.count()) << 20U,
                  .processes = {},
                  .allocations = claim.allocations};
    pods[claim.pod_uid].containers.insert_or_assign(name, std::move(use));
  }
}

MemoryUse without_share(MemoryUse other, const std::string& container) {
  other.container = container;
  other.used_bytes = other.limit_bytes = 0;
  other.processes.clear();
  other.allocations.clear();
  return other;
}

void add_process(const PlacedProcess& process, const ContainerNamesById& names, PodOnCard& pod) {
  const auto found = names.find(process.place.container_id);
  if (found == names.end()) {
    pod.unclear_bytes = pod.unclear_bytes.value_or(0) + process.memory_bytes;
    return;
  }
  const std::string& name = found->second;
  const MemoryUse& any = pod.containers.begin()->second;
  MemoryUse& use = pod.containers.try_emplace(name, without_share(any, name)).first->second;
  use.used_bytes += process.memory_bytes;
  use.processes.push_back(process);
}

bool has_share(const MemoryUse& use) { return use.limit_bytes > 0; }

/// Those with a share, and the processes that may be theirs.
MemoryUse together(const PodOnCard& pod) {
  MemoryUse sum = without_share(pod.containers.begin()->second, "");
  sum.used_bytes = pod.unclear_bytes.value_or(0);
  int count = 0;
  for (const auto& [name, use] : pod.containers) {
    if (!has_share(use)) continue;
    const bool only = ++count == 1;
    sum.container = only ? name : "";
    sum.allocations = only ? use.allocations : std::vector<std::string>{};
    sum.used_bytes += use.used_bytes;
    sum.limit_bytes += use.limit_bytes;
  }
  return sum;
}

void add_uses(PodOnCard&& pod, std::vector<MemoryUse>& uses) {
  if (pod.unclear_bytes) {
    uses.push_back(together(pod));
    std::erase_if(pod.containers, [](const auto& named) { return has_share(named.second); });
  }
  for (auto& [name, use] : pod.containers) uses.push_back(std::move(use));
}

}  // namespace

std::vector<MemoryUse> memory_uses(const std::string& card,
                                   const std::vector<PlacedProcess>& processes,
                                   const std::vector<CardClaim>& claims,
                                   const ContainerNamesById& names) {
  PodsOnCard pods;
  for (const CardClaim& claim : claims) add_claim(claim, card, pods);
  for (const PlacedProcess& process : processes) {
    const auto pod = pods.find(process.place.pod_uid);
    if (pod != pods.end()) add_process(process, names, pod->second);
  }
  std::vector<MemoryUse> uses;
  for (auto& [uid, pod] : pods) add_uses(std::move(pod), uses);
  return uses;
}

bool is_over_limit(const MemoryUse& use) {
  constexpr std::uint64_t kLeast = 64U << 20U;
  return use.used_bytes > use.limit_bytes + std::max(kLeast, use.limit_bytes / 100);
}

}  // namespace tangram::node
