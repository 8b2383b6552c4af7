#include "node/resize/limits_in_force.hpp"

namespace tangram::node {
namespace {

bool is_of_earlier_boot(const Claim& claim, const std::string& boot) {
  return !claim.boot.empty() && !boot.empty() && claim.boot != boot;
}

}  // namespace

LimitsInForce::Lowered LimitsInForce::lowered(const Resize& resize, TimePoint now) const {
  if (lowered_cards(resize).empty()) return Lowered::kYes;
  const auto found = lowered_.find(resize.allocation);
  if (found == lowered_.end() || found->second.grant != resize.pod->grant_text ||
      found->second.start != resize.claim.marked_at) {
    return Lowered::kNo;
  }
  return now - found->second.since >= kSettling ? Lowered::kYes : Lowered::kJustNow;
}

Result<void> LimitsInForce::lower(const Resize& resize) {
  if (auto done = set(resize.allocation, resize.claim, lowered_cards(resize)); !done) {
    to_set(resize.allocation);  // some may be lowered
    return done;
  }
  lowered_.insert_or_assign(resize.allocation, LoweredLimits{.grant = resize.pod->grant_text,
                                                             .start = resize.claim.marked_at,
                                                             .since = parts_.clock.now()});
  return {};
}

void LimitsInForce::to_set(const std::string& allocation) {
  lowered_.erase(allocation);
  to_set_.insert(allocation);
}

void LimitsInForce::all_to_set() {
  for (const JournalEntry& entry : parts_.journal.all()) to_set(entry.name);
}

void LimitsInForce::withdraw(const std::string& allocation) {
  if (lowered_.contains(allocation)) to_set(allocation);
}

void LimitsInForce::withdraw_all_but(const std::vector<Resize>& due) {
  std::set<std::string> names;
  for (const auto& [name, lowered] : lowered_) names.insert(name);
  for (const Resize& resize : due) names.erase(resize.allocation);
  for (const std::string& name : names) withdraw(name);
}

void LimitsInForce::set_by_journal(
    const std::function<void(const JournalEntry&, const Error&)>& failed) {
  std::erase_if(to_set_, [&](const std::string& allocation) {
    const auto entry = parts_.journal.find(allocation);
    if (!entry || !entry->claim) return true;
    const auto done = set(allocation, *entry->claim, changeable_cards(*entry));
    if (done) return true;
    const bool is_unknown = done.error().code == Errc::kNotFound;
    if (is_unknown && has_ended(*entry->claim)) return true;
    failed(*entry, done.error());
    return false;
  });
}

/// For good: its pod is gone, and has no process.
bool LimitsInForce::has_ended(const Claim& claim) const {
  return parts_.pods.synced() && !parts_.pods.find(claim.pod_uid) &&
         !parts_.journal.awaits_pod(claim.pod_uid) &&
         !parts_.processes.pods().contains(claim.pod_uid);
}

Result<void> LimitsInForce::set(std::string_view allocation, const Claim& claim,
                                const CardsByMeans& cards) const {
  for (const auto& [means, limited] : cards) {
    auto done = parts_.limiters.change(allocation, means, limited);
    if (done) continue;
    const bool runs_not =
        done.error().code == Errc::kNotFound && is_of_earlier_boot(claim, parts_.boot);
    if (!runs_not) return done;
  }
  return {};
}

}  // namespace tangram::node
