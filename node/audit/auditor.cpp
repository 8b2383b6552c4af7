#include "node/audit/auditor.hpp"

#include "model/request.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tangram::node {

void add_pod_uses(const std::string& card, const CardActivity& activity, const Processes& processes,
                  std::string_view own_pod, std::vector<PodUse>& uses) {
  std::map<std::string, std::uint64_t> bytes;
  for (const CardProcess& process : activity.processes) {
    const std::string uid = processes.pod_of(process.pid);
    if (!uid.empty() && uid != own_pod) bytes[uid] += process.memory_bytes;
  }
  for (const auto& [uid, sum] : bytes) uses.push_back({card, uid, sum});
}

Auditor::Auditor(Parts parts) : parts_(std::move(parts)) {}

std::size_t Auditor::restore() {
  std::size_t restored = 0;
  for (const Allocation& allocation : parts_.journal.all()) {
    if (!allocation.claim || allocation.claim->spec.empty()) continue;
    const auto written = parts_.cdi.put(allocation.name, allocation.claim->spec);
    if (!written) spdlog::error("{}", written.error().message);
    if (written && *written) ++restored;
  }
  const std::lock_guard lock(mutex_);
  counts_.restored += restored;
  return restored;
}

Result<AuditView> Auditor::view() const {
  if (!parts_.pods.synced()) {
    return fail(Errc::kUnavailable, "the API server has not named the node's pods yet");
  }
  AuditView view;
  // The journal first: what is allocated meanwhile must not look superfluous.
  view.allocations = parts_.journal.all();
  view.specs = parts_.cdi.names();
  auto text = parts_.checkpoint();
  if (!text) return text.error();
  auto owners = decode_checkpoint(std::move(*text), model::kSlotResource);
  if (!owners) return owners.error();
  view.owners = std::move(*owners);
  auto listed = parts_.lister.list();
  if (!listed) return listed.error();
  view.listed = std::move(*listed);
  const CardsPtr cards = parts_.cards();
  for (const InstalledCard& card : cards->inventory.cards) {
    const auto activity = parts_.source.activity(card.card.id);
    // A lost one, or all: what kubelet and the API server say still counts.
    if (!activity) continue;
    add_pod_uses(card.card.id, *activity, parts_.processes, parts_.own_pod, view.uses);
  }
  for (const auto& [uid, pid] : parts_.processes.pods()) view.living.insert(uid);
  view.pods = parts_.pods.all();
  return view;
}

Result<void> Auditor::look() {
  const auto seen = view();
  if (!seen) {
    const std::lock_guard lock(mutex_);
    ++counts_.failed;
    return seen.error();
  }
  const Audit result = audit(*seen);
  mend(result.repairs);
  report(result.drifts);
  return {};
}

void Auditor::mend(const Repairs& repairs) {
  std::uint64_t restored = 0;
  std::uint64_t removed = 0;
  for (const Allocation& seen : repairs.restore) {
    // As it is now: its container may have been prepared anew since.
    const auto allocation = parts_.journal.find(seen.name);
    if (!allocation || !allocation->claim) continue;
    const auto written = parts_.cdi.put(allocation->name, allocation->claim->spec);
    if (written && *written) ++restored;
  }
  std::set<std::string> superfluous = repairs.forget;
  superfluous.insert(repairs.remove.begin(), repairs.remove.end());
  for (const std::string& name : superfluous) {
    if (!forgotten_.contains(name)) continue;
    parts_.cdi.remove(name);
    parts_.journal.erase(name);
    ++removed;
  }
  forgotten_ = std::move(superfluous);
  if (restored > 0) spdlog::warn("audit: put back {} CDI specs that were missing", restored);
  const std::lock_guard lock(mutex_);
  counts_.restored += restored;
  counts_.removed += removed;
}

void Auditor::report(const std::set<Drift>& drifts) {
  std::array<std::uint64_t, kDriftKinds> stand{};
  for (const Drift& drift : drifts) {
    if (!seen_.contains(drift)) continue;
    ++stand.at(static_cast<std::size_t>(drift.kind));
    spdlog::warn("audit: {}: {}{}{}: {}", to_string(drift.kind), drift.ns,
                 drift.ns.empty() ? "" : "/", drift.pod, drift.sentence);
    tell(drift);
  }
  seen_ = drifts;
  const std::lock_guard lock(mutex_);
  ++counts_.audits;
  counts_.drifts = stand;
}

void Auditor::tell(const Drift& drift) const {
  const bool gone = drift.pod.empty();
  parts_.tell({.kind = gone ? "Node" : "Pod",
               .ns = drift.ns,
               .name = gone ? parts_.node : drift.pod,
               .uid = gone ? parts_.node : drift.pod_uid,
               .type = kube::EventNote::Type::kWarning,
               .reason = "RecordsDiffer",
               .action = "Auditing",
               .note = drift.sentence});
}

Auditor::Counts Auditor::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace tangram::node
