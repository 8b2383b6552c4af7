#include "bench/replay/audit.hpp"

#include "bench/cluster_calls.hpp"
#include "cluster/cluster_feed.hpp"
#include "cluster/findings.hpp"
#include "cluster/shared_ledger.hpp"
#include "model/grant.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace tangram::bench {

namespace {

using model::ClusterSnapshot;
using model::NodeState;

void feed(kube::ObjectSink& sink, const std::vector<std::string>& objects) {
  sink.begin_list();
  for (const std::string& object : objects) sink.listed(object);
  sink.end_list();
}

bool same_allocations(const NodeState& a, const NodeState& b) {
  return std::equal(a.allocations.begin(), a.allocations.end(), b.allocations.begin(),
                    b.allocations.end(), [](const auto& x, const auto& y) { return *x == *y; });
}

std::optional<std::string> first_difference(const ClusterSnapshot& running,
                                            const ClusterSnapshot& rebuilt) {
  if (running.node_count() != rebuilt.node_count()) return "number of nodes differs";
  std::optional<std::string> difference;
  running.for_each([&](const NodeState& node) {
    const NodeState* other = rebuilt.find(node.name);
    if (difference) return;
    if (other == nullptr) {
      difference = "node " + node.name + " is missing";
    } else if (node.use != other->use || !(node.requested == other->requested) ||
               !(*node.inventory == *other->inventory) || !same_allocations(node, *other)) {
      difference = "node " + node.name + " differs";
    }
  });
  return difference;
}

std::optional<std::string> first_overgranted_card(const ClusterSnapshot& cluster) {
  std::optional<std::string> card;
  cluster.for_each([&](const NodeState& node) {
    for (std::size_t i = 0; i < node.use.size(); ++i) {
      const model::Card& what = node.cards()[i];
      if (node.use[i].memory > what.memory || node.use[i].compute > what.compute) card = what.id;
    }
  });
  return card;
}

/// A pod with a slot and a node must have a grant.
Result<void> check_grant(const std::string& object) {
  const auto pod = kube::decode_pod(object);
  if (!pod || pod->node.empty() || pod->annotations.contains(model::kGrantKey)) return {};
  if (!cluster::has_slots(*pod)) return {};
  return fail(Errc::kConflict, "pod " + pod->full_name() + " is bound without a grant");
}

}  // namespace

Result<void> audit(kube::KubeApi& api, const Clock& clock, const ClusterSnapshot& running) {
  const auto nodes = list(api, "/api/v1/nodes");
  if (!nodes) return nodes.error();
  const auto pods = list(api, "/api/v1/pods");
  if (!pods) return pods.error();
  cluster::SharedLedger ledger(clock);
  cluster::PodTable table;
  const cluster::PolicySource policies{{}};
  cluster::FeedCounters counters;
  cluster::NodeFeed node_feed(ledger, counters);
  cluster::PodFeed pod_feed(ledger, table, policies, counters, {});
  feed(node_feed, *nodes);
  feed(pod_feed, *pods);
  const auto rebuilt = ledger.snapshot();
  if (const auto difference = first_difference(running, *rebuilt)) {
    return fail(Errc::kConflict, "ledger rebuilt from the API server: " + *difference);
  }
  if (const auto card = first_overgranted_card(*rebuilt)) {
    return fail(Errc::kConflict, "card " + *card + " is over capacity");
  }
  for (const std::string& pod : *pods) {
    if (auto checked = check_grant(pod); !checked) return checked;
  }
  return {};
}

}  // namespace tangram::bench
