#include "cli/whatif.hpp"

#include "base/json.hpp"
#include "base/one_line.hpp"
#include "cli/fit.hpp"
#include "cli/format.hpp"
#include "cli/table.hpp"
#include "cluster/pod_groups.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tangram::cli {

namespace {

std::string_view to_string(WhatIf::Fate fate) {
  constexpr std::array<std::string_view, 5> kNames{"placed", "preempts", "waits", "refused",
                                                   "no-gpu"};
  return kNames.at(static_cast<std::size_t>(fate));
}

/// The first container that requests cards and has no slot; null if there is none.
const model::ContainerRequest* without_slot(const model::GpuRequest& request,
                                            const kube::Pod& pod) {
  for (const model::ContainerRequest& container : request.containers) {
    const auto info =
        std::ranges::find(pod.containers, container.container, &model::ContainerInfo::name);
    if (info != pod.containers.end() && info->slots == 0) return &container;
  }
  return nullptr;
}

/// Pods that leave for the pod, if it may preempt others.
bool evict_for(const kube::Pod& pod, const cluster::PodPlan& plan, Simulation& simulation,
               const cluster::BudgetList& budgets, WhatIf& result) {
  // No pod is evicted for one member of a group.
  if (pod.never_preempts || cluster::is_in_pod_group(pod)) return false;
  auto found = simulation.preempt(pod, plan, budgets);
  if (!found) return false;
  result.fate = WhatIf::Fate::kPreempts;
  result.place = std::move(found->place);
  for (const model::AllocationPtr& victim : found->victims) {
    result.victims.push_back(victim->pod_namespace + "/" + victim->pod_name + " (priority " +
                             std::to_string(victim->priority) + ")");
  }
  result.why = "evicts " + joined(result.victims) + " from node " + result.place.node;
  return true;
}

/// @param facts  null: no pod is evicted
WhatIf try_out(const Cluster& cluster, Simulation& simulation, const kube::Pod& pod,
               const PreemptionFacts* facts) {
  WhatIf result{.ns = pod.ns, .name = pod.name};
  const auto plan = cluster.policies().plan(pod);
  if (!plan) {
    result.fate = WhatIf::Fate::kRefused;
    result.why = plan.error().message;
    return result;
  }
  if (!plan->demand.gpu.asks_gpu()) {
    result.why = "requests no GPU: kube-scheduler places it alone";
    return result;
  }
  result.request = request_text(plan->demand.gpu);
  if (!pod.node.empty()) {
    result.fate = WhatIf::Fate::kRefused;
    result.why = model::node_name_mistake(pod.node);
    return result;
  }
  if (const auto* container = without_slot(plan->demand.gpu, pod)) {
    result.fate = cluster::has_slots(pod) ? WhatIf::Fate::kRefused : WhatIf::Fate::kWaits;
    result.why = cluster::slot_missing_sentence(pod, container->container);
    return result;
  }
  Outcome outcome = simulation.place(pod, *plan);
  if (auto* const placed = std::get_if<Placed>(&outcome)) {
    result.fate = WhatIf::Fate::kPlaced;
    result.place = std::move(*placed);
  } else if (facts == nullptr || !evict_for(pod, *plan, simulation, facts->budgets, result)) {
    result.fate = WhatIf::Fate::kWaits;
    result.why = std::get<Unplaced>(outcome).sentence();
  }
  return result;
}

std::size_t count_of(const std::vector<WhatIf>& pods, WhatIf::Fate fate) {
  return static_cast<std::size_t>(
      std::count_if(pods.begin(), pods.end(), [&](const WhatIf& pod) { return pod.fate == fate; }));
}

}  // namespace

std::vector<WhatIf> what_if(const Cluster& cluster, Manifests manifests, Webhook webhook,
                            const PreemptionFacts* facts) {
  if (webhook != Webhook::kMissing) std::ranges::for_each(manifests.pods, add_slots);
  Simulation simulation(*cluster.snapshot(), cordoned_nodes(cluster));
  std::vector<WhatIf> results;
  results.reserve(manifests.pods.size());
  for (std::size_t i = 0; i < manifests.pods.size(); ++i) {
    kube::Pod& pod = manifests.pods[i];
    const std::string refusal =
        facts == nullptr ? "" : set_priority(pod, manifests.priority_classes[i], *facts);
    if (refusal.empty()) {
      results.push_back(try_out(cluster, simulation, pod, facts));
    } else {
      results.push_back(
          {.ns = pod.ns, .name = pod.name, .fate = WhatIf::Fate::kRefused, .why = refusal});
    }
  }
  return results;
}

bool all_placed(const std::vector<WhatIf>& pods) {
  return count_of(pods, WhatIf::Fate::kWaits) + count_of(pods, WhatIf::Fate::kRefused) == 0;
}

std::string draw_whatif(const Screen& screen, const std::vector<WhatIf>& pods, bool wide) {
  Table table({{.name = "POD", .may_shrink = true},
               {.name = "REQUEST"},
               {.name = "NODE", .may_shrink = true},
               {.name = "GRANT"},
               {.name = "CARDS", .may_shrink = true, .prose = true, .dispensable = 1}});
  std::string reasons;
  for (const WhatIf& pod : pods) {
    const std::string name = pod.ns + "/" + pod.name;
    table.add({name, pod.request.empty() ? "-" : pod.request,
               pod.place.node.empty() ? "-" : pod.place.node,
               pod.place.node.empty() ? std::string(to_string(pod.fate))
                                      : grant_text(pod.place.containers),
               pod.place.node.empty() ? "-" : card_names(cards_of(pod.place.containers), wide)});
    if (!pod.why.empty()) {
      reasons += in_lines(screen, paint(screen.style, kBold, one_line(name)) + " " +
                                      std::string(to_string(pod.fate)) + ": " + one_line(pod.why)) +
                 "\n";
    }
  }
  const std::size_t preempting = count_of(pods, WhatIf::Fate::kPreempts);
  const std::size_t placed = count_of(pods, WhatIf::Fate::kPlaced) + preempting;
  const std::size_t asking = pods.size() - count_of(pods, WhatIf::Fate::kNoGpu);
  std::string text = table.empty() ? "" : table.text(screen) + "\n";
  if (!reasons.empty()) text += reasons + "\n";
  return text +
         paint(screen.style, all_placed(pods) ? kGood : kBad,
               std::to_string(placed) + " of " + counted(asking, "GPU pod") + " would be placed") +
         (preempting == 0 ? "" : ", " + std::to_string(preempting) + " by evicting others") +
         "; nothing was written\n";
}

std::string whatif_json(const std::vector<WhatIf>& pods) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("pods").begin_array();
  for (const WhatIf& pod : pods) {
    out.begin_object().member("namespace", pod.ns).member("name", pod.name);
    out.member("request", pod.request).member("fate", to_string(pod.fate));
    out.member("node", pod.place.node).key("containers").begin_array();
    for (const model::ContainerGrant& container : pod.place.containers) {
      out.begin_object().member("name", container.container).key("cards").begin_array();
      for (const model::GrantedCard& card : container.cards) {
        out.begin_object().member("uuid", card.uuid).member("memMiB", card.memory.count());
        out.member("milli", card.compute.count()).end_object();
      }
      out.end_array().end_object();
    }
    out.end_array().key("victims").begin_array();
    for (const std::string& victim : pod.victims) out.string(victim);
    out.end_array().member("why", pod.why).end_object();
  }
  out.end_array().member("allPlaced", all_placed(pods)).end_object();
  return text;
}

}  // namespace tangram::cli
