#include "cli/defrag/defrag.hpp"

#include "cli/format.hpp"
#include "cli/json_path.hpp"
#include "cli/preemption.hpp"
#include "cluster/resize.hpp"
#include "model/annotations.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tangram::cli {

namespace {

using cluster::PlacelessPod;

const PodRules* rules_of(const DefragCluster& cluster, const std::string& uid) {
  const auto found = cluster.pods.find(uid);
  return found == cluster.pods.end() ? nullptr : &found->second;
}

cluster::PodName name_of(const kube::Pod& pod) {
  return {.uid = pod.uid, .ns = pod.ns, .name = pod.name};
}

/// Why nothing can be planned for a waiting pod; "" = something can.
std::string why_left_out(const DefragCluster& cluster, const GpuPod& pod) {
  if (!pod.plan) return pod.plan.error().message;
  if (pod.pod.gated) return "it has scheduling gates";
  if (!cluster::has_slots(pod.pod)) return "none of its containers has a slot";
  if (!pod.pod.nominated_node.empty()) return "it preempts other pods";
  if (pod.pod.group.kind != kube::GroupOfPod::Kind::kNone) {
    return "it belongs to a pod group, whose members run together";
  }
  if (pod.pod.binds_late) return "kube-scheduler also looks at its volumes or claims";
  const PodRules* rules = rules_of(cluster, pod.pod.uid);
  return rules == nullptr ? "its rules for nodes cannot be read" : rules->open_rule;
}

/// In kube-scheduler's order: by priority, then by age.
std::vector<const GpuPod*> waiting_pods(const Cluster& cluster) {
  std::vector<const GpuPod*> waiting;
  for (const GpuPod& pod : cluster.pods()) {
    const bool asks = !pod.plan || pod.plan->demand.gpu.asks_gpu();
    if (pod.pod.node.empty() && !pod.pod.deleting && asks) waiting.push_back(&pod);
  }
  const auto key = [](const GpuPod* pod) {
    return std::tuple(-std::int64_t{pod->pod.priority}, std::string_view(pod->created),
                      std::string_view(pod->pod.uid));
  };
  std::ranges::sort(waiting, [&](const auto* a, const auto* b) { return key(a) < key(b); });
  return waiting;
}

/// Nothing else has to end or to run with it. Members of a LeaderWorkerSet, whose controllers are
/// StatefulSets, are restarted all together.
bool stands_alone(const kube::Pod& pod) {
  constexpr std::string_view kLeaderWorkerSet = "leaderworkerset.sigs.k8s.io/";
  return !pod.binds_late && pod.group.kind == kube::GroupOfPod::Kind::kNone &&
         std::ranges::none_of(pod.labels, [&](const auto& label) {
           return label.first.starts_with(kLeaderWorkerSet);
         });
}

/// The Eviction API takes an empty selector to cover all pods of the namespace. One that is missing
/// covers none, and is treated the same here.
kube::DisruptionBudget as_evictions_see_it(kube::DisruptionBudget budget) {
  budget.selector.too_large = budget.selector.too_large || budget.selector.terms.empty();
  return budget;
}

/// Pods with a place that could be given up, and what their controllers make in their stead.
class Movers {
 public:
  explicit Movers(const DefragCluster& cluster)
      : cluster_(cluster), snapshot_(cluster.cluster->snapshot()) {
    for (const GpuPod& pod : cluster.cluster->pods()) {
      if (can_move(pod)) by_uid_.emplace(pod.pod.uid, &pod);
    }
  }
  [[nodiscard]] bool has(const std::string& uid) const { return by_uid_.contains(uid); }
  /// A new pod: by its annotations, wherever a node takes it.
  [[nodiscard]] std::shared_ptr<const PlacelessPod> next_of(const std::string& uid) const {
    const auto found = by_uid_.find(uid);
    if (found == by_uid_.end()) return nullptr;
    kube::Pod next = found->second->pod;
    next.node.clear();
    auto plan = cluster_.cluster->policies().plan(next);
    if (!plan) return nullptr;
    return std::make_shared<const PlacelessPod>(
        PlacelessPod{std::make_shared<const kube::Pod>(std::move(next)), *std::move(plan)});
  }

 private:
  [[nodiscard]] bool can_move(const GpuPod& pod) const {
    const PodRules* rules = rules_of(cluster_, pod.pod.uid);
    return !pod.pod.node.empty() && pod.plan && may_move(pod.pod) && stands_alone(pod.pod) &&
           is_as_its_template(pod) && rules != nullptr && rules->open_rule.empty() &&
           can_be_evicted(pod);
  }
  /// A revised grant is not what the controller's template says, nor is a request that was changed
  /// since; and a grant that counts by a start need not be what the pod was bound for.
  [[nodiscard]] bool is_as_its_template(const GpuPod& pod) const {
    const model::Allocation& has = pod.recorded.allocation;
    const model::NodeState* node = snapshot_->find(pod.pod.node);
    return has.revision == 0 && !has.by_start && node != nullptr &&
           cluster::has_all_it_requests(has, pod.plan->demand.gpu, *node);
  }
  /// The Eviction API refuses pods of two budgets. Budgets select by labels, of which the ledger
  /// knows none of pods that have too many.
  [[nodiscard]] bool can_be_evicted(const GpuPod& pod) const {
    const auto covering = std::ranges::count_if(cluster_.budgets, [&](const auto& budget) {
      return budget->covers(pod.pod.ns, pod.pod.name, pod.pod.labels);
    });
    return covering < 2 && !pod.recorded.allocation.labels.empty();
  }

  const DefragCluster& cluster_;
  cluster::ClusterPtr snapshot_;
  std::map<std::string, const GpuPod*, std::less<>> by_uid_;
};

/// May new pods come there, whatever they are? kube-scheduler refuses a node without slots, and a
/// pod there may keep others away. Cards that are to be emptied are not all shown as unavailable
/// yet.
bool is_open(const DefragCluster& cluster, const model::NodeState& node) {
  return node.inventory->slots > 0 && node.inventory->draining.empty() &&
         !cluster.guarded.contains(node.name);
}

Seat seat_of(const model::Allocation& allocation) {
  return {.node = allocation.node, .containers = allocation.containers};
}

}  // namespace

Result<DefragCluster> read_defrag_cluster(kube::KubeApi& api, const ClusterSettings& settings,
                                          const Clock& clock) {
  DefragCluster read;
  const ObjectVisitor visit{.node =
                                [&](const ListedNode& node, const std::string& object) {
                                  if (auto rules = read_node_rules(object))
                                    read.nodes[node.own.name] = *std::move(rules);
                                },
                            .pod =
                                [&](const GpuPod* pod, const std::string& object) {
                                  auto rules = read_pod_rules(object);
                                  if (!rules || rules->has_anti_affinity) {
                                    read.guarded.insert(text_at(object, {"spec", "nodeName"}));
                                  }
                                  if (rules && pod != nullptr) {
                                    read.pods[pod->pod.uid] = *std::move(rules);
                                  }
                                }};
  auto cluster = Cluster::read(api, settings, clock, visit);
  if (!cluster) return cluster.error();
  read.cluster = *std::move(cluster);
  const auto budgets = list_budgets(api);
  if (!budgets) return budgets.error();
  for (const cluster::BudgetPtr& budget : *budgets) {
    read.budgets.push_back(
        std::make_shared<const kube::DisruptionBudget>(as_evictions_see_it(*budget)));
  }
  return read;
}

bool may_move(const kube::Pod& pod) {
  const std::string& kind = pod.controller.kind;
  if (kind.empty() || kind == "DaemonSet" || kind == "Node") return false;
  const auto label = pod.labels.find(model::kMovableLabel);
  if (label != pod.labels.end()) return label->second == "true";
  return kind == "ReplicaSet" || kind == "StatefulSet";
}

Defrag plan_defrag(const DefragCluster& cluster, std::size_t most_moves) {
  Defrag defrag;
  std::vector<cluster::WantedPod> wanted;
  for (const GpuPod* pod : waiting_pods(*cluster.cluster)) {
    ++defrag.waiting;
    if (std::string why = why_left_out(cluster, *pod); !why.empty()) {
      defrag.left_out.push_back({name_of(pod->pod), std::move(why)});
    } else {
      wanted.push_back({{std::make_shared<const kube::Pod>(pod->pod), *pod->plan}});
    }
  }
  const Movers movers(cluster);
  const auto snapshot = cluster.cluster->snapshot();
  const auto plan = cluster::plan_moves(
      {.cluster = *snapshot,
       .wanted = wanted,
       .budgets = cluster.budgets,
       .movable = [&](const model::Allocation& pod) { return movers.has(pod.pod_uid); },
       .next_pod = [&](const model::Allocation& pod) { return movers.next_of(pod.pod_uid); },
       .takes =
           [&](const kube::Pod& pod, const model::NodeState& node) {
             const auto rules = cluster.nodes.find(node.name);
             const PodRules* of_pod = rules_of(cluster, pod.uid);
             return rules != cluster.nodes.end() && of_pod != nullptr &&
                    takes(rules->second, *of_pod) && is_open(cluster, node);
           },
       .limits = {.moves = most_moves}});
  for (const cluster::Move& move : plan.moves) {
    defrag.moves.push_back({.pod = {move.pod->pod_uid, move.pod->pod_namespace, move.pod->pod_name},
                            .from = seat_of(*move.pod),
                            .to = seat_of(move.next)});
  }
  for (const cluster::Arrival& arrival : plan.arrivals) {
    const PlacelessPod& pod = wanted[arrival.wanted].next;
    defrag.runs.push_back({.pod = name_of(*pod.pod),
                           .request = request_text(pod.plan.demand.gpu),
                           .seat = seat_of(arrival.place),
                           .after = arrival.after});
  }
  defrag.fit_already = plan.fit_already.size();
  defrag.gained_milli = plan.gained_milli;
  defrag.moved_milli = plan.moved_milli;
  defrag.cut_short = plan.cut_short;
  return defrag;
}

}  // namespace tangram::cli
