#include "cli/defrag/defrag.hpp"

#include "cli/format.hpp"
#include "cli/json_path.hpp"
#include "cli/preemption.hpp"
#include "cluster/movable.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

namespace tangram::cli {

namespace {

using cluster::name_of;
using cluster::PlacelessPod;

const cluster::PodRules* rules_of(const DefragCluster& cluster, const std::string& uid) {
  const auto found = cluster.pods.find(uid);
  return found == cluster.pods.end() ? nullptr : &found->second;
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
  const cluster::PodRules* rules = rules_of(cluster, pod.pod.uid);
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

/// Pods with a place that could be given up, and what their controllers make in their stead.
class Movers {
 public:
  explicit Movers(const DefragCluster& cluster)
      : cluster_(cluster), snapshot_(cluster.cluster->snapshot()) {
    for (const GpuPod& pod : cluster.cluster->pods()) {
      if (pod.pod.node.empty()) waiting_.insert(controller_of(pod));
    }
    for (const GpuPod& pod : cluster.cluster->pods()) {
      if (can_move(pod)) by_uid_.emplace(pod.pod.uid, &pod);
    }
  }
  [[nodiscard]] bool has(const std::string& uid) const { return by_uid_.contains(uid); }
  /// A new pod: by its annotations, wherever a node takes it.
  [[nodiscard]] std::shared_ptr<const PlacelessPod> next_of(const std::string& uid) const {
    const auto found = by_uid_.find(uid);
    if (found == by_uid_.end()) return nullptr;
    return cluster::next_pod_of(found->second->pod, cluster_.cluster->policies());
  }

 private:
  static std::tuple<std::string, std::string, std::string> controller_of(const GpuPod& pod) {
    return {pod.pod.ns, pod.pod.controller.kind, pod.pod.controller.name};
  }
  [[nodiscard]] bool can_move(const GpuPod& pod) const {
    const cluster::PodRules* rules = rules_of(cluster_, pod.pod.uid);
    const model::NodeState* node = snapshot_->find(pod.pod.node);
    if (!pod.plan || rules == nullptr || !rules->open_rule.empty() || node == nullptr) return false;
    // A pod that waits would take the place of the next one.
    if (rules->grace_s > cluster::kMostGrace.count() || waiting_.contains(controller_of(pod))) {
      return false;
    }
    const model::Allocation& has = pod.recorded.allocation;
    return cluster::may_move(pod.pod) &&
           cluster::is_as_its_template(has, pod.plan->demand.gpu, *node) &&
           cluster::can_be_evicted(has, cluster_.budgets);
  }

  const DefragCluster& cluster_;
  cluster::ClusterPtr snapshot_;
  std::map<std::string, const GpuPod*, std::less<>> by_uid_;
  std::set<std::tuple<std::string, std::string, std::string>> waiting_;  ///< controllers
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

/// For waiting pods of one priority, no pods of a higher one move, as the extender has it. So these
/// are planned for on their own: the highest ones that moves help.
/// @param wanted  by priority, the highest first; keeps those that were planned for
cluster::MovePlan plan_by_priority(const DefragCluster& cluster,
                                   std::vector<cluster::WantedPod>& wanted,
                                   std::size_t most_moves) {
  const Movers movers(cluster);
  const auto snapshot = cluster.cluster->snapshot();
  const auto takes = [&](const kube::Pod& pod, const model::NodeState& node) {
    const auto rules = cluster.nodes.find(node.name);
    const cluster::PodRules* of_pod = rules_of(cluster, pod.uid);
    return rules != cluster.nodes.end() && of_pod != nullptr &&
           cluster::takes(rules->second, *of_pod) && is_open(cluster, node);
  };
  std::set<int, std::greater<>> priorities;
  for (const cluster::WantedPod& pod : wanted) priorities.insert(pod.next.pod->priority);
  const std::vector<cluster::WantedPod> all = wanted;
  cluster::MovePlan plan;
  for (const int priority : priorities) {
    wanted.clear();
    std::ranges::copy_if(all, std::back_inserter(wanted),
                         [&](const auto& pod) { return pod.next.pod->priority >= priority; });
    plan = cluster::plan_moves(
        {.cluster = *snapshot,
         .wanted = wanted,
         .budgets = cluster.budgets,
         .movable =
             [&](const model::Allocation& pod) {
               return pod.priority <= priority && movers.has(pod.pod_uid);
             },
         .next_pod = [&](const model::Allocation& pod) { return movers.next_of(pod.pod_uid); },
         .takes = takes,
         .limits = {.moves = most_moves}});
    if (!plan.moves.empty()) break;
  }
  return plan;
}

}  // namespace

Result<DefragCluster> read_defrag_cluster(kube::KubeApi& api, const ClusterSettings& settings,
                                          const Clock& clock) {
  DefragCluster read;
  const ObjectVisitor visit{.node =
                                [&](const ListedNode& node, const std::string& object) {
                                  if (auto rules = cluster::read_node_rules(object))
                                    read.nodes[node.own.name] = *std::move(rules);
                                },
                            .pod =
                                [&](const GpuPod* pod, const std::string& object) {
                                  auto rules = cluster::read_pod_rules(object);
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
  read.budgets = cluster::as_evictions_see_them(*budgets);
  return read;
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
  const cluster::MovePlan plan = plan_by_priority(cluster, wanted, most_moves);
  for (const cluster::Move& move : plan.moves) {
    defrag.moves.push_back(
        {.pod = name_of(*move.pod), .from = seat_of(*move.pod), .to = seat_of(move.next)});
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
