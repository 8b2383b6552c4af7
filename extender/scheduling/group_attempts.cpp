#include "extender/scheduling/group_attempts.hpp"

#include "base/metric_family.hpp"
#include "cluster/pod_groups.hpp"
#include "extender/scheduling/forget_oldest.hpp"

#include <set>
#include <utility>

namespace tangram::extender {

std::vector<std::string> GroupAttempts::offers_of(const Attempt& attempt) {
  std::vector<std::string> uids;
  for (const auto& [uid, answer] : attempt.members) {
    if (answer == Answer::kOffered) uids.push_back(uid);
  }
  return uids;
}

bool GroupAttempts::is_over(const Attempt& attempt, const std::string& asked_now) const {
  if (attempt.succeeded) return true;
  if (attempt.failed && clock_.now() - attempt.at > kGap) return true;
  const bool goes_on = attempt.last_was_alone && attempt.last == asked_now;
  return attempt.members.contains(asked_now) && !goes_on;
}

/// After a success the offers are being bound.
std::vector<std::string> GroupAttempts::end(Attempt& attempt) {
  std::vector<std::string> withdrawn;
  if (!attempt.succeeded) withdrawn = offers_of(attempt);
  const bool reason_known = attempt.succeeded || attempt.failed;
  if (!reason_known) ++without_bind_;
  const bool in_doubt = !reason_known && (attempt.in_doubt || !withdrawn.empty());
  attempt = {};
  attempt.in_doubt = in_doubt;
  return withdrawn;
}

GroupAttempts::Turn GroupAttempts::begin(const kube::Pod& member, bool nominated_node_alone) {
  Turn turn;
  const std::scoped_lock lock(mutex_);
  Attempt& attempt = by_group_[cluster::group_key(member)];
  if (is_over(attempt, member.uid)) turn.withdrawn = end(attempt);
  attempt.members.insert_or_assign(member.uid, Answer::kNone);
  attempt.last = member.uid;
  attempt.last_was_alone = nominated_node_alone;
  attempt.at = clock_.now();
  turn.failed = attempt.failed;
  turn.in_doubt = attempt.in_doubt;
  forget_oldest(by_group_, kMost, [](const auto& one) { return one.second.at; });
  return turn;
}

std::vector<std::string> GroupAttempts::offered(const kube::Pod& member) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_group_.find(cluster::group_key(member));
  if (found == by_group_.end()) return {member.uid};
  found->second.members.insert_or_assign(member.uid, Answer::kOffered);
  return offers_of(found->second);
}

std::vector<std::string> GroupAttempts::refused(const kube::Pod& member, const GroupNeeds& needs) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_group_.find(cluster::group_key(member));
  if (found == by_group_.end()) return {};
  Attempt& attempt = found->second;
  attempt.members.insert_or_assign(member.uid, Answer::kRefused);
  // The watch may not show yet whom kube-scheduler asks about.
  std::set<std::string_view> may_run(needs.waiting.begin(), needs.waiting.end());
  for (const auto& [uid, answer] : attempt.members) may_run.insert(uid);
  for (const auto& [uid, answer] : attempt.members) {
    if (answer == Answer::kRefused) may_run.erase(uid);
  }
  if (needs.bound + may_run.size() >= static_cast<std::size_t>(needs.min_count)) return {};
  if (!attempt.failed) ++without_room_;
  attempt.failed = true;
  std::vector<std::string> withdrawn = offers_of(attempt);
  for (const std::string& uid : withdrawn) attempt.members[uid] = Answer::kNone;
  return withdrawn;
}

std::vector<std::string> GroupAttempts::bind_came(const kube::Pod& member) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_group_.find(cluster::group_key(member));
  if (found == by_group_.end() || !found->second.members.contains(member.uid)) return {};
  Attempt& attempt = found->second;
  if (!attempt.succeeded) ++succeeded_;
  attempt.succeeded = true;
  attempt.in_doubt = false;
  return offers_of(attempt);
}

std::vector<std::string> GroupAttempts::offered_in(std::string_view key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_group_.find(key);
  if (found == by_group_.end() || found->second.succeeded) return {};
  return offers_of(found->second);
}

std::vector<prometheus::MetricFamily> GroupAttempts::Collect() const {
  MetricFamilies all;
  auto attempts = MetricFamily::counter(
      "tangram_pod_group_attempts_total",
      "Attempts of kube-scheduler to place a PodGroup, by how they ended: with binds, without room "
      "for enough members, or without binds for a reason that is not known here, such as CPU.");
  attempts.add({{"result", "binds"}}, succeeded_.load());
  attempts.add({{"result", "no_room"}}, without_room_.load());
  attempts.add({{"result", "no_binds"}}, without_bind_.load());
  attempts.into(all);
  return all;
}

}  // namespace tangram::extender
