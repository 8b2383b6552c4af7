#include "extender/request_plans.hpp"

#include <algorithm>

namespace tangram::extender {

using cluster::MoveState;

RequestPlans::Next RequestPlans::next() {
  if (report() || parts_.clock.now() < known_.next_plan) return {};
  const cluster::MoveRequest& request = *parts_.requests.current();
  ChoiceOfMoves found = parts_.chooser.choose(
      {.most = request.movers.size(), .request = &request, .left_out = known_.helpless});
  if (found.choice == Choice::kMoves) {
    start_over();
    known_.pause = kNextPlan;
    return {.moves = std::move(found.moves)};
  }
  const bool is_cheap = found.choice == Choice::kNobody;
  known_.next_plan = parts_.clock.now() + (is_cheap ? kNextPlan : known_.pause);
  if (!is_cheap) known_.pause = std::min(2 * known_.pause, kMostNextPlan);
  const bool is_round_over = is_cheap && !known_.helpless.empty();
  const bool none_helps = found.choice == Choice::kNone || is_round_over;
  if (none_helps && !is_any_leaving(request)) return {.helpless = found_none(found)};
  start_over();
  return {.idle = is_cheap};
}

void RequestPlans::notice_new_request() {
  if (parts_.requests.serial() == known_.serial) return;
  known_ = {.serial = parts_.requests.serial()};
  parts_.chooser.forget_obstacles();  // people may have seen to them
}

void RequestPlans::start_over() {
  known_.helpless.clear();
  known_.helpless_since.reset();
  known_.all_tried = false;
  known_.cut_short = false;
}

/// The request ends after kHelpless, once all its waiting pods were tried.
bool RequestPlans::found_none(const ChoiceOfMoves& found) {
  const TimePoint time = parts_.clock.now();
  if (found.choice == Choice::kNobody) {
    known_.all_tried = true;
    known_.helpless.clear();
  }
  known_.helpless.insert(found.tried.begin(), found.tried.end());
  known_.cut_short = known_.cut_short || found.cut_short;
  if (!known_.helpless_since) known_.helpless_since = time;
  if (!known_.all_tried || time - *known_.helpless_since < kHelpless) return false;
  parts_.requests.end(MoveState::kStopped,
                      known_.cut_short ? "no plan was found in time"
                                       : "the cluster has changed: these moves do not help the "
                                         "waiting pods any more");
  return true;
}

bool RequestPlans::report() {
  notice_new_request();
  const cluster::MoveRequest& request = *parts_.requests.current();
  bool waits = false;
  parts_.ledger.apply([&](const model::Ledger& ledger) {
    for (const std::string& uid : request.waiting) {
      const auto* entry = ledger.find(uid);
      const bool is_bound = entry != nullptr && entry->phase == model::Phase::kConfirmed;
      if (is_bound) known_.placed.insert(uid);
      waits = waits || (!is_bound && (entry != nullptr || parts_.pods.find(uid) != nullptr));
    }
  });
  RequestedMoves& requests = parts_.requests;
  requests.placed(known_.placed.size());
  if (waits) return false;
  const std::size_t all = request.waiting.size();
  const std::size_t gone = all - std::min(requests.placed(), all);
  if (gone == 0) {
    requests.end(MoveState::kDone, "");
  } else {
    requests.end(MoveState::kStopped, std::to_string(gone) + " of the waiting pods no longer " +
                                          (gone == 1 ? "exists" : "exist"));
  }
  return true;
}

bool RequestPlans::is_any_leaving(const cluster::MoveRequest& request) const {
  return parts_.ledger.apply([&](const model::Ledger& ledger) {
    return std::ranges::any_of(request.movers, [&](const std::string& uid) {
      const auto* entry = ledger.find(uid);
      return entry != nullptr && entry->allocation->terminating;
    });
  });
}

void RequestPlans::pause(std::chrono::seconds time) {
  known_.next_plan = parts_.clock.now() + std::min(time, kMostNextPlan);
}

}  // namespace tangram::extender
