#include "cluster/movable.hpp"

#include "cluster/resize.hpp"
#include "model/annotations.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace tangram::cluster {

namespace {

/// Nothing else has to end or to run with it. Members of a LeaderWorkerSet, whose controllers are
/// StatefulSets, are restarted all together.
bool stands_alone(const kube::Pod& pod) {
  constexpr std::string_view kLeaderWorkerSet = "leaderworkerset.sigs.k8s.io/";
  return !pod.binds_late && pod.group.kind == kube::GroupOfPod::Kind::kNone &&
         std::ranges::none_of(pod.labels, [&](const auto& label) {
           return label.first.starts_with(kLeaderWorkerSet);
         });
}

}  // namespace

bool may_move(const kube::Pod& pod) {
  const std::string& kind = pod.controller.kind;
  if (kind.empty() || kind == "DaemonSet" || kind == "Node" || !stands_alone(pod)) return false;
  const auto label = pod.labels.find(model::kMovableLabel);
  if (label != pod.labels.end()) return label->second == "true";
  return kind == "ReplicaSet" || kind == "StatefulSet";
}

bool is_as_its_template(const model::Allocation& has, const model::GpuRequest& request,
                        const model::NodeState& node) {
  return has.revision == 0 && !has.by_start && has_all_it_requests(has, request, node);
}

std::shared_ptr<const PlacelessPod> next_pod_of(kube::Pod pod, const PolicySource& policies) {
  pod.node.clear();
  auto plan = policies.plan(pod);
  if (!plan) return nullptr;
  return std::make_shared<const PlacelessPod>(
      PlacelessPod{std::make_shared<const kube::Pod>(std::move(pod)), *std::move(plan)});
}

bool has_waiting_pod(const kube::Controller& controller, std::string_view ns,
                     const PodTable& pods) {
  return std::ranges::any_of(pods.pending(), [&](const PodPtr& pod) {
    return pod->ns == ns && pod->controller == controller;
  });
}

bool can_be_evicted(const model::Allocation& pod, const BudgetList& budgets) {
  const auto covering = std::ranges::count_if(budgets, [&](const BudgetPtr& budget) {
    return budget->covers(pod.pod_namespace, pod.pod_name, pod.labels.get());
  });
  return covering < 2 && !pod.labels.empty();
}

BudgetList as_evictions_see_them(const BudgetList& budgets) {
  BudgetList all;
  all.reserve(budgets.size());
  for (const BudgetPtr& budget : budgets) {
    kube::DisruptionBudget seen = *budget;
    seen.selector.too_large = seen.selector.too_large || seen.selector.terms.empty();
    all.push_back(std::make_shared<const kube::DisruptionBudget>(std::move(seen)));
  }
  return all;
}

}  // namespace tangram::cluster
