#include "extender/movable_pods.hpp"

#include "cluster/movable.hpp"
#include "extender/scheduler_rules.hpp"
#include "extender/scheduling/forget_oldest.hpp"
#include "model/annotations.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace tangram::extender {

namespace {

MoveObstacle obstacle_of(const Error& error) {
  return {.why = error.message, .unknown = is_unanswered(error)};
}

MoveObstacle refusal_of(const std::string& node) {
  return {.why = "node " + node + " does not take it any more", .of_node = true};
}

}  // namespace

bool is_unanswered(const Error& error) {
  return error.code == Errc::kTimeout || error.code == Errc::kUnavailable;
}

Result<void> MovablePods::begin() {
  reads_ = 0;
  waiting_.clear();
  for (const cluster::PodPtr& pod : parts_.pods.pending()) waiting_.insert(owner_of(*pod));
  std::erase_if(known_,
                [&](const auto& one) { return parts_.clock.now() - one.second.at >= kRemembered; });
  nodes_.clear();
  auto nodes = list_node_rules(parts_.api, parts_.api_timeout);
  if (!nodes) return nodes.error();
  nodes_ = *std::move(nodes);
  return {};
}

bool MovablePods::may_be_movable(const model::Allocation& pod) {
  const model::Labels& labels = pod.labels.get();
  const auto label = labels.find(model::kMovableLabel);
  const bool forbidden = label != labels.end() && label->second != "true";
  return !forbidden && !pod.labels.empty() && pod.revision == 0 && !pod.by_start;
}

std::shared_ptr<const cluster::PlacelessPod> MovablePods::next_of(
    const model::Allocation& pod, const model::ClusterSnapshot& cluster,
    const cluster::BudgetList& budgets) {
  const model::NodeState* node = cluster.find(pod.node);
  const Known* known = node == nullptr ? nullptr : find(pod);
  if (known == nullptr || !known->movable || waiting_.contains(owner_of(known->pod))) {
    return nullptr;
  }
  auto next = cluster::next_pod_of(known->pod, parts_.policies);
  const bool as_before =
      next != nullptr && cluster::is_as_its_template(pod, next->plan.demand.gpu, *node);
  return as_before && cluster::can_be_evicted(pod, budgets) ? next : nullptr;
}

const MovablePods::Known* MovablePods::find(const model::Allocation& pod) {
  if (const auto found = known_.find(pod.pod_uid); found != known_.end()) return &found->second;
  if (reads_ == kMostReads) return nullptr;
  ++reads_;
  auto known = read(cluster::name_of(pod));
  if (!known) {
    spdlog::debug("pod {}/{} is not moved: {}", pod.pod_namespace, pod.pod_name,
                  known.error().message);
    if (is_unanswered(known.error())) reads_ = kMostReads;  // others would wait for as long
    return nullptr;
  }
  const Known* kept = &known_.insert_or_assign(pod.pod_uid, *std::move(known)).first->second;
  forget_oldest(known_, kMostKnown, [](const auto& one) { return one.second.at; });
  return kept;
}

Result<MovablePods::Known> MovablePods::read(const cluster::PodName& pod) const {
  auto found = read_ruled_pod(parts_.api, pod, parts_.api_timeout);
  if (!found) return found.error();
  const cluster::PodRules& rules = found->rules;
  const bool movable = cluster::may_move(found->pod) && rules.open_rule.empty() &&
                       rules.grace_s <= cluster::kMostGrace.count() && !found->pod.deleting &&
                       !found->pod.node.empty();
  return Known{.at = parts_.clock.now(),
               .movable = movable,
               .pod = std::move(found->pod),
               .rules = std::move(found->rules)};
}

std::pair<std::string, std::string> MovablePods::owner_of(const kube::Pod& pod) {
  return {pod.ns, pod.controller.kind + "/" + pod.controller.name};
}

bool MovablePods::takes(const std::string& uid, const std::string& node) const {
  const auto known = known_.find(uid);
  const auto rules = nodes_.find(node);
  return known != known_.end() && rules != nodes_.end() &&
         cluster::takes(rules->second, known->second.rules);
}

bool MovablePods::is_open(const std::string& node) const {
  const auto rules = nodes_.find(node);
  return rules != nodes_.end() && rules->second.ready && !rules->second.unschedulable;
}

MoveObstacle MovablePods::obstacle(const model::Allocation& pod, const std::string& to) {
  known_.erase(pod.pod_uid);
  const auto known = read(cluster::name_of(pod));
  if (!known) return obstacle_of(known.error());
  if (!known->movable) return {.why = "the pod may not move any more"};
  if (cluster::has_waiting_pod(known->pod.controller, known->pod.ns, parts_.pods)) {
    return {.why = "another pod of its controller waits for a node"};
  }
  const auto rules = read_node_rules(parts_.api, to, parts_.api_timeout);
  if (!rules) return obstacle_of(rules.error());
  return cluster::takes(*rules, known->rules) ? guard_of(to) : refusal_of(to);
}

MoveObstacle MovablePods::obstacle(const kube::Pod& waiting, const std::string& to) const {
  auto known = read(cluster::name_of(waiting));
  if (!known) {
    MoveObstacle obstacle = obstacle_of(known.error());
    obstacle.of_waiting = !obstacle.unknown;  // it is gone
    return obstacle;
  }
  if (!known->pod.node.empty() || known->pod.deleting) {
    return {.why = "the pod does not wait any more", .of_waiting = true};
  }
  const auto rules = read_node_rules(parts_.api, to, parts_.api_timeout);
  if (!rules) return obstacle_of(rules.error());
  // kube-scheduler has looked at all its rules.
  return cluster::takes(*rules, cluster::known_rules(std::move(known->rules))) ? MoveObstacle()
                                                                               : refusal_of(to);
}

/// A pod there may keep others away, by anti-affinity: which, is not looked at.
MoveObstacle MovablePods::guard_of(const std::string& node) const {
  bool guarded = false;
  const auto listed = list_objects(parts_.api,
                                   {.path = "/api/v1/pods",
                                    .query = {{"fieldSelector", "spec.nodeName=" + node}},
                                    .body = {},
                                    .timeout = parts_.api_timeout},
                                   [&](std::string_view object) {
                                     const auto rules =
                                         cluster::read_pod_rules(std::string(object));
                                     guarded = guarded || !rules || rules->has_anti_affinity;
                                   });
  if (!listed) return obstacle_of(listed.error());
  if (!guarded) return {};
  return {.why = "a pod of node " + node + " must not run beside certain others", .of_node = true};
}

}  // namespace tangram::extender
