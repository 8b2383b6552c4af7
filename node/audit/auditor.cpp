#include "node/audit/auditor.hpp"

#include "base/sleeper.hpp"
#include "node/container/card_environment.hpp"

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
  for (const JournalEntry& entry : parts_.journal.all()) {
    if (!entry.claim || entry.claim->spec.empty() || take_over(entry)) continue;
    const auto written = parts_.cdi.put(entry.name, entry.claim->spec);
    if (!written) spdlog::error("{}", written.error().message);
    if (written && *written) ++restored;
  }
  const std::lock_guard lock(mutex_);
  counts_.restored += restored;
  return restored;
}

/// @returns whether the entry's spec on disk is of a later start than the entry
bool Auditor::take_over(JournalEntry entry) {
  auto spec = parts_.cdi.read(entry.name);
  if (!spec) return false;
  std::string mark = start_mark_in(*spec);
  if (mark.empty() || mark == entry.claim->mark) return false;
  entry.claim->former_mark = std::exchange(entry.claim->mark, std::move(mark));
  entry.claim->spec = std::move(*spec);
  if (auto written = parts_.journal.put(entry); !written) {
    spdlog::error("{}; its last start is recorded in memory only", written.error().message);
    parts_.journal.remember(entry);
  }
  return true;
}

Result<AuditView> Auditor::view() const {
  if (!parts_.pods.synced()) {
    return fail(Errc::kUnavailable, "the node's pods have not been listed yet");
  }
  AuditView view;
  // The journal first: what is allocated meanwhile must not seem superfluous.
  view.journal = parts_.journal.all();
  view.specs = parts_.cdi.names();
  auto owners = parts_.slot_owners();
  if (!owners) return owners.error();
  view.owners = std::move(*owners);
  auto listed = parts_.lister.list();
  if (!listed) return listed.error();
  view.listed = std::move(*listed);
  const CardsPtr cards = parts_.cards();
  for (const InstalledCard& card : cards->inventory.cards) {
    const auto activity = parts_.source.activity(card.card.id);
    // A lost card, or all: the other records can still be compared.
    if (!activity) continue;
    add_pod_uses(card.card.id, *activity, parts_.processes, parts_.own_pod, view.uses);
  }
  for (const auto& [uid, pid] : parts_.processes.pods()) view.running.insert(uid);
  view.pods = parts_.pods.all();
  return view;
}

void Auditor::run(std::chrono::milliseconds interval, const std::stop_token& stop) {
  // The first two follow soon: at every change the runtime reads all specs that an earlier agent
  // has left.
  constexpr std::chrono::milliseconds kSoon{5'000};
  for (int audits = 0; !stop.stop_requested(); ++audits) {
    sleep_until_stopped(audits < 2 ? std::min(kSoon, interval) : interval, stop);
    if (stop.stop_requested()) return;
    if (const auto audited = audit_once(); !audited) {
      spdlog::warn("no audit: {}", audited.error().message);
    }
  }
}

Result<void> Auditor::audit_once() {
  const auto seen = view();
  if (!seen) {
    const std::lock_guard lock(mutex_);
    ++counts_.failed;
    return seen.error();
  }
  const Audit result = audit(*seen);
  repair(result.repairs, seen->journal);
  report(result.drifts);
  return {};
}

void Auditor::repair(const Repairs& repairs, const std::vector<JournalEntry>& seen) {
  std::uint64_t restored = 0;
  std::uint64_t removed = 0;
  for (const JournalEntry& missing : repairs.restore) {
    // The current entry: its container may have been prepared again since.
    const auto entry = parts_.journal.find(missing.name);
    if (!entry || !entry->claim) continue;
    const auto written = parts_.cdi.restore(entry->name, entry->claim->spec);
    if (written && *written) ++restored;
  }
  std::set<std::string> superfluous = repairs.forget;
  superfluous.insert(repairs.remove.begin(), repairs.remove.end());
  for (const std::string& name : superfluous) {
    if (last_superfluous_.contains(name) && remove(name, seen)) ++removed;
  }
  last_superfluous_ = std::move(superfluous);
  if (restored > 0) spdlog::warn("audit: wrote {} missing CDI specs again", restored);
  const std::lock_guard lock(mutex_);
  counts_.restored += restored;
  counts_.removed += removed;
}

/// @returns false if its container has been admitted or prepared since the records were seen
bool Auditor::remove(const std::string& name, const std::vector<JournalEntry>& seen) {
  const auto found = std::ranges::find(seen, name, &JournalEntry::name);
  const auto lock = parts_.journal.lock_claims();
  const auto entry = parts_.journal.find(name);
  const bool is_as_seen = found == seen.end() ? !entry : entry == *found;
  if (!is_as_seen) return false;
  parts_.cdi.remove(name);
  parts_.journal.erase(name);
  return true;
}

void Auditor::report(const std::set<Drift>& drifts) {
  std::array<std::uint64_t, kDriftKinds> current{};
  for (const Drift& drift : drifts) {
    if (!last_drifts_.contains(drift)) continue;
    ++current.at(static_cast<std::size_t>(drift.kind));
    spdlog::warn("audit: {}: {}{}{}: {}", to_string(drift.kind), drift.ns,
                 drift.ns.empty() ? "" : "/", drift.pod, drift.sentence);
    report_event(drift);
  }
  last_drifts_ = drifts;
  const std::lock_guard lock(mutex_);
  ++counts_.audits;
  counts_.drifts = current;
}

void Auditor::report_event(const Drift& drift) const {
  const bool gone = drift.pod.empty();
  parts_.report_event({.kind = gone ? "Node" : "Pod",
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
