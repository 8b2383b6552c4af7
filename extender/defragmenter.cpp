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
constexpr std::int64_t kPercent = 100;

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
      movable_({.api = parts_.api,
                .clock = parts_.clock,
                .policies = parts_.policies,
                .pods = parts_.pods,
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
  follow();
  requests_.look();
  const std::string why = reason_to_stop(kept);
  if (!why.empty()) return stop(why, kNextPlan);
  if (run_) return go_on();
  if (requests_.current() != nullptr) return plan_request();
  if (settings_.enabled && parts_.clock.now() >= next_plan_ && is_time()) plan();
}

void Defragmenter::step_down() {
  if (run_ && !run_->ended) stop("this replica does not lead any more", kAfterStop);
  run_.reset();
  parts_.places.end_unused();  // the others end by themselves
  waiting_.clear();
  requests_.forget();
}

std::string Defragmenter::reason_to_stop(bool kept) const {
  if (!run_ || run_->ended) return "";
  if (!kept) return "a more important pod took a place that was reserved";
  const bool is_requested = run_->request.empty() || requests_.is_current(run_->request);
  return is_requested ? "" : "it is not requested any more";
}

/// Since when pods wait: an answer that says "later" does not begin that anew.
void Defragmenter::follow() {
  for (const DenialPtr& denial : parts_.denials.all()) {
    waiting_.try_emplace(denial->pod->uid, Waiting{.since = parts_.clock.now()});
  }
  std::erase_if(waiting_, [&](const auto& one) { return parts_.pods.find(one.first) == nullptr; });
}

bool Defragmenter::is_time() const {
  const auto since_midnight = parts_.clock.wall().time_since_epoch() % hours(kHoursOfDay);
  const auto hour = std::chrono::duration_cast<hours>(since_midnight).count();
  const bool from = hour >= settings_.from_hour;
  const bool until = hour < settings_.until_hour;
  return settings_.until_hour < settings_.from_hour ? from || until : from && until;
}

std::size_t Defragmenter::moves_allowed() {
  const TimePoint time = parts_.clock.now();
  std::erase_if(evictions_, [&](TimePoint at) { return time - at >= hours(1); });
  const auto most = static_cast<std::size_t>(settings_.moves_per_hour);
  return most - std::min(most, evictions_.size());
}

/// Of one priority: pods of a higher one than the waiting pod's do not move.
std::vector<DenialPtr> Defragmenter::due(const cluster::MoveRequest* request) const {
  std::vector<DenialPtr> denials = parts_.denials.all();
  std::erase_if(denials, [&](const DenialPtr& denial) {
    const bool is_due = request != nullptr
                            ? std::ranges::count(request->waiting, denial->pod->uid) > 0
                            : has_waited(*denial);
    return !is_due || !may_wait_for_moves(*denial);
  });
  std::ranges::sort(denials, {}, [&](const DenialPtr& denial) {
    const std::string& uid = denial->pod->uid;
    return std::tuple(-std::int64_t{denial->pod->priority}, waiting_.find(uid)->second.since, uid);
  });
  std::erase_if(denials, [&, first = denials.empty() ? 0 : denials.front()->pod->priority](
                             const DenialPtr& each) { return each->pod->priority != first; });
  if (denials.size() > kMostWanted) denials.resize(kMostWanted);
  return denials;
}

bool Defragmenter::has_waited(const Denial& denial) const {
  const auto found = waiting_.find(denial.pod->uid);
  const TimePoint time = parts_.clock.now();
  return found != waiting_.end() && time - found->second.since >= settings_.waited &&
         time >= found->second.next_try;
}

bool Defragmenter::may_wait_for_moves(const Denial& denial) const {
  const cluster::PodPtr pod = parts_.pods.find(denial.pod->uid);
  if (pod == nullptr || !waiting_.contains(pod->uid)) return false;
  const bool will_be_asked_again = denial.for_now || !denial.in_doubt.empty();
  const bool gets_room = !pod->nominated_node.empty() || parts_.promises.made_to(pod->uid);
  return !will_be_asked_again && !gets_room && !pod->gated && !pod->deleting && !pod->binds_late &&
         !cluster::is_in_pod_group(*pod);
}

std::optional<Defragmenter::Moment> Defragmenter::moment(const std::vector<DenialPtr>& due) {
  const auto budgets = due.empty() ? nullptr : parts_.budgets();
  if (budgets == nullptr) return std::nullopt;
  Moment now{
      .cluster = {}, .in_doubt = {}, .budgets = {}, .closed = {}, .wanted = {}, .denials = {}};
  for (const DenialPtr& denial : due) {
    auto plan = parts_.policies.plan(*denial->pod);
    if (!plan || !plan->demand.gpu.asks_gpu()) {
      put_off(*denial->pod, seconds(0));
      continue;
    }
    now.wanted.push_back({.next = {.pod = denial->pod, .plan = *std::move(plan)}});
    now.denials.emplace(denial->pod->uid, denial);
  }
  if (now.wanted.empty()) return std::nullopt;
  if (const auto read = movable_.begin(); !read) {
    spdlog::warn("no moves are planned for now: {}", read.error().message);
    return std::nullopt;
  }
  now.budgets = cluster::as_evictions_see_them(*budgets);
  now.cluster = parts_.ledger.apply([&](model::Ledger& ledger) {
    ledger.expire_reservations();
    now.in_doubt = ledger.in_doubt();
    return ledger.snapshot();
  });
  parts_.promises.review(*now.cluster, parts_.pods);
  for (const Nomination& one : parts_.promises.nominated()) now.closed.insert(one.node);
  for (const cluster::PodPtr& pod : parts_.pods.nominated()) now.closed.insert(pod->nominated_node);
  const auto is_over = [&](const auto& one) { return one.second <= parts_.clock.now(); };
  std::erase_if(spared_, is_over);
  std::erase_if(closed_, is_over);
  for (const auto& [node, until] : closed_) now.closed.insert(node);
  return now;
}

void Defragmenter::plan() {
  next_plan_ = parts_.clock.now() + kNextPlan;
  const std::size_t moves = std::min(kMostMoves, moves_allowed());
  const auto now = moves == 0 ? std::nullopt : moment(due(nullptr));
  if (!now) return;
  cluster::MovePlan found = plan_from(*now, moves);
  const bool has_arrival = !found.arrivals.empty();
  const std::size_t first = has_arrival ? found.arrivals.front().wanted : 0;
  if (auto run = worth_it(*now, std::move(found), settings_.min_gain_percent)) {
    return start_if_fresh(*now, *std::move(run));
  }
  count(PlanOutcome::kNone);
  if (has_arrival) return put_off(*now->wanted[first].next.pod, seconds(0));
  for (const cluster::WantedPod& wanted : now->wanted) put_off(*wanted.next.pod, seconds(0));
}

void Defragmenter::plan_request() {
  const cluster::MoveRequest& request = *requests_.current();
  const auto waiting = std::ranges::count_if(
      request.waiting, [&](const std::string& uid) { return parts_.pods.find(uid) != nullptr; });
  requests_.placed(request.waiting.size() - static_cast<std::size_t>(waiting));
  if (waiting == 0) return requests_.end(cluster::MoveState::kDone, "");
  if (parts_.clock.now() < next_request_plan_) return;
  next_request_plan_ = parts_.clock.now() + kNextRequestPlan;
  // Until kube-scheduler has asked about them, there is nothing to go by.
  const auto now = moment(due(&request));
  if (!now) return;
  cluster::MovePlan found = plan_from(*now, request.movers.size());
  const bool may_change = !found.fit_already.empty() || !movable_.knows_all();
  if (auto run = worth_it(*now, std::move(found), 0)) {
    run->request = request.id;
    return start_if_fresh(*now, *std::move(run));
  }
  if (may_change) return;
  count(PlanOutcome::kNone);
  requests_.end(cluster::MoveState::kStopped,
                "the cluster has changed: these moves do not help the waiting pods any more");
}

void Defragmenter::start_if_fresh(const Moment& now, Run run) {
  const TimePoint time = parts_.clock.now();
  const Denial& denial = *now.denials.at(run.wanted.next.pod->uid);
  if (time - denial.at <= kFresh) return start(std::move(run));
  parts_.denials.offered(denial.pod->uid, time);  // the waker makes kube-scheduler ask
}

void Defragmenter::put_off(const kube::Pod& waiting, seconds at_least) {
  const auto found = waiting_.find(waiting.uid);
  if (found == waiting_.end()) return;
  Waiting& its = found->second;
  its.backoff = std::clamp(2 * its.backoff, kAfterNone, kMostAfterNone);
  its.next_try = parts_.clock.now() + std::max(its.backoff, at_least);
}

cluster::MovePlan Defragmenter::plan_from(const Moment& now, std::size_t moves) {
  return cluster::plan_moves(
      {.cluster = *now.cluster,
       .wanted = now.wanted,
       .budgets = now.budgets,
       .movable = [&](const model::Allocation& pod) { return may_leave(now, pod); },
       .next_pod =
           [&](const model::Allocation& pod) {
             return movable_.next_of(pod, *now.cluster, now.budgets);
           },
       .takes = [&](const kube::Pod& pod,
                    const model::NodeState& node) { return takes(now, pod, node); },
       .limits = {.moves = moves}});
}

bool Defragmenter::may_leave(const Moment& now, const model::Allocation& pod) const {
  if (requests_.current() != nullptr && !requests_.may_move(pod.pod_uid)) return false;
  return MovablePods::may_be_movable(pod) && !now.in_doubt.contains(pod.pod_uid) &&
         pod.priority <= now.wanted.front().next.pod->priority && !spared_.contains(pod.pod_uid);
}

/// Of a waiting pod kube-scheduler has said which nodes it may have.
bool Defragmenter::takes(const Moment& now, const kube::Pod& pod,
                         const model::NodeState& node) const {
  const bool is_open = node.inventory->slots > 0 && node.inventory->draining.empty() &&
                       !now.closed.contains(node.name) && movable_.is_open(node.name);
  if (!is_open) return false;
  const auto denial = now.denials.find(pod.uid);
  if (denial == now.denials.end()) return movable_.takes(pod.uid, node.name);
  const std::vector<bool>& asked = denial->second->nodes;
  const auto index = now.cluster->index_of(node.name);
  return index && *index < asked.size() && asked[*index];
}

std::optional<Defragmenter::Run> Defragmenter::worth_it(const Moment& now, cluster::MovePlan plan,
                                                        int min_gain_percent) {
  if (plan.arrivals.empty()) return std::nullopt;
  cluster::Arrival& arrival = plan.arrivals.front();
  plan.moves.resize(arrival.after);
  Run run{
      .wanted = now.wanted[arrival.wanted], .node = arrival.place.node, .moves = {}, .places = {}};
  std::int64_t moved = 0;
  for (Move& move : plan.moves) {
    const auto next = movable_.next_of(*move.pod, *now.cluster, now.budgets);
    if (next == nullptr || move.pod->node != run.node) return std::nullopt;
    moved += cluster::compute_of(*move.pod).count();
    run.places.push_back({.mover = move.pod->pod_uid,
                          .room = move.next,
                          .ns = next->pod->ns,
                          .controller = next->pod->controller,
                          .demand = next->plan.demand});
    run.moves.push_back(std::move(move));
  }
  const bool worth = arrival.gain_milli * kPercent >= moved * min_gain_percent;
  return worth ? std::optional(std::move(run)) : std::nullopt;
}

MoveObstacle Defragmenter::rehearse(const Run& run) {
  if (MoveObstacle obstacle = arrival_obstacle(run); obstacle) return obstacle;
  for (const Move& move : run.moves) {
    if (MoveObstacle obstacle = move_obstacle(move); obstacle) return obstacle;
    const kube::EvictionAnswer answer = parts_.relocation.rehearse(move);
    if (answer.outcome == EvictionOutcome::kEvicted) continue;
    count(MoveOutcome::kRefused);
    spare(move, false);
    return {.why = "pod " + text_of(*move.pod) + " would not be evicted: " + answer.message};
  }
  return {};
}

MoveObstacle Defragmenter::arrival_obstacle(const Run& run) {
  const kube::Pod& waiting = *run.wanted.next.pod;
  MoveObstacle obstacle = movable_.obstacle(waiting, run.node);
  if (obstacle && !obstacle.unknown) put_off(waiting, kSpared);
  return obstacle;
}

MoveObstacle Defragmenter::move_obstacle(const Move& move) {
  MoveObstacle obstacle = movable_.obstacle(*move.pod, move.next.node);
  if (!obstacle) return obstacle;
  obstacle.why = "pod " + text_of(*move.pod) + " does not move: " + obstacle.why;
  if (obstacle.unknown) return obstacle;
  count(MoveOutcome::kRefused);
  spare(move, obstacle.of_node);
  return obstacle;
}

void Defragmenter::spare(const Move& move, bool node) {
  const TimePoint until = parts_.clock.now() + kSpared;
  spared_[move.pod->pod_uid] = until;
  if (node) closed_[move.next.node] = until;
}

void Defragmenter::start(Run run) {
  const cluster::PodPtr waiting = run.wanted.next.pod;
  if (const MoveObstacle obstacle = rehearse(run); obstacle) return give_up(run, obstacle);
  if (!parts_.places.reserve(run.places)) {
    return give_up(run, {.why = "a place was taken meanwhile"});
  }
  run_ = std::move(run);
  if (!parts_.promises.evicting(*waiting, run_->node, uids_of(run_->moves),
                                RoomMaker::kDefragmenter)) {
    return stop("others make room for the pod", kNextPlan);
  }
  if (!holds(*run_)) return stop("the cluster has changed meanwhile", kNextPlan);
  run_->nominated = true;
  if (!nominate(*waiting, run_->node)) return stop("it was not nominated", kAfterStop);
  parts_.report(name_of(*waiting), "MakingRoom",
                "moving " + pods(run_->moves.size()) + " from node " + run_->node +
                    ", where this pod gets room on a card then");
  begin_next(*run_);
}

/// Nothing has begun.
void Defragmenter::give_up(const Run& run, const MoveObstacle& obstacle) {
  const kube::Pod& waiting = *run.wanted.next.pod;
  spdlog::info("no pod moves for pod {}: {}", waiting.full_name(), obstacle.why);
  put_off(waiting, seconds(0));
  if (!run.request.empty() && !obstacle.unknown) {
    requests_.end(cluster::MoveState::kStopped, obstacle.why);
  }
}

bool Defragmenter::nominate(const kube::Pod& pod, const std::string& node) const {
  if (!parts_.may_write(settings_.api_timeout)) return false;
  const auto done =
      kube::nominate_pod(parts_.api, {.ns = pod.ns, .name = pod.name, .uid = pod.uid, .node = node},
                         settings_.api_timeout);
  if (!done) spdlog::warn("pod {} not nominated: {}", pod.full_name(), done.error().message);
  return done.has_value();
}

void Defragmenter::go_on() {
  if (!run_->ended) {
    parts_.promises.review(*parts_.ledger.snapshot(), parts_.pods);
    if (!is_needed(*run_)) stop("the waiting pod does not need it any more", kNextPlan);
    if (!run_) return;
  }
  Run& run = *run_;
  if (run.leaving) return watch(run);
  if (run.ended) return run_.reset();
  if (run.done < run.moves.size()) return begin_next(run);
  if (parts_.pods.find(run.wanted.next.pod->uid) == nullptr) finish();
}

/// It waits still, or all has begun and it has its node: it may be faster than the last next pod.
bool Defragmenter::is_needed(const Run& run) const {
  if (waits_as_planned(run)) return true;
  const std::string& uid = run.wanted.next.pod->uid;
  return !has_moves_left(run) && parts_.ledger.apply([&](const model::Ledger& ledger) {
    const auto* entry = ledger.find(uid);
    return entry != nullptr && entry->phase != model::Phase::kReserved &&
           entry->allocation->node == run.node;
  });
}

/// A promise ends some time after the last pod has left, if the waiting pod does not take the room.
bool Defragmenter::waits_as_planned(const Run& run) const {
  const kube::Pod& planned = *run.wanted.next.pod;
  const cluster::PodPtr pod = parts_.pods.find(planned.uid);
  if (pod == nullptr || pod->deleting || pod->gated) return false;
  if (parts_.promises.maker(planned.uid) != RoomMaker::kDefragmenter) return false;
  const auto plan = parts_.policies.plan(*pod);
  return plan && plan->demand == run.wanted.next.plan.demand;
}

void Defragmenter::finish() {
  count(PlanOutcome::kCarriedOut);
  spdlog::info("pod {} has room on node {} after {} moved", run_->wanted.next.pod->full_name(),
               run_->node, pods(run_->evicted));
  run_.reset();
  next_plan_ = parts_.clock.now() + kNextPlan;
}

/// Do the pods that are still to move stand as they did, and does the waiting pod fit once they are
/// gone? That their next pods have places is reserved.
bool Defragmenter::holds(const Run& run) const {
  const cluster::ClusterPtr cluster = parts_.ledger.snapshot();
  const kube::Pod& waiting = *run.wanted.next.pod;
  const Nominations nominations{parts_.pods, parts_.promises};
  const auto nominated = nominated_above(nominations, waiting.uid, std::numeric_limits<int>::min());
  const bool is_offered = parts_.ledger.apply([&](model::Ledger& ledger) {
    ledger.expire_reservations();
    return ledger.find(waiting.uid) != nullptr;
  });
  if (is_offered) return false;  // another node takes it
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

/// What speaks against the next move at this moment. start() has read all for the first one.
MoveObstacle Defragmenter::next_obstacle(const Run& run) {
  if (run.done > 0) {
    if (MoveObstacle obstacle = arrival_obstacle(run); obstacle) return obstacle;
    if (MoveObstacle obstacle = move_obstacle(run.moves[run.done]); obstacle) return obstacle;
  }
  if (parts_.budgets() != nullptr && waits_as_planned(run) && holds(run)) return {};
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
  if (run.request.empty() && (!is_time() || moves_allowed() == 0)) {
    return stop("no more moves are allowed now", kNextPlan);
  }
  const MoveObstacle obstacle = next_obstacle(run);
  if (obstacle.unknown) return;  // the next look asks again
  if (obstacle) return stop(obstacle.why, kNextPlan);
  if (!parts_.may_write(settings_.api_timeout)) return;  // the next look ends it
  // Before the eviction: the next pod may be made before its answer is here.
  if (!parts_.places.evicted(mover)) return stop("a place was lost", kNextPlan);
  if (const auto leaving = evict(run)) run.leaving = leaving;
}

std::optional<Defragmenter::Leaving> Defragmenter::evict(Run& run) {
  const Move& move = run.moves[run.done];
  evictions_.push_back(parts_.clock.now());
  const kube::EvictionAnswer answer = parts_.relocation.begin(move);
  const bool stays = answer.outcome == EvictionOutcome::kRefused;
  if (stays || answer.outcome == EvictionOutcome::kGone) evictions_.pop_back();
  if (stays) {
    count(MoveOutcome::kRefused);
    spare(move, false);
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
  ++run.evicted;
  spdlog::info("pod {} moves from node {} to {}, so that pod {} fits", text_of(*move.pod), run.node,
               move.next.node, run.wanted.next.pod->full_name());
  // The waiting pod may be another tenant's: its UID says enough to who may see it.
  parts_.report(name_of(*move.pod), "Moved",
                "evicted to make room for pod " + run.wanted.next.pod->uid +
                    "; room for the next pod of its controller is reserved on node " +
                    move.next.node);
  return leaving;
}

void Defragmenter::watch(Run& run) {
  const Move& move = run.moves[run.done];
  const TimePoint time = parts_.clock.now();
  bool leaves = false;
  const bool stands = parts_.ledger.apply([&](const model::Ledger& ledger) {
    const auto* entry = ledger.find(move.pod->pod_uid);
    leaves = entry == nullptr || entry->allocation->terminating;
    return entry != nullptr;
  });
  if (!stands && !run.leaving->gone) run.leaving->gone = time;
  if (run.leaving->doubtful && !leaves && time - run.leaving->since >= kUntilKnown) {
    count(MoveOutcome::kFailed);
    spare(move, false);
    parts_.places.end(move.pod->pod_uid);
    run.leaving.reset();
    if (!run.ended) stop("pod " + text_of(*move.pod) + " was not evicted", kAfterStop);
    return;
  }
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

void Defragmenter::moved(Run& run) {
  count(MoveOutcome::kMoved);
  requests_.moved(run.request);
  parts_.places.end(run.moves[run.done].pod->pod_uid);
  run.leaving.reset();
  ++run.done;
}

void Defragmenter::stop(const std::string& why, seconds pause) {
  run_->ended = true;
  const kube::Pod& pod = *run_->wanted.next.pod;
  spdlog::info("no more pods move for pod {}, after {}: {}", pod.full_name(), pods(run_->evicted),
               why);
  count(PlanOutcome::kStopped);
  next_plan_ = parts_.clock.now() + pause;
  parts_.places.end_unused();
  const bool was_ours = parts_.promises.withdraw(pod.uid, RoomMaker::kDefragmenter);
  const bool is_of_others = !was_ours && parts_.promises.made_to(pod.uid);
  if (run_->nominated && !is_of_others) in_vain_.insert_or_assign(pod.uid, run_->node);
  put_off(pod, seconds(0));
  if (requests_.is_current(run_->request)) requests_.end(cluster::MoveState::kStopped, why);
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
    return !is_ours || nominate(*pod, "");
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
