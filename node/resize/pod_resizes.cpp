#include "node/resize/pod_resizes.hpp"

#include "model/grant.hpp"
#include "node/container/claims.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tangram::node {
namespace {

/// The revisions that a pod's containers have.
struct Revisions {
  int least = 0;  ///< in force
  int most = 0;   ///< recorded
};
/// By UID, of pods that have started.
std::map<std::string, Revisions, std::less<>> started_revisions(
    const std::vector<JournalEntry>& journal, const std::set<std::string, std::less<>>& not_set,
    const model::ResizeAnswers& before) {
  std::map<std::string, Revisions, std::less<>> started;
  for (const JournalEntry& entry : journal) {
    if (!entry.claim) continue;
    const std::string& uid = entry.claim->pod_uid;
    const auto grant = model::decode_grant(entry.claim->grant);
    const int recorded = grant ? grant->revision : 0;
    const int in_force =
        not_set.contains(entry.name) ? std::min(recorded, applied_in(before, uid)) : recorded;
    Revisions& of_pod =
        started.try_emplace(uid, Revisions{.least = in_force, .most = recorded}).first->second;
    of_pod.least = std::min(of_pod.least, in_force);
    of_pod.most = std::max(of_pod.most, recorded);
  }
  return started;
}

/// Of a pod that has not started: its containers will have the latest that was seen.
Revisions at_start(int shown, int seen_before) {
  const int latest = std::max(shown, seen_before);
  return {.least = latest, .most = latest};
}

/// What each pod has of its cards, by UID.
std::map<std::string, CardRequests, std::less<>> amounts_of(const std::vector<CardClaim>& claims) {
  std::map<std::string, CardRequests, std::less<>> amounts;
  for (const CardClaim& claim : claims) {
    CardRequests& sum = amounts[claim.pod_uid];
    for (const model::GrantedCard& card : claim.container.cards) {
      sum = sum + CardRequests{.milli = card.compute, .memory = card.memory};
    }
  }
  return amounts;
}

/// The amounts of started containers of each pod, by UID.
std::map<std::string, model::HeldAmounts, std::less<>> held_amounts(
    const std::vector<CardClaim>& claims) {
  std::map<std::string, model::HeldAmounts, std::less<>> held;
  for (const CardClaim& claim : claims) {
    if (!claim.admitted) continue;
    for (const model::GrantedCard& card : claim.container.cards) {
      held[claim.pod_uid][claim.container.container][card.uuid] = card.amounts();
    }
  }
  return held;
}

/// Does the pod's present grant say what its containers are held to, or have none of them started?
/// Then an extender that starts now knows it without this.
bool is_as_granted(const model::HeldAmounts& held, const std::optional<model::Grant>& grant) {
  if (held.empty()) return true;
  model::HeldAmounts granted;
  if (grant) {
    for (const model::ContainerGrant& container : grant->containers) {
      for (const model::GrantedCard& card : container.cards) {
        granted[container.container][card.uuid] = card.amounts();
      }
    }
  }
  return std::ranges::all_of(held, [&](const auto& container) {
    const auto found = granted.find(container.first);
    return found != granted.end() && found->second == container.second;
  });
}

CardRequests beyond(const CardRequests& requested, const CardRequests& had) {
  return {.milli = std::max(requested.milli - had.milli, MilliGpu{}),
          .memory = std::max(requested.memory - had.memory, Mebibytes{})};
}

/// Of pods that have not started there may be any number: whoever creates a pod may name its node.
void add_bounded(model::ResizeAnswers& started, const model::ResizeAnswers& not_started) {
  for (const auto& [uid, answer] : not_started) {
    if (started.size() < model::kMaxResizeAnswers) started.emplace(uid, answer);
  }
  while (started.size() > model::kMaxResizeAnswers) started.erase(std::prev(started.end()));
}

/// If the pod's revision was refused, and is not applied.
void add_refusal(model::ResizeAnswer& answer, const ResizesRefused& refused, const std::string& uid,
                 int revision) {
  const auto why = refused.find(uid);
  if (why == refused.end() || why->second.revision != revision) return;
  if (revision <= answer.applied) return;
  answer.refused = revision;
  answer.why = why->second.why;
}

}  // namespace

PodResizes pod_resizes(const PodSource& pods, const Journal& journal, const ResizesRefused& refused,
                       const std::set<std::string, std::less<>>& not_set,
                       const model::ResizeAnswers& before) {
  const auto revisions = started_revisions(journal.all(), not_set, before);
  const auto claims = claims_of_present(pods, journal);
  auto amounts = amounts_of(claims);
  auto held = held_amounts(claims);
  PodResizes now;
  model::ResizeAnswers not_started;
  std::set<std::string, std::less<>> as_granted;
  for (const LocalPodPtr& pod : pods.all()) {
    const std::string& uid = pod->pod.uid;
    const int revision = pod->grant ? pod->grant->revision : 0;
    const auto claimed = revisions.find(uid);
    const bool started = claimed != revisions.end();
    const Revisions has = started ? claimed->second : at_start(revision, applied_in(before, uid));
    const int applied = has.least;
    if (std::max(revision, has.most) == 0) continue;
    model::ResizeAnswer answer{
        .applied = applied, .refused = 0, .why = {}, .held = std::move(held[uid])};
    add_refusal(answer, refused, uid, revision);
    if (applied > 0) now.released = now.released + beyond(pod->requests, amounts[uid]);
    if (!started || is_as_granted(answer.held, pod->grant)) as_granted.insert(uid);
    (started ? now.answers : not_started).emplace(uid, std::move(answer));
  }
  add_bounded(now.answers, not_started);
  keep_to_size(now.answers, as_granted);
  return now;
}

int applied_in(const model::ResizeAnswers& answers, std::string_view pod_uid) {
  const auto found = answers.find(pod_uid);
  return found == answers.end() ? 0 : found->second.applied;
}

}  // namespace tangram::node
