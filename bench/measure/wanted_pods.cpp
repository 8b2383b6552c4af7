#include "bench/measure/wanted_pods.hpp"

#include "bench/synthetic_api.hpp"

#include <utility>

namespace tangram::bench {

namespace {

/// Each covers the pods of one of the synthetic cluster's 97 applications.
cluster::BudgetList some_budgets() {
  cluster::BudgetList budgets;
  for (int i = 0; i < 40; ++i) {
    const std::string app = "train-" + std::to_string(i);
    kube::DisruptionBudget budget;
    budget.ns = kBenchNamespace;
    budget.name = app;
    budget.allowed = i % 2;
    budget.selector.terms.push_back({.key = "app", .values = {app}});
    budgets.push_back(std::make_shared<const kube::DisruptionBudget>(std::move(budget)));
  }
  return budgets;
}

}  // namespace

WantedPods::WantedPods(const cluster::PolicySource& policies, int each)
    : policies_(policies), budgets_(some_budgets()) {
  for (const int cards : {1, 2, 4, 8}) {
    const std::string count = std::to_string(cards);
    const auto pod = next_pod("wants-" + count, {{"gpu-count", count}},
                              {.cpu = MilliCpu(1'000), .memory = {}, .slots = 0});
    for (int i = 0; i < each; ++i) wanted_.push_back({*pod});
  }
}

cluster::MovePlan WantedPods::plan(const model::ClusterSnapshot& cluster, int moves) const {
  return cluster::plan_moves(
      {.cluster = cluster,
       .wanted = wanted_,
       .budgets = budgets_,
       .movable = [](const auto&) { return true; },
       .next_pod = [&](const model::Allocation& pod) { return next_of(pod); },
       .takes = [](const auto&, const auto& node) { return node.name.back() != '3'; },
       .limits = {.moves = static_cast<std::size_t>(moves)}});
}

std::shared_ptr<const cluster::PlacelessPod> WantedPods::next_of(
    const model::Allocation& pod) const {
  const MilliGpu milli = pod.containers.front().cards.front().compute;
  return next_pod(pod.pod_name,
                  {{"gpu-fraction", model::share_text(milli)}, {"gpu-isolation", "time-slice"}},
                  pod.footprint);
}

std::shared_ptr<const cluster::PlacelessPod> WantedPods::next_pod(
    const std::string& name, model::Annotations annotations, model::Footprint footprint) const {
  kube::Pod pod;
  pod.ns = kBenchNamespace;
  pod.name = name;
  pod.uid = name;
  pod.annotations = std::move(annotations);
  pod.containers = {{.name = "main", .slots = 1}};
  pod.footprint = footprint;
  pod.controller = {.kind = "ReplicaSet", .name = name};
  auto plan = policies_.plan(pod);
  if (!plan) return nullptr;
  return std::make_shared<const cluster::PlacelessPod>(
      cluster::PlacelessPod{std::make_shared<const kube::Pod>(std::move(pod)), *std::move(plan)});
}

}  // namespace tangram::bench
