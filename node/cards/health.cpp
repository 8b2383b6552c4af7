#include "node/cards/health.hpp"

#include <algorithm>

namespace tangram::node {

namespace {

/// Of the card itself; a silent driver is none, and what a file says it will say again.
bool is_fault(std::string_view reason) {
  return reason == kNotListed || reason == kNeedsReset || reason == kRecentFault ||
         reason == kCameBack;
}

}  // namespace

HealthTracker::HealthTracker(HealthRules rules, const std::vector<model::Card>& previous,
                             TimePoint now)
    : rules_(std::move(rules)) {
  for (const model::Card& card : previous) {
    State& state = cards_[card.id];
    if (!card.healthy && is_fault(card.unavailable_reason)) hold(state, kRecentFault, now);
  }
}

void HealthTracker::hold(State& state, std::string_view reason, TimePoint now) {
  state.held_until = now + rules_.hold;
  state.held_for = reason;
}

void HealthTracker::on_fault(const Fault& fault, TimePoint now) {
  if (fault.kind == Fault::Kind::kXid && rules_.ignored_xids.count(fault.code) != 0) return;
  if (!fault.card.empty()) return on_fault_of(cards_[fault.card], fault, now);
  for (auto& [id, state] : cards_) on_fault_of(state, fault, now);
}

void HealthTracker::on_fault_of(State& state, const Fault& fault, TimePoint now) {
  hold(state, kRecentFault, now);
  const bool asks_for_reset =
      fault.kind == Fault::Kind::kEcc ||
      (fault.kind == Fault::Kind::kXid && rules_.reset_xids.count(fault.code) != 0);
  if (asks_for_reset) state.needs_reset = true;
}

void HealthTracker::on_listed(const std::set<std::string>& cards, TimePoint now) {
  for (const std::string& id : cards) cards_.try_emplace(id);
  for (auto& [id, state] : cards_) {
    const bool listed = cards.count(id) != 0;
    const bool reset = listed && state.needs_reset && (!answers_ || !state.listed);
    if (listed && (reset || !state.listed)) hold(state, kCameBack, now);
    if (reset) state.needs_reset = false;
    state.listed = listed;
  }
  answers_ = true;
}

void HealthTracker::on_silence() { answers_ = false; }

std::string_view HealthTracker::trouble(const std::string& card, TimePoint now) const {
  if (!answers_) return kDriverSilent;
  const auto found = cards_.find(card);
  if (found == cards_.end() || !found->second.listed) return kNotListed;
  const State& state = found->second;
  if (state.needs_reset) return kNeedsReset;
  if (state.held_until && now < *state.held_until) return state.held_for;
  return {};
}

}  // namespace tangram::node
