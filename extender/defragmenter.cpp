#include "extender/defragmenter.hpp"

#include "base/metric_family.hpp"
#include "base/sleeper.hpp"
#include "cluster/movable.hpp"
#include "cluster/pod_groups.hpp"
#include "cluster/victims.hpp"
#include "extender/scheduling/pod_view.hpp"
#include "model/placement.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

namespace tangram::extender {

namespace {

using cluster::Move;
using kube::EvictionOutcome;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kLook{500};
constexpr int kHoursOfDay = 24;

cluster::PodName name_of(const model::Allocation& pod) {
  return {.uid = pod.pod_uid, .ns = pod.pod_namespace, .name = pod.pod_name};
}
cluster::PodName name_of(const kube::Pod& pod) {
  return {.uid = pod.uid, .ns = pod.ns, .name = pod.name};
}
/// For the log: the API server's errors name pods anyway.
std::string text_of(const model::Allocation& pod) { return pod.pod_namespace + "/" + pod.pod_name; }

std::string pods(std::size_t count) {
  return count == 1 ? "1 pod" : std::to_string(count) + " pods";
}

std::vector<std::string> uids_of(const std::vector<Move>& moves) {
  std::vector<std::string> uids;
  uids.reserve(moves.size());
  for (const Move& move : moves) uids.push_back(move.pod->pod_uid);
  return uids;
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
                {.api = parts_.api, .clock = parts_.clock, .may_write = *parts_.may_write}) {}

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
    const bool stops = run_ && !run_->ended && has_moves_left(*run_);
    if (stops) stop("the watch of the cluster is interrupted", kAfterStop);
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
  if (run_ && !run_->ended) stop("this replica does not lead any more", kAfterStop);
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
  if (requests_.is_over() && !is_ending) {
    requests_.end(cluster::MoveState::kStopped, "its time is over");
  }
}

bool Defragmenter::is_time() const {
  const auto since_midnight = parts_.clock.wall().time_since_epoch() % hours(kHoursOfDay);
  const auto hour = std::chrono::duration_cast<hours>(since_midnight).count();
  const bool from = hour >= settings_.from_hour;
  const bool until = hour < settings_.until_hour;
  return settings_.until_hour < settings_.from_hour ? from || until : from && until;
}

void Defragmenter::forget_old_evictions() {
  const TimePoint time = parts_.clock.now();
  std::erase_if(evictions_, [&](TimePoint at) { return time - at >= hours(1); });
}

std::size_t Defragmenter::moves_allowed() {
  forget_old_evictions();
  const auto most = static_cast<std::size_t>(settings_.moves_per_hour);
  return most - std::min(most, evictions_.size());
}

void Defragmenter::plan() {
  if (!settings_.enabled || parts_.clock.now() < next_plan_ || !is_time()) return;
  next_plan_ = parts_.clock.now() + kNextPlan;
  ChoiceOfMoves found = chooser_.choose({.most = std::min(kMostMoves, moves_allowed()),
                                         .min_gain_percent = settings_.min_gain_percent,
                                         .waited = settings_.waited});
  if (found.choice == Choice::kMoves) return start({*std::move(found.moves)});
  if (found.choice != Choice::kNobody) count(PlanOutcome::kNone);
}

void Defragmenter::plan_request() {
  const cluster::MoveRequest& request = *requests_.current();
  const TimePoint time = parts_.clock.now();
  if (requests_.serial() != requested_.serial) {
    requested_ = {.serial = requests_.serial()};
    chooser_.forget_obstacles();  // people may have seen to them
  }
  if (report_placed(request) || time < requested_.next_plan) return;
  ChoiceOfMoves found = chooser_.choose(
      {.most = request.movers.size(), .request = &request, .left_out = requested_.helpless});
  if (found.choice == Choice::kMoves) {
    requested_.helpless_since.reset();
    requested_.pause = kNextRequestPlan;
    return start({*std::move(found.moves), requested_.serial});
  }
  const bool is_cheap = found.choice == Choice::kNobody;
  requested_.next_plan = time + (is_cheap ? kNextRequestPlan : requested_.pause);
  if (!is_cheap) requested_.pause = std::min(2 * requested_.pause, kMostNextRequestPlan);
  found_none(request, std::move(found));
}

/// A request without moves that help ends after kHelpless, once all its waiting pods were tried.
void Defragmenter::found_none(const cluster::MoveRequest& request, ChoiceOfMoves found) {
  Requested& its = requested_;
  const TimePoint time = parts_.clock.now();
  const bool is_round_over = found.choice == Choice::kNobody && !its.helpless.empty();
  const bool none_helps = found.choice == Choice::kNone || is_round_over;
  if (!none_helps || is_any_leaving(request)) {
    its.helpless.clear();
    its.helpless_since.reset();
    its.all_tried = false;
    if (found.choice == Choice::kNobody) plan();
    return;
  }
  if (is_round_over) its.helpless.clear();
  for (std::string& uid : found.tried) its.helpless.insert(std::move(uid));
  its.all_tried = its.all_tried || is_round_over;
  its.cut_short = its.cut_short || found.cut_short;
  if (!its.helpless_since) its.helpless_since = time;
  if (!its.all_tried || time - *its.helpless_since < kHelpless) return;
  count(PlanOutcome::kNone);
  requests_.end(cluster::MoveState::kStopped,
                its.cut_short ? "no plan was found in time"
                              : "the cluster has changed: these moves do not help the waiting "
                                "pods any more");
}

/// @returns whether that ends the request: none of its pods waits any more
bool Defragmenter::report_placed(const cluster::MoveRequest& request) {
  std::size_t waiting = 0;
  parts_.ledger.apply([&](const model::Ledger& ledger) {
    for (const std::string& uid : request.waiting) {
      const auto* entry = ledger.find(uid);
      if (entry != nullptr && entry->phase == model::Phase::kConfirmed) {
        requested_.placed.insert(uid);
      } else if (entry != nullptr || parts_.pods.find(uid) != nullptr) {
        ++waiting;
      }
    }
  });
  requests_.placed(requested_.placed.size());
  if (waiting > 0) return false;
  const std::size_t gone =
      request.waiting.size() - std::min(requests_.placed(), request.waiting.size());
  if (gone == 0) {
    requests_.end(cluster::MoveState::kDone, "");
  } else {
    requests_.end(cluster::MoveState::kStopped, std::to_string(gone) +
                                                    " of the waiting pods no longer " +
                                                    (gone == 1 ? "exists" : "exist"));
  }
  return true;
}

bool Defragmenter::is_any_leaving(const cluster::MoveRequest& request) const {
  return parts_.ledger.apply([&](const model::Ledger& ledger) {
    return std::ranges::any_of(request.movers, [&](const std::string& uid) {
      const auto* entry = ledger.find(uid);
      return entry != nullptr && entry->allocation->terminating;
    });
  });
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
  if (is_offered(*run_)) return drop("another node takes the waiting pod", kNextPlan);
  if (!holds(*run_)) return stop("the cluster has changed meanwhile", kNextPlan);
  run_->nominated = true;
  if (const MoveObstacle obstacle = nominate(*waiting, run_->node); obstacle) {
    return obstacle.unknown ? drop(obstacle.why, kAfterStop) : stop(obstacle.why, kAfterStop);
  }
  parts_.report(name_of(*waiting), "MakingRoom",
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
  if (run.request != 0 && !obstacle.unknown && !obstacle.of_waiting) {
    requests_.end(cluster::MoveState::kStopped, obstacle.why);
  }
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
  MoveObstacle obstacle = waiting_obstacle(run);
  if (!obstacle || has_moves_left(run)) return obstacle;
  const std::string& uid = run.wanted.next.pod->uid;
  const bool has_node = parts_.ledger.apply([&](const model::Ledger& ledger) {
    const auto* entry = ledger.find(uid);
    return entry != nullptr && entry->phase != model::Phase::kReserved &&
           entry->allocation->node == run.node;
  });
  return has_node ? MoveObstacle() : obstacle;
}

/// Why the pod does not wait as it was planned.
MoveObstacle Defragmenter::waiting_obstacle(const Run& run) const {
  const kube::Pod& planned = *run.wanted.next.pod;
  const cluster::PodPtr pod = parts_.pods.find(planned.uid);
  if (pod == nullptr || pod->deleting) {
    return {.why = "the waiting pod does not wait any more", .of_waiting = true};
  }
  // A promise ends some time after the last pod has left, if the waiting pod does not take the
  // room.
  if (parts_.promises.maker(planned.uid) != RoomMaker::kDefragmenter) {
    return {.why = "the room was not taken in time, or others make room for the waiting pod"};
  }
  const auto plan = parts_.policies.plan(*pod);
  const bool same = !pod->gated && plan && plan->demand == run.wanted.next.plan.demand;
  return same ? MoveObstacle() : MoveObstacle{.why = "the waiting pod requests something else"};
}

void Defragmenter::finish() {
  count(PlanOutcome::kCarriedOut);
  spdlog::info("pod {} has room on node {} after {} moved", run_->wanted.next.pod->full_name(),
               run_->node, pods(run_->evicted));
  run_.reset();
  next_plan_ = parts_.clock.now() + kNextPlan;
}

bool Defragmenter::is_offered(const Run& run) const {
  return parts_.ledger.apply([&](model::Ledger& ledger) {
    ledger.expire_reservations();
    return ledger.find(run.wanted.next.pod->uid) != nullptr;
  });
}

/// Do the pods that are still to move stand as they did, and does the waiting pod fit once they are
/// gone? That their next pods have places is reserved.
bool Defragmenter::holds(const Run& run) const {
  const cluster::ClusterPtr cluster = parts_.ledger.snapshot();
  const kube::Pod& waiting = *run.wanted.next.pod;
  const Nominations nominations{parts_.pods, parts_.promises};
  const auto nominated = nominated_above(nominations, waiting.uid, std::numeric_limits<int>::min());
  PodView view(*cluster);
  fit_to_pod(view, waiting, "", nominations, parts_.policies);
  const model::NodeState* node = view.find(run.node);
  if (node == nullptr || !node->inventory->draining.empty()) return false;
  for (std::size_t i = run.done; i < run.moves.size(); ++i) {
    const model::Allocation& planned = *run.moves[i].pod;
    const auto standing = std::ranges::find_if(
        node->allocations, [&](const auto& each) { return each->pod_uid == planned.pod_uid; });
    // One that ended by itself has left its room, too.
    if (standing != node->allocations.end() && **standing != planned) return false;
    const MovePlace& place = run.places[i];
    const model::NodeState* to = cluster->find(place.room.node);
    const bool others_wait = place.room.node != run.node && nominated.contains(place.room.node);
    if (to == nullptr || others_wait || !to->inventory->draining.empty()) return false;
    const model::NodeState without = model::without_pods(*to, {place.room.pod_uid});
    if (!cluster::fits_in_tree(place.demand, without)) return false;
  }
  const cluster::PodPlan& plan = run.wanted.next.plan;
  const model::NodeState left = without_leaving(*node, uids_of(run.moves));
  return cluster::fits_in_tree(plan.demand, left) &&
         plan.policy->choose(plan.demand, left).has_value();
}

/// What speaks against the next move at this moment. start() has read all just now.
MoveObstacle Defragmenter::next_obstacle(Run& run) {
  if (!std::exchange(run.is_read, false)) {
    if (MoveObstacle obstacle = chooser_.arrival_obstacle(run); obstacle) return obstacle;
    if (MoveObstacle obstacle = move_obstacle(run.moves[run.done]); obstacle) return obstacle;
  }
  if (MoveObstacle obstacle = waiting_obstacle(run); obstacle) return obstacle;
  if (is_offered(run)) return {.why = "another node takes the waiting pod", .of_waiting = true};
  if (parts_.budgets() != nullptr && holds(run)) return {};
  return {.why = "the cluster is not as it was planned any more"};
}

void Defragmenter::begin_next(Run& run) {
  const std::string& mover = run.moves[run.done].pod->pod_uid;
  const bool stands = parts_.ledger.apply(
      [&](const model::Ledger& ledger) { return ledger.find(mover) != nullptr; });
  if (!stands) {  // it ended by itself, and its controller makes another all the same
    (void)parts_.places.evicted(mover);
    run.leaving = Leaving{.since = parts_.clock.now(), .gone = parts_.clock.now()};
    return;
  }
  if (run.request == 0 && (!is_time() || moves_allowed() == 0)) {
    return stop("no more moves are allowed now", kNextPlan);
  }
  const MoveObstacle obstacle = next_obstacle(run);
  if (obstacle.unknown) return;  // the next look asks again
  if (obstacle) return stop(obstacle);
  if (run.request != 0 && !requests_.confirm()) {
    const bool too_long = parts_.clock.now() - run.ready >= kUnconfirmed;
    if (too_long) drop("the request cannot be read", kNextPlan);
    return;  // the next look ends it, or asks again
  }
  if (!parts_.may_write(settings_.api_timeout)) return;  // the next look ends it
  // Before the eviction: the next pod may be made before its answer is here.
  if (!parts_.places.evicted(mover)) return stop("a place was lost", kNextPlan);
  if (const auto leaving = evict(run)) run.leaving = leaving;
}

std::optional<Defragmenter::Leaving> Defragmenter::evict(Run& run) {
  const Move& move = run.moves[run.done];
  forget_old_evictions();
  evictions_.push_back(parts_.clock.now());
  const kube::EvictionAnswer answer = parts_.relocation.begin(move);
  const bool stays = answer.outcome == EvictionOutcome::kRefused;
  if (stays || answer.outcome == EvictionOutcome::kGone) evictions_.pop_back();
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
  parts_.report(name_of(*move.pod), "Moved",
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
  if (requests_.is_current(run_->request)) requests_.end(cluster::MoveState::kStopped, why);
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
  requested_.next_plan = parts_.clock.now() + std::min(pause, kMostNextRequestPlan);
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
