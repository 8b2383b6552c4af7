#include "cli/cluster.hpp"

#include "cli/api_reading.hpp"
#include "cli/json_path.hpp"
#include "cluster/findings.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace tangram::cli {

namespace {

/// Pods that use resources, by kube-scheduler's own rule.
constexpr const char* kNotFinished = "status.phase!=Succeeded,status.phase!=Failed";

}  // namespace

Cluster::Cluster(cluster::PolicySettings settings, const Clock& clock)
    : ledger_(clock),
      policies_(std::move(settings), [this] { return ledger_.snapshot(); }),
      table_({&policies_, this}) {}

Result<std::unique_ptr<Cluster>> Cluster::read(kube::KubeApi& api, const ClusterSettings& settings,
                                               const Clock& clock, const ObjectVisitor& visit) {
  std::unique_ptr<Cluster> cluster(new Cluster(settings.policy, clock));
  if (auto nodes = cluster->read_nodes(api, visit); !nodes) return nodes.error();
  if (auto pods = cluster->read_pods(api, settings.check(), visit); !pods) return pods.error();
  cluster->table_.set_card_notes(cluster::examine_cards(*cluster->snapshot()));
  return cluster;
}

Result<void> Cluster::read_nodes(kube::KubeApi& api, const ObjectVisitor& visit) {
  cluster::NodeFeed feed(ledger_, counters_);
  feed.begin_list();
  auto listed = list(api, "/api/v1/nodes", {}, [&](std::string object) {
    take_node(object, visit);
    feed.listed(std::move(object));
  });
  if (!listed) return listed;
  feed.end_list();
  std::sort(nodes_.begin(), nodes_.end(),
            [](const ListedNode& a, const ListedNode& b) { return a.own.name < b.own.name; });
  return {};
}

/// The feed, which decodes more of the node, logs a node that cannot be decoded.
void Cluster::take_node(const std::string& object, const ObjectVisitor& visit) {
  const bool unschedulable = value_at(object, {"spec", "unschedulable"}) == "true";
  auto own = node::decode_own_node(object);
  if (!own) return;
  nodes_.push_back({std::move(*own), unschedulable});
  if (visit.node) visit.node(nodes_.back(), object);
}

Result<void> Cluster::read_pods(kube::KubeApi& api, model::SignatureCheck check,
                                const ObjectVisitor& visit) {
  cluster::PodFeed feed(ledger_, table_, policies_, counters_, std::move(check));
  feed.begin_list();
  auto listed =
      list(api, "/api/v1/pods", {{"fieldSelector", kNotFinished}}, [&](const std::string& object) {
        const std::size_t before = pods_.size();
        feed.listed(object);
        const bool is_gpu_pod = pods_.size() > before;
        if (visit.pod) visit.pod(is_gpu_pod ? &pods_.back() : nullptr, object);
        if (!is_gpu_pod) return;
        if (!pods_.back().pod.node.empty()) return;
        pods_.back().created = text_at(object, {"metadata", "creationTimestamp"});
      });
  if (!listed) return listed;
  feed.end_list();
  std::sort(pods_.begin(), pods_.end(), [](const GpuPod& a, const GpuPod& b) {
    return std::tie(a.pod.ns, a.pod.name) < std::tie(b.pod.ns, b.pod.name);
  });
  return {};
}

void Cluster::seen(const kube::Pod& pod, const Result<cluster::PodPlan>& plan,
                   const cluster::Recorded& recorded) {
  const bool requests_gpu = !plan || plan->demand.gpu.asks_gpu();
  if (!requests_gpu && !cluster::has_slots(pod) && !pod.annotations.contains(model::kGrantKey))
    return;
  pods_.push_back({pod, plan, recorded});
}

}  // namespace tangram::cli
