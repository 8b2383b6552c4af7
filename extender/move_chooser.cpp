#include "extender/move_chooser.hpp"

#include "cluster/movable.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace tangram::extender {

namespace {

using cluster::Move;
using std::chrono::seconds;

constexpr std::int64_t kPercent = 100;

}  // namespace

MoveChooser::MoveChooser(Parts parts)
    : parts_(std::move(parts)),
      movable_({.api = parts_.api,
                .clock = parts_.clock,
                .policies = parts_.policies,
                .pods = parts_.pods,
                .api_timeout = parts_.api_timeout}) {}

/// Since when pods wait: an answer that says "later" does not begin that anew.
void MoveChooser::follow() {
  for (const DenialPtr& denial : parts_.denials.all()) {
    waiting_.try_emplace(denial->pod->uid, Waiting{.since = parts_.clock.now()});
  }
  std::erase_if(waiting_, [&](const auto& one) { return parts_.pods.find(one.first) == nullptr; });
}

void MoveChooser::forget() { waiting_.clear(); }

void MoveChooser::forget_obstacles() {
  spared_.clear();
  closed_.clear();
}

/// Of one priority: pods of a higher one than the waiting pod's do not move.
std::vector<DenialPtr> MoveChooser::due(const Question& question) const {
  std::vector<DenialPtr> denials = parts_.denials.all();
  std::erase_if(denials, [&](const DenialPtr& denial) {
    return !is_due(*denial, question) || !may_wait_for_moves(*denial);
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

bool MoveChooser::is_due(const Denial& denial, const Question& question) const {
  const std::string& uid = denial.pod->uid;
  if (question.request != nullptr) {
    return std::ranges::count(question.request->waiting, uid) > 0 &&
           !question.left_out.contains(uid);
  }
  const auto found = waiting_.find(uid);
  const TimePoint time = parts_.clock.now();
  return found != waiting_.end() && time - found->second.since >= question.waited &&
         time >= found->second.next_try;
}

bool MoveChooser::may_wait_for_moves(const Denial& denial) const {
  const cluster::PodPtr pod = parts_.pods.find(denial.pod->uid);
  if (pod == nullptr || !waiting_.contains(pod->uid)) return false;
  const bool will_be_asked_again = denial.for_now || !denial.in_doubt.empty();
  const bool gets_room = !pod->nominated_node.empty() || parts_.promises.made_to(pod->uid);
  return !will_be_asked_again && !gets_room && !pod->gated && !pod->deleting && !pod->binds_late &&
         pod->group.kind == kube::GroupOfPod::Kind::kNone;
}

std::optional<MoveChooser::Moment> MoveChooser::moment(const Question& question) {
  const std::vector<DenialPtr> denials = due(question);
  const auto budgets = denials.empty() ? nullptr : parts_.budgets();
  if (budgets == nullptr) return std::nullopt;
  Moment now{.cluster = {},
             .in_doubt = {},
             .budgets = {},
             .closed = {},
             .wanted = {},
             .denials = {},
             .movers = {}};
  for (const DenialPtr& denial : denials) {
    auto plan = parts_.policies.plan(*denial->pod);
    if (!plan || !plan->demand.gpu.asks_gpu()) {
      put_off(*denial->pod);
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
  if (question.request != nullptr) {
    now.movers.emplace(question.request->movers.begin(), question.request->movers.end());
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

ChoiceOfMoves MoveChooser::choose(const Question& question) {
  const auto now = question.most == 0 ? std::nullopt : moment(question);
  if (!now) return {};
  cluster::MovePlan found = plan(*now, question.most);
  const bool has_arrival = !found.arrivals.empty();
  const std::size_t first = has_arrival ? found.arrivals.front().wanted : 0;
  const bool may_change = !found.fit_already.empty() || !movable_.knows_all();
  const bool cut_short = found.cut_short;
  if (auto chosen = first_of(*now, std::move(found), question.min_gain_percent)) {
    if (!is_fresh(*now->denials.at(chosen->wanted.next.pod->uid))) return {Choice::kLater};
    return {.choice = Choice::kMoves, .moves = std::move(chosen)};
  }
  ChoiceOfMoves none{.choice = may_change ? Choice::kLater : Choice::kNone, .cut_short = cut_short};
  for (std::size_t i = 0; i < now->wanted.size(); ++i) {
    if (has_arrival && i != first) continue;  // the others may be worth it
    const kube::Pod& pod = *now->wanted[i].next.pod;
    none.tried.push_back(pod.uid);
    if (question.request == nullptr) put_off(pod);
  }
  return none;
}

bool MoveChooser::is_fresh(const Denial& denial) {
  const TimePoint time = parts_.clock.now();
  if (time - denial.at <= kFresh) return true;
  parts_.denials.offered(denial.pod->uid, time);  // the waker makes kube-scheduler ask
  return false;
}

cluster::MovePlan MoveChooser::plan(const Moment& now, std::size_t most) {
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
       .limits = {.moves = most}});
}

bool MoveChooser::may_leave(const Moment& now, const model::Allocation& pod) const {
  return MovablePods::may_be_movable(pod) && !now.in_doubt.contains(pod.pod_uid) &&
         pod.priority <= now.wanted.front().next.pod->priority && !spared_.contains(pod.pod_uid) &&
         (!now.movers || now.movers->contains(pod.pod_uid));
}

/// Of a waiting pod kube-scheduler has said which nodes it may have.
bool MoveChooser::takes(const Moment& now, const kube::Pod& pod,
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

std::optional<ChosenMoves> MoveChooser::first_of(const Moment& now, cluster::MovePlan plan,
                                                 int min_gain_percent) {
  if (plan.arrivals.empty()) return std::nullopt;
  const cluster::Arrival& arrival = plan.arrivals.front();
  plan.moves.resize(arrival.after);
  ChosenMoves chosen{
      .wanted = now.wanted[arrival.wanted], .node = arrival.place.node, .moves = {}, .places = {}};
  const model::NodeState* const node = now.cluster->find(chosen.node);
  std::int64_t moved = 0;
  for (Move& move : plan.moves) {
    const auto next = movable_.next_of(*move.pod, *now.cluster, now.budgets);
    if (next == nullptr || node == nullptr || move.pod->node != chosen.node) return std::nullopt;
    moved += cluster::size_milli(*move.pod, *node);
    chosen.places.push_back({.mover = move.pod->pod_uid,
                             .room = move.next,
                             .ns = next->pod->ns,
                             .controller = next->pod->controller,
                             .demand = next->plan.demand});
    chosen.moves.push_back(std::move(move));
  }
  const bool worth = arrival.gain_milli * kPercent >= moved * min_gain_percent;
  return worth ? std::optional(std::move(chosen)) : std::nullopt;
}

MoveObstacle MoveChooser::arrival_obstacle(const ChosenMoves& chosen) {
  const kube::Pod& waiting = *chosen.wanted.next.pod;
  MoveObstacle obstacle = movable_.obstacle(waiting, chosen.node);
  if (obstacle && !obstacle.unknown) put_off(waiting, kSpared);
  return obstacle;
}

MoveObstacle MoveChooser::move_obstacle(const Move& move) {
  MoveObstacle obstacle = movable_.obstacle(*move.pod, move.next.node);
  if (obstacle && !obstacle.unknown) spare(move, obstacle.of_node);
  return obstacle;
}

void MoveChooser::spare(const Move& move, bool node) {
  const TimePoint until = parts_.clock.now() + kSpared;
  spared_[move.pod->pod_uid] = until;
  if (node) closed_[move.next.node] = until;
}

void MoveChooser::put_off(const kube::Pod& waiting, seconds at_least) {
  const auto found = waiting_.find(waiting.uid);
  if (found == waiting_.end()) return;
  Waiting& its = found->second;
  its.backoff = std::clamp(2 * its.backoff, kAfterNone, kMostAfterNone);
  its.next_try = parts_.clock.now() + std::max(its.backoff, at_least);
}

}  // namespace tangram::extender
