#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cli/cluster_settings.hpp"
#include "cluster/cluster_feed.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "kube/api.hpp"
#include "node/publish/own_node.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tangram::cli {

/// What the ledger does not know of a Node.
struct ListedNode {
  node::OwnNode own;           ///< its annotations, and the resources of other device plugins
  bool unschedulable = false;  ///< `kubectl cordon`: takes no new pods of any kind
};

/// A pod that requests cards, has a slot, or has a grant.
struct GpuPod {
  kube::Pod pod;
  Result<cluster::PodPlan> plan;  ///< its request, or what is wrong with it
  cluster::Recorded recorded;     ///< of a bound pod: its grant
  std::string created = {};       ///< RFC 3339; of a pod without a node
};

/// Called with each object as the API server sent it, while the cluster is read. Null = not.
struct ObjectVisitor {
  std::function<void(const ListedNode&, const std::string& object)> node = nullptr;
  /// @param pod  null = it is none of GpuPod
  std::function<void(const GpuPod* pod, const std::string& object)> pod = nullptr;
};

/// The cluster, built from one list of its nodes and one of its pods with the extender's ledger.
/// Reservations, which the extender keeps only in memory, are not included. Never changes after it
/// is made.
class Cluster final : private cluster::PodObserver {
 public:
  /// @param settings  also which grants count
  /// @param clock     outlives the cluster
  /// @returns as list() in api_reading.hpp
  static Result<std::unique_ptr<Cluster>> read(kube::KubeApi& api, const ClusterSettings& settings,
                                               const Clock& clock, const ObjectVisitor& visit = {});

  [[nodiscard]] cluster::ClusterPtr snapshot() const { return ledger_.snapshot(); }
  [[nodiscard]] const cluster::PodTable& table() const { return table_; }
  [[nodiscard]] const cluster::PolicySource& policies() const { return policies_; }
  [[nodiscard]] const std::vector<ListedNode>& nodes() const { return nodes_; }  ///< by name
  [[nodiscard]] const std::vector<GpuPod>& pods() const { return pods_; }  ///< by namespace, name

 private:
  Cluster(cluster::PolicySettings settings, const Clock& clock);
  Result<void> read_nodes(kube::KubeApi& api, const ObjectVisitor& visit);
  Result<void> read_pods(kube::KubeApi& api, model::SignatureCheck check,
                         const ObjectVisitor& visit);
  void take_node(const std::string& object, const ObjectVisitor& visit);
  void seen(const kube::Pod& pod, const Result<cluster::PodPlan>& plan,
            const cluster::Recorded& recorded) override;

  cluster::SharedLedger ledger_;
  cluster::PolicySource policies_;
  cluster::PodTable table_;
  cluster::FeedCounters counters_;
  std::vector<ListedNode> nodes_;
  std::vector<GpuPod> pods_;
};

}  // namespace tangram::cli
