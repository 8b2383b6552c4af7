#include "extender/cluster_metrics.hpp"

#include "base/metric_family.hpp"
#include "cluster/idle.hpp"

#include <chrono>
#include <string>

namespace tangram::extender {

namespace {

void add_gauge(MetricFamilies& all, const char* name, const char* help, auto value) {
  MetricFamily::gauge(name, help).add({}, value).into(all);
}

void add_ledger(cluster::SharedLedger& shared, MetricFamilies& all) {
  shared.apply([&](const model::Ledger& ledger) {
    add_gauge(all, "tangram_bound_pods", "Pods that hold something on a node, cards or not.",
              ledger.pod_count());
    add_gauge(all, "tangram_assumed_pods", "Pods whose bind is under way.", ledger.assumed_count());
    add_gauge(all, "tangram_held_pods", "Pods for which room is held until their bind comes.",
              ledger.reserved_count());
  });
}

void add_cards(const model::ClusterSnapshot& cluster, const policies::Workload& workload,
               MetricFamilies& all) {
  const cluster::Idle idle = cluster::measure_idle(cluster, workload);
  add_gauge(all, "tangram_nodes", "Nodes in the ledger.", cluster.node_count());
  add_gauge(all, "tangram_cards", "Cards in the ledger.", idle.cards);
  add_gauge(all, "tangram_over_granted_cards",
            "Cards whose grants exceed them; the pods bound last do not start.", idle.over_granted);
  add_gauge(all, "tangram_stray_grants", "Grants of cards that their node does not list.",
            idle.stray_grants);
  add_gauge(all, "tangram_fragmentation_ratio",
            "Idle GPU that the recent requests cannot use, of all idle GPU.",
            idle.idle > 0 ? idle.fragmented / idle.idle : 0);
  add_gauge(all, "tangram_stranded_memory_bytes",
            "Free memory of cards whose compute is all granted.", idle.stranded.count() << 20);
}

void add_waiting(const cluster::PodTable& table, MetricFamilies& all) {
  auto family = MetricFamily::gauge(
      "tangram_waiting_pods",
      "Pods that request a GPU and have no node, by the last answer that kube-scheduler got about "
      "each; only the leader is asked.");
  for (const auto& [wait, pods] : table.waits()) {
    family.add({{"reason", std::string(to_string(wait))}}, pods);
  }
  family.into(all);
}

void add_groups(const cluster::PodTable& table, const cluster::PodGroups& groups,
                MetricFamilies& all) {
  std::int64_t waiting = 0;
  std::int64_t partly_bound = 0;
  for (const std::string& key : table.waiting_groups()) {
    const std::size_t bound = table.group(key).bound;
    const auto needs = static_cast<std::size_t>(groups.min_count(key).value_or(0));
    if (bound < needs) ++(bound == 0 ? waiting : partly_bound);
  }
  auto family = MetricFamily::gauge(
      "tangram_pod_groups",
      "PodGroups with fewer members on nodes than they need to run, by how many of them are on "
      "nodes: none or some.");
  family.add({{"bound", "none"}}, waiting);
  family.add({{"bound", "some"}}, partly_bound);
  family.into(all);
}

void add_findings(const cluster::PodTable& table, MetricFamilies& all) {
  auto family = MetricFamily::gauge(
      "tangram_pod_findings",
      "Pods with something wrong, by what; events and /api/v1/explain say what to do.");
  for (const auto& [finding, pods] : table.findings()) {
    family.add({{"finding", std::string(to_string(finding))}}, pods);
  }
  family.into(all);
}

void add_rejected(const cluster::FeedCounters& counters, MetricFamilies& all) {
  MetricFamily::counter(
      "tangram_rejected_objects_total",
      "Objects of the API server that could not be taken as they stand, by what was wrong.")
      .add({{"what", "object"}}, counters.bad_objects.load())
      .add({{"what", "cards"}}, counters.bad_cards.load())
      .add({{"what", "grant"}}, counters.bad_grants.load())
      .into(all);
}

void add_grant_keys(const kube::GrantKeys::State& keys, const cluster::PodTable& table,
                    MetricFamilies& all) {
  auto by_key = MetricFamily::gauge(
      "tangram_grants_by_key",
      "Bound pods' grants by the id of the key that signed them; unsigned; unknown.");
  for (const auto& [key, pods] : table.grant_keys()) by_key.add({{"key", key}}, pods);
  by_key.into(all);
  auto known =
      MetricFamily::gauge("tangram_grant_key_known", "1 for every public key whose grants count.");
  for (const std::string& key : keys.known) known.add({{"key", key}}, 1);
  known.into(all);
  add_gauge(all, "tangram_grant_keys_stale",
            "1 if the files of keys cannot be used, and those from before count; see the log.",
            keys.stale ? 1 : 0);
}

}  // namespace

std::vector<prometheus::MetricFamily> ClusterMetrics::Collect() const {
  MetricFamilies all;
  add_ledger(parts_.ledger, all);
  add_cards(*parts_.ledger.snapshot(), *parts_.policies.workload(), all);
  add_gauge(all, "tangram_pending_pods", "Pods without a node, of every scheduler.",
            parts_.pods.pending_count());
  add_waiting(parts_.pods, all);
  add_groups(parts_.pods, parts_.groups, all);
  add_findings(parts_.pods, all);
  add_rejected(parts_.feed_counters, all);
  add_grant_keys(parts_.grant_keys(), parts_.pods, all);
  const auto seconds_since = [now = parts_.clock.now()](const kube::Reflector::Health& watch) {
    return std::chrono::duration<double>(now - watch.last_heard).count();
  };
  MetricFamily::gauge("tangram_watch_lag_seconds",
                      "Time since the API server was last heard of, by what is watched.")
      .add({{"resource", "nodes"}}, seconds_since(parts_.nodes_watch()))
      .add({{"resource", "pods"}}, seconds_since(parts_.pods_watch()))
      .into(all);
  add_gauge(all, "tangram_leader", "1 if this replica binds pods, else 0.",
            parts_.serving() ? 1 : 0);
  return all;
}

}  // namespace tangram::extender
