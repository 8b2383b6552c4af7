#include "node/cards/health.hpp"

#include <utility>

namespace tangram::node {
namespace {

/// A fault of the card itself: not a driver that does not answer, nor a reason that a file gives,
/// which it will give again. Earlier agents ended the reasons for faults differently.
bool is_fault(std::string_view reason) {
  return reason == kNotListed || reason == kCameBack ||
         reason.starts_with("the card reported a fault");
}

bool is_error_in(const Fault& fault, const std::set<std::uint64_t>& errors) {
  return fault.kind == Fault::Kind::kDriverError && errors.contains(fault.code);
}

}  // namespace

HealthTracker::HealthTracker(HealthRules rules, const std::vector<model::Card>& previous,
                             TimePoint now)
    : rules_(std::move(rules)) {
  for (const model::Card& card : previous) {
    State& state = cards_[card.id];
    if (!card.healthy && is_fault(card.unavailable_reason)) {
      make_unhealthy(state, kRecentFault, now);
    }
  }
}

void HealthTracker::make_unhealthy(State& state, std::string_view reason, TimePoint now) {
  state.unhealthy_until = now + rules_.unhealthy_time;
  state.reason = reason;
}

void HealthTracker::on_fault(const Fault& fault, TimePoint now) {
  if (is_error_in(fault, rules_.ignored_errors)) return;
  const bool needs_reset =
      fault.kind == Fault::Kind::kEcc || is_error_in(fault, rules_.reset_errors);
  const auto apply = [&](State& state) {
    make_unhealthy(state, kRecentFault, now);
    if (needs_reset) state.needs_reset = true;
  };
  if (!fault.card.empty()) return apply(cards_[fault.card]);
  for (auto& [id, state] : cards_) apply(state);
}

void HealthTracker::on_listed(const std::set<std::string>& cards, TimePoint now) {
  for (const std::string& id : cards) cards_.try_emplace(id);
  for (auto& [id, state] : cards_) {
    const bool listed = cards.contains(id);
    const bool reset = listed && state.needs_reset && (!answers_ || !state.listed);
    if (listed && (reset || !state.listed)) make_unhealthy(state, kCameBack, now);
    if (reset) state.needs_reset = false;
    state.listed = listed;
  }
  answers_ = true;
}

std::string_view HealthTracker::unhealthy_reason(const std::string& card, TimePoint now) const {
  if (!answers_) return kDriverNotAnswering;
  const auto found = cards_.find(card);
  if (found == cards_.end() || !found->second.listed) return kNotListed;
  const State& state = found->second;
  if (state.needs_reset) return rules_.reset_reason;
  if (state.unhealthy_until && now < *state.unhealthy_until) return state.reason;
  return {};
}

}  // namespace tangram::node
