#include "node/audit/memory_checker.hpp"

#include "node/audit/termination.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace tangram::node {
namespace {

using namespace std::chrono_literals;

// A program can fill a card within seconds; a look costs milliseconds.
constexpr std::chrono::milliseconds kBetweenLooks = 1s;

std::set<std::string> cards_to_check(const std::vector<CardClaim>& claims) {
  std::set<std::string> cards;
  for (const CardClaim& claim : claims) {
    if (claim.whole) continue;
    for (const model::GrantedCard& part : claim.container.cards) cards.insert(part.uuid);
  }
  return cards;
}

/// Without numbers: they change every second, and each text is an event of its own.
std::string sentence(const MemoryUse& use, bool ends) {
  if (use.limit_bytes == 0) {
    return "container " + use.container + " uses memory of card " + use.card +
           ", of which it has no share; is it privileged, or does its environment choose cards?";
  }
  const std::string advice =
      "; keep to TANGRAM_MEMORY_LIMIT_BYTES, or request more (docs/node.md, \"Memory limits from "
      "outside\")";
  if (use.container.empty()) {
    return "the pod's containers use more memory of card " + use.card +
           " than their limits together" + advice;
  }
  return "container " + use.container + " uses more memory of card " + use.card +
         " than its limit" + (ends ? ", so the agent ends its processes there" : "") + advice;
}

}  // namespace

MemoryChecker::MemoryChecker(Parts parts)
    : parts_(std::move(parts)),
      meter_(parts_.source, parts_.processes, parts_.runtime, parts_.clock) {}

void MemoryChecker::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look();
    parts_.sleeper(kBetweenLooks, stop);
  }
}

void MemoryChecker::look() {
  const std::vector<CardClaim> claims = parts_.claims();
  const std::set<std::string> cards = cards_to_check(claims);
  std::erase_if(breaches_,
                [&](const auto& one) { return !cards.contains(std::get<0>(one.first)); });
  std::set<std::string> silent = cards;
  for (const auto& [card, uses] : meter_.read(cards, claims)) {
    for (const MemoryUse& use : uses) parts_.note_use(use);
    judge(uses, card);
    silent.erase(card);
  }
  for (const std::string& card : silent) keep_unanswered(card, claims);
  publish(silent.empty());
}

void MemoryChecker::judge(const std::vector<MemoryUse>& uses, const std::string& card) {
  std::set<Key> over;
  for (const MemoryUse& use : uses) {
    if (!is_over_limit(use)) continue;
    Key key{card, use.pod_uid, use.container};
    judge(use, breaches_[key]);
    over.insert(std::move(key));
  }
  std::erase_if(breaches_, [&](const auto& one) {
    return std::get<0>(one.first) == card && !over.contains(one.first);
  });
}

/// @param breach  of this container; a new one at the first look
void MemoryChecker::judge(const MemoryUse& use, Breach& breach) {
  const bool is_new = breach.now.card.empty();
  breach.now = {use.ns, use.pod, use.container, use.card, use.used_bytes - use.limit_bytes};
  if (is_new) return;
  if (!std::exchange(breach.reported, true)) report(use);
  if (is_to_end(use)) end_processes(use, breach);
}

void MemoryChecker::keep_unanswered(const std::string& card, const std::vector<CardClaim>& claims) {
  std::set<std::string> pods;
  for (const CardClaim& claim : claims) pods.insert(claim.pod_uid);
  std::erase_if(breaches_, [&](const auto& one) {
    const auto& [of, uid, container] = one.first;
    return of == card && (!one.second.reported || !pods.contains(uid));
  });
}

void MemoryChecker::report(const MemoryUse& use) {
  const bool ends = is_to_end(use);
  const std::string why = sentence(use, ends);
  spdlog::warn("pod {}/{}: {}: {} of {} bytes", use.ns, use.pod, why, use.used_bytes,
               use.limit_bytes);
  parts_.report_event(kube::EventNote{.kind = "Pod",
                                      .ns = use.ns,
                                      .name = use.pod,
                                      .uid = use.pod_uid,
                                      .type = kube::EventNote::Type::kWarning,
                                      .reason = "MemoryOverLimit",
                                      .action = ends ? "Ending" : "Checking",
                                      .note = why});
  const std::lock_guard lock(mutex_);
  ++state_.reported;
}

bool MemoryChecker::is_to_end(const MemoryUse& use) const {
  return *parts_.terminates && use.limit_bytes > 0 && !use.processes.empty();
}

void MemoryChecker::end_processes(const MemoryUse& use, Breach& breach) {
  const std::string who = "of container " + use.container + " of pod " + use.ns + "/" + use.pod +
                          " on card " + use.card;
  for (const auto& [pid, outcome] : terminate(use, parts_.source, parts_.processes)) {
    if (!(outcome ? breach.ended : breach.not_ended).insert(pid).second) continue;
    if (outcome) {
      spdlog::warn("ended process {} {}", pid, who);
    } else {
      spdlog::error("process {} {} cannot be ended: {}", pid, who, outcome.error().message);
    }
    const std::lock_guard lock(mutex_);
    ++(outcome ? state_.ended : state_.not_ended);
  }
}

void MemoryChecker::publish(bool complete) {
  std::vector<Over> over;
  for (const auto& [key, breach] : breaches_) {
    if (breach.reported) over.push_back(breach.now);
  }
  const std::lock_guard lock(mutex_);
  state_.over = std::move(over);
  ++state_.looks;
  if (!complete) ++state_.failed;
}

MemoryChecker::State MemoryChecker::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

}  // namespace tangram::node
