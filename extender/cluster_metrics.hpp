#pragma once

#include "base/clock.hpp"
#include "cluster/cluster_feed.hpp"
#include "cluster/pod_groups.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "kube/grant_keys.hpp"
#include "kube/reflector.hpp"

#include <prometheus/collectable.h>

#include <functional>
#include <vector>

namespace tangram::extender {

/// What this replica knows of the cluster, as metrics: read from its parts at every scrape. Their
/// number does not depend on the cluster's size.
/// Threads: safe.
class ClusterMetrics final : public prometheus::Collectable {
 public:
  struct Parts {
    cluster::SharedLedger& ledger;  ///< this and the other references outlive it
    const cluster::PodTable& pods;
    const cluster::PodGroups& groups;
    const cluster::PolicySource& policies;
    const cluster::FeedCounters& feed_counters;
    const Clock& clock;
    std::function<kube::Reflector::Health()> nodes_watch;
    std::function<kube::Reflector::Health()> pods_watch;
    std::function<kube::GrantKeys::State()> grant_keys;  ///< none known = grants are not signed
    std::function<bool()> serving;                       ///< this replica binds pods
  };
  explicit ClusterMetrics(Parts parts) : parts_(std::move(parts)) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  Parts parts_;
};

}  // namespace tangram::extender
