#include "node/vendor/nvidia/time_slice_enforcer.hpp"

#include "node/vendor/nvidia/mig.hpp"

#include <spdlog/spdlog.h>

namespace tangram::node::nvidia {

namespace {

using namespace std::chrono_literals;

/// nvidia-smi takes about a second, and longer if many cards wake up first.
constexpr auto kProgramLimit = 15s;

/// After a driver restart cards have slices of the default length for up to this time.
constexpr auto kRenew = 10min;

}  // namespace

TimeSliceEnforcer::TimeSliceEnforcer(CardSource& source, Programs& programs, const Clock& clock,
                                     TimeSlice length)
    : source_(source), programs_(programs), clock_(clock), length_(length) {}

std::shared_ptr<TimeSliceEnforcer::State> TimeSliceEnforcer::state_of(const std::string& card) {
  const std::lock_guard lock(mutex_);
  auto& state = states_[card];
  if (!state) state = std::make_shared<State>();
  return state;
}

Result<void> TimeSliceEnforcer::prepare(const std::string& card, const CardSharers&) {
  if (is_mig(card)) return {};
  const auto state = state_of(card);
  const std::lock_guard lock(state->mutex);
  if (state->set) return {};
  return apply(card, *state);
}

Result<void> TimeSliceEnforcer::apply(const std::string& card, State& state) {
  // After MPS the card may still admit only one process. A source without the setting has no MPS.
  auto shared = source_.set_exclusive_process(card, false);
  if (!shared && shared.error().code != Errc::kInvalidArgument) return shared;
  // The default length needs no setting, and no nvidia-smi.
  if (length_ != TimeSlice::kDefault) {
    if (auto set = set_length(card, length_); !set) return set;
  }
  state.set = true;
  state.since = clock_.now();
  return {};
}

Result<void> TimeSliceEnforcer::set_length(const std::string& card, TimeSlice length) {
  const Command command{{"nvidia-smi", "compute-policy", "-i", card, "--set-timeslice",
                         std::to_string(static_cast<int>(length))},
                        {},
                        {}};
  return run_to_success(programs_, command, kProgramLimit,
                        "the time slice of card " + card + " cannot be set");
}

Result<ContainerEdits> TimeSliceEnforcer::edits(std::string_view,
                                                const std::vector<model::GrantedCard>&) const {
  return ContainerEdits{};
}

void TimeSliceEnforcer::keep(const CardsInMode& cards) {
  std::map<std::string, std::shared_ptr<State>> others;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& one : states_) {
      if (cards.count(one.first) == 0) others.insert(one);
    }
    for (const auto& one : others) states_.erase(one.first);
  }
  for (const auto& [card, sharers] : cards) {
    if (!is_mig(card)) state_of(card);
  }
  for (const auto& [card, state] : others) reset(card, *state);
}

Result<void> TimeSliceEnforcer::release(const std::string& card) {
  std::shared_ptr<State> state;
  {
    const std::lock_guard lock(mutex_);
    const auto found = states_.find(card);
    if (found == states_.end()) return {};
    state = found->second;
    states_.erase(found);
  }
  reset(card, *state);
  return {};
}

/// A failure does no harm: a card with one process has no turns.
void TimeSliceEnforcer::reset(const std::string& card, State& state) {
  const std::lock_guard lock(state.mutex);
  if (!state.set || length_ == TimeSlice::kDefault) return;
  if (auto back = set_length(card, TimeSlice::kDefault); !back) {
    spdlog::warn("card {} keeps its time slice: {}", card, back.error().message);
  }
}

void TimeSliceEnforcer::maintain() {
  std::map<std::string, std::shared_ptr<State>> states;
  {
    const std::lock_guard lock(mutex_);
    states = states_;
  }
  for (const auto& [card, state] : states) {
    const std::lock_guard lock(state->mutex);
    if (state->set && clock_.now() - state->since < kRenew) continue;
    if (auto done = apply(card, *state); !done) {
      state->set = false;
      spdlog::warn("card {}: {}", card, done.error().message);
    }
  }
}

Enforcement TimeSliceEnforcer::enforcement(const model::GrantedCard&) const {
  return {Holder::kNobody, Holder::kNobody,
          "isolation time-slice: the pods on this card take turns of equal length; memory limits "
          "are not enforced"};
}

}  // namespace tangram::node::nvidia
