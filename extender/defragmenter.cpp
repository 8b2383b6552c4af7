#include "extender/defragmenter.hpp"

#include "base/metric_family.hpp"
#include "base/sleeper.hpp"
#include "cluster/movable.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace tangram::extender {

namespace {

using cluster::Move;
using kube::EvictionOutcome;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kLook{500};

/// For the log: the API server's errors name pods anyway.
std::string text_of(const model::Allocation& pod) { return pod.pod_namespace + "/" + pod.pod_name; }

std::string pods(std::size_t count) {
  return count == 1 ? "1 pod" : std::to_string(count) + " pods";
}

}  // namespace

std::string_view to_string(MoveOutcome outcome) {
  constexpr std::array<std::string_view, kMoveOutcomes> kNames{"moved", "refused", "failed",
                                                               "stalled"};
  return kNames.at(static_cast<std::size_t>(outcome));
}

std::string_view to_string(PlanOutcome outcome) {
  constexpr std::array<std::string_view, kPlanOutcomes> kNames{"carried_out", "stopped", "none"};
  return kNames.at(static_cast<std::size_t>(outcome));
}

Defragmenter::Defragmenter(DefragmenterSettings settings, Parts parts)
    : settings_(std::move(settings)),
      parts_(std::move(parts)),
      chooser_({.api = parts_.api,
                .clock = parts_.clock,
                .ledger = parts_.ledger,
                .pods = parts_.pods,
                .promises = parts_.promises,
                .policies = parts_.policies,
                .denials = parts_.denials,
                .budgets = *parts_.budgets,
                .api_timeout = settings_.api_timeout}),
      requests_({.ns = settings_.requests_ns, .api_timeout = settings_.api_timeout},
                {.api = parts_.api, .clock = parts_.clock, .may_write = *parts_.may_write}),
      request_plans_({.clock = parts_.clock,
                      .ledger = parts_.ledger,
                      .pods = parts_.pods,
                      .chooser = chooser_,
                      .requests = requests_}),
      proof_({.ledger = parts_.ledger,
              .pods = parts_.pods,
              .promises = parts_.promises,
              .policies = parts_.policies}),
      budget_({.per_hour = settings_.moves_per_hour,
               .from_hour = settings_.from_hour,
               .until_hour = settings_.until_hour},
              parts_.clock) {}

void Defragmenter::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look();
    sleep_until_stopped(kLook, stop);
  }
}

void Defragmenter::look() {
  if (!settings_.enabled && settings_.requests_ns.empty()) return;
  if (!parts_.may_write(settings_.api_timeout)) return step_down();
  const bool kept = parts_.places.keep();
  if (!parts_.following()) {
    const bool ends = run_ && !run_->ended && has_moves_left(*run_);
    if (ends) drop("the watch of the cluster is interrupted", kAfterStop);
    return;
  }
  clear_nominations();
  chooser_.follow();
  requests_.look();
  end_request_in_time();
  const std::string why = reason_to_stop(kept);
  if (!why.empty()) return stop(why, kNextPlan);
  if (run_) return go_on();
  if (requests_.current() != nullptr) return plan_request();
  plan();
}

void Defragmenter::step_down() {
  if (run_ && !run_->ended) drop("this replica does not lead any more", kAfterStop);
  run_.reset();
  parts_.places.end_unused();  // the others end by themselves
  chooser_.forget();
  requests_.forget();
}

std::string Defragmenter::reason_to_stop(bool kept) const {
  if (!run_ || run_->ended) return "";
  if (!kept) return "a more important pod took a place that was reserved";
  const bool is_requested = run_->request == 0 || requests_.is_current(run_->request);
  return is_requested || !has_moves_left(*run_) ? "" : "it is not requested any more";
}

/// Once all has begun, what comes of it is reported.
void Defragmenter::end_request_in_time() {
  const bool is_ending = run_ && requests_.is_current(run_->request) && !has_moves_left(*run_);
  if (!requests_.is_over() || is_ending) return;
  const std::string& hindrance = requests_.hindrance();
  end_request("its time is over" + (hindrance.empty() ? "" : "; last: " + hindrance));
}

/// It is done if none of its waiting pods waits any more.
void Defragmenter::end_request(const std::string& why) {
  if (requests_.current() != nullptr && request_plans_.report()) return;
  requests_.end(cluster::MoveState::kStopped, why);
}

void Defragmenter::plan() {
  if (!settings_.enabled || parts_.clock.now() < next_plan_ || !budget_.is_time()) return;
  next_plan_ = parts_.clock.now() + kNextPlan;
  ChoiceOfMoves found = chooser_.choose({.most = std::min(kMostMoves, budget_.left()),
                                         .min_gain_percent = settings_.min_gain_percent,
                                         .waited = settings_.waited});
  if (found.choice == Choice::kMoves) return start({*std::move(found.moves)});
  if (found.choice != Choice::kNobody) count(PlanOutcome::kNone);
}

void Defragmenter::plan_request() {
  RequestPlans::Next next = request_plans_.next();
  if (next.moves) return start({*std::move(next.moves), requests_.serial()});
  if (next.helpless) count(PlanOutcome::kNone);
  if (next.idle) plan();
}

MoveObstacle Defragmenter::rehearse(const Run& run) {
  if (MoveObstacle obstacle = chooser_.arrival_obstacle(run); obstacle) return obstacle;
  for (const Move& move : run.moves) {
    (void)parts_.places.keep();  // those of others: this takes its time
    if (MoveObstacle obstacle = move_obstacle(move); obstacle) return obstacle;
    const kube::EvictionAnswer answer = parts_.relocation.rehearse(move);
    if (answer.outcome == EvictionOutcome::kEvicted) continue;
    const bool unknown = answer.outcome == EvictionOutcome::kFailed;
    if (!unknown) refused(move);
    return {.why = "pod " + text_of(*move.pod) + " would not be evicted: " + answer.message,
            .unknown = unknown};
  }
  return {};
}

MoveObstacle Defragmenter::move_obstacle(const Move& move) {
  MoveObstacle obstacle = chooser_.move_obstacle(move);
  if (!obstacle) return obstacle;
  if (!obstacle.unknown) count(MoveOutcome::kRefused);
  obstacle.why = "pod " + text_of(*move.pod) + " does not move: " + obstacle.why;
  return obstacle;
}

void Defragmenter::refused(const Move& move) {
  count(MoveOutcome::kRefused);
  chooser_.spare(move, false);
}

void Defragmenter::start(Run run) {
  const cluster::PodPtr waiting = run.wanted.next.pod;
  if (const MoveObstacle obstacle = rehearse(run); obstacle) return give_up(run, obstacle);
  if (!parts_.places.reserve(run.places)) {
    return give_up(run, {.why = "a place was taken meanwhile"});
  }
  run.ready = parts_.clock.now();
  run_ = std::move(run);
  if (!parts_.promises.evicting(*waiting, run_->node, uids_of(run_->moves),
                                RoomMaker::kDefragmenter)) {
    return stop("others make room for the pod", kNextPlan);
  }
  if (const MoveObstacle obstacle = proof_.obstacle(*run_, 0); obstacle) return stop(obstacle);
  run_->nominated = true;
  if (const MoveObstacle obstacle = nominate(*waiting, run_->node); obstacle) {
    return obstacle.unknown ? drop(obstacle.why, kAfterStop) : stop(obstacle.why, kAfterStop);
  }
  parts_.report(cluster::name_of(*waiting), "MakingRoom",
                "moving " + pods(run_->moves.size()) + " from node " + run_->node +
                    ", where this pod gets room on a card then");
  begin_next(*run_);
}

/// Nothing has begun.
void Defragmenter::give_up(const Run& run, const MoveObstacle& obstacle) {
  const kube::Pod& waiting = *run.wanted.next.pod;
  const auto level = obstacle.unknown ? spdlog::level::debug : spdlog::level::info;
  spdlog::log(level, "no pod moves for pod {}: {}", waiting.full_name(), obstacle.why);
  chooser_.put_off(waiting);
  if (run.request == 0 || obstacle.of_waiting) return;
  if (!obstacle.unknown) return end_request(obstacle.why);
  requests_.hindered(obstacle.why);
  request_plans_.pause(kNextPlan);
}

MoveObstacle Defragmenter::nominate(const kube::Pod& pod, const std::string& node) const {
  if (!parts_.may_write(settings_.api_timeout)) {
    return {.why = "this replica does not lead", .unknown = true};
  }
  const auto done =
      kube::nominate_pod(parts_.api, {.ns = pod.ns, .name = pod.name, .uid = pod.uid, .node = node},
                         settings_.api_timeout);
  if (done) return {};
  spdlog::warn("pod {} not nominated: {}", pod.full_name(), done.error().message);
  return {.why = "the waiting pod was not nominated: " + done.error().message,
          .unknown = is_unanswered(done.error())};
}

void Defragmenter::go_on() {
  if (!run_->ended) {
    parts_.promises.review(*parts_.ledger.snapshot(), parts_.pods);
    if (const MoveObstacle obstacle = reason_to_end(*run_); obstacle) stop(obstacle);
    if (!run_) return;
  }
  Run& run = *run_;
  if (run.leaving) return watch(run);
  if (run.ended) return run_.reset();
  if (run.done < run.moves.size()) return begin_next(run);
  if (parts_.pods.find(run.wanted.next.pod->uid) == nullptr) finish();
}

/// Nothing if the waiting pod needs the moves still, or all has begun and it has its node: it may
/// be faster than the last next pod.
MoveObstacle Defragmenter::reason_to_end(const Run& run) const {
  MoveObstacle obstacle = proof_.waiting_obstacle(run);
  if (!obstacle || has_moves_left(run)) return obstacle;
  return proof_.has_node(run) ? MoveObstacle() : obstacle;
}

void Defragmenter::finish() {
  count(PlanOutcome::kCarriedOut);
  spdlog::info("pod {} has room on node {} after {} moved", run_->wanted.next.pod->full_name(),
               run_->node, pods(run_->evicted));
  run_.reset();
  next_plan_ = parts_.clock.now() + kNextPlan;
}

/// What speaks against the next move at this moment. start() has read all just now.
MoveObstacle Defragmenter::next_obstacle(Run& run) {
  if (!std::exchange(run.is_read, false)) {
    if (MoveObstacle obstacle = chooser_.arrival_obstacle(run); obstacle) return obstacle;
    if (MoveObstacle obstacle = move_obstacle(run.moves[run.done]); obstacle) return obstacle;
  }
  if (MoveObstacle obstacle = proof_.obstacle(run, run.done); obstacle) return obstacle;
  return parts_.budgets() != nullptr ? MoveObstacle()
                                     : MoveObstacle{.why = "the disruption budgets are not known"};
}

void Defragmenter::begin_next(Run& run) {
  const std::string& mover = run.moves[run.done].pod->pod_uid;
  const bool stands = parts_.ledger.apply(
      [&](const model::Ledger& ledger) { return ledger.find(mover) != nullptr; });
  if (!stands) {  // it ended by itself, and its controller makes another all the same
    (void)parts_.places.evicted(mover);
    run.is_read = false;
    run.leaving = Leaving{.since = parts_.clock.now(), .gone = parts_.clock.now()};
    return;
  }
  if (run.request == 0 && (!budget_.is_time() || budget_.left() == 0)) {
    return stop("no more moves are allowed now", kNextPlan);
  }
  const MoveObstacle obstacle = next_obstacle(run);
  if (obstacle.unknown) return;  // the next look asks again
  if (obstacle) return stop(obstacle);
  if (run.request != 0 && !requests_.confirm()) {
    const bool too_long = parts_.clock.now() - run.ready >= kUnconfirmed;
    if (too_long) drop("the request was not confirmed", kNextPlan);
    return;  // the next look ends it, or asks again
  }
  if (!parts_.may_write(settings_.api_timeout)) return;  // the next look ends it
  // Before the eviction: the next pod may be made before its answer is here.
  if (!parts_.places.evicted(mover)) return stop("a place was lost", kNextPlan);
  if (const auto leaving = evict(run)) run.leaving = leaving;
}

std::optional<Defragmenter::Leaving> Defragmenter::evict(Run& run) {
  const Move& move = run.moves[run.done];
  budget_.spend();
  const kube::EvictionAnswer answer = parts_.relocation.begin(move);
  const bool stays = answer.outcome == EvictionOutcome::kRefused;
  if (stays || answer.outcome == EvictionOutcome::kGone) budget_.give_back();
  if (stays) {
    refused(move);
    parts_.places.end(move.pod->pod_uid);
    stop("pod " + text_of(*move.pod) + " was not evicted: " + answer.message, kAfterStop);
    return std::nullopt;
  }
  const Leaving leaving{.since = parts_.clock.now(),
                        .doubtful = answer.outcome == EvictionOutcome::kFailed};
  if (leaving.doubtful) {
    spdlog::warn("pod {} may not have been evicted: {}", text_of(*move.pod), answer.message);
  }
  if (answer.outcome != EvictionOutcome::kEvicted) return leaving;
  count_evicted(run);
  spdlog::info("pod {} moves from node {} to {}, so that pod {} fits", text_of(*move.pod), run.node,
               move.next.node, run.wanted.next.pod->full_name());
  // The waiting pod may be another tenant's: its UID says enough to who may see it.
  parts_.report(cluster::name_of(*move.pod), "Moved",
                "evicted to make room for pod " + run.wanted.next.pod->uid +
                    "; room for the next pod of its controller is reserved on node " +
                    move.next.node);
  return leaving;
}

void Defragmenter::count_evicted(Run& run) {
  ++run.evicted;
  requests_.evicted(run.request);
}

void Defragmenter::watch(Run& run) {
  if (look_at_leaving(run)) return;
  const Move& move = run.moves[run.done];
  const TimePoint time = parts_.clock.now();
  const bool is_bound = parts_.places.is_bound(move.pod->pod_uid);
  if (run.leaving->gone) {
    const bool late = time - *run.leaving->gone >= kElsewhere;
    const MovePlace& place = run.places[run.done];
    const bool waits = cluster::has_waiting_pod(place.controller, place.ns, parts_.pods);
    if (is_bound || (late && !waits)) return moved(run);
  }
  if (is_bound || time - run.leaving->since < MovePlaces::kUntilTaken) return;
  count(MoveOutcome::kStalled);
  run.leaving.reset();
  if (!run.ended) {
    stop("the next pod of pod " + text_of(*move.pod) + " has no node in time", kAfterStop);
  }
}

/// @returns true if the pod was not evicted after all: there is nothing to watch
bool Defragmenter::look_at_leaving(Run& run) {
  const Move& move = run.moves[run.done];
  const TimePoint time = parts_.clock.now();
  bool leaves = false;
  const bool stands = parts_.ledger.apply([&](const model::Ledger& ledger) {
    const auto* entry = ledger.find(move.pod->pod_uid);
    leaves = entry == nullptr || entry->allocation->terminating;
    return entry != nullptr;
  });
  if (!stands && !run.leaving->gone) run.leaving->gone = time;
  if (!run.leaving->doubtful) return false;
  if (leaves) {
    run.leaving->doubtful = false;
    count_evicted(run);
    return false;
  }
  if (time - run.leaving->since < kUntilKnown) return false;
  count(MoveOutcome::kFailed);
  chooser_.spare(move, false);
  parts_.places.end(move.pod->pod_uid);
  run.leaving.reset();
  if (!run.ended) stop("pod " + text_of(*move.pod) + " was not evicted", kAfterStop);
  return true;
}

void Defragmenter::moved(Run& run) {
  count(MoveOutcome::kMoved);
  parts_.places.end(run.moves[run.done].pod->pod_uid);
  run.leaving.reset();
  run.ready = parts_.clock.now();
  ++run.done;
}

void Defragmenter::stop(const std::string& why, seconds pause) {
  if (requests_.is_current(run_->request)) end_request(why);
  drop(why, pause);
}

void Defragmenter::stop(const MoveObstacle& obstacle) {
  return obstacle.of_waiting ? drop(obstacle.why, kNextPlan) : stop(obstacle.why, kNextPlan);
}

void Defragmenter::drop(const std::string& why, seconds pause) {
  run_->ended = true;
  const kube::Pod& pod = *run_->wanted.next.pod;
  spdlog::info("no more pods move for pod {}, after {}: {}", pod.full_name(), pods(run_->evicted),
               why);
  count(PlanOutcome::kStopped);
  next_plan_ = parts_.clock.now() + pause;
  request_plans_.pause(pause);
  parts_.places.end_unused();
  const bool was_ours = parts_.promises.withdraw(pod.uid, RoomMaker::kDefragmenter);
  const bool is_of_others = !was_ours && parts_.promises.made_to(pod.uid);
  if (run_->nominated && !is_of_others) in_vain_.insert_or_assign(pod.uid, run_->node);
  chooser_.put_off(pod);
  if (!run_->leaving) run_.reset();
  clear_nominations();
}

/// A pod counts on its node as long as the nomination stands, and others do not get that room. The
/// watch may not have shown it yet.
void Defragmenter::clear_nominations() {
  std::erase_if(in_vain_, [&](const auto& one) {
    const auto& [uid, node] = one;
    const cluster::PodPtr pod = parts_.pods.find(uid);
    if (pod == nullptr || parts_.promises.made_to(uid)) return true;
    const bool is_ours = pod->nominated_node.empty() || pod->nominated_node == node;
    return !is_ours || !nominate(*pod, "");
  });
}

std::vector<prometheus::MetricFamily> Defragmenter::Collect() const {
  MetricFamilies all;
  auto moves = MetricFamily::counter(
      "tangram_moves_total", "Pods that were to move so that a waiting pod fits, by result.");
  for (std::size_t i = 0; i < kMoveOutcomes; ++i) {
    moves.add({{"result", std::string(to_string(static_cast<MoveOutcome>(i)))}},
              moves_.at(i).load());
  }
  moves.into(all);
  auto plans = MetricFamily::counter("tangram_move_plans_total",
                                     "Plans of moves for a waiting pod, by result.");
  for (std::size_t i = 0; i < kPlanOutcomes; ++i) {
    plans.add({{"result", std::string(to_string(static_cast<PlanOutcome>(i)))}},
              plans_.at(i).load());
  }
  plans.into(all);
  return all;
}

}  // namespace tangram::extender
