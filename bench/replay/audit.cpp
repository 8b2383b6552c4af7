#include "bench/replay/audit.hpp"

#include "cluster/cluster_feed.hpp"
#include "cluster/shared_ledger.hpp"
#include "kube/reflector.hpp"
#include "model/grant.hpp"

#include <optional>
#include <string>

namespace tangram::bench {

namespace {

using model::ClusterSnapshot;
using model::NodeState;

/// Passes the first full list on, counts pods without the grant they need, and stops the reflector.
class FirstList final : public kube::ObjectSink {
 public:
  FirstList(kube::ObjectSink& sink, std::stop_source stop) : sink_(sink), stop_(std::move(stop)) {}
  void begin_list() override { sink_.begin_list(); }
  void listed(std::string object) override { sink_.listed(std::move(object)); }
  void unlisted(std::string object) override { sink_.unlisted(std::move(object)); }
  void end_list() override {
    sink_.end_list();
    stop_.request_stop();
  }
  void change(kube::EventType /*type*/, std::string /*object*/) override {}

 private:
  kube::ObjectSink& sink_;
  std::stop_source stop_;
};

void list_into(kube::KubeApi& api, const Clock& clock, const std::string& path,
               kube::ObjectSink& sink) {
  const std::stop_source stop;
  FirstList first(sink, stop);
  kube::Reflector reflector(api, {.path = path, .field_selector = ""}, first, clock);
  reflector.run(stop.get_token());
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

/// Reads the pods by itself: a pod with a slot and a node must carry a grant.
class GrantCheck final : public kube::WholeListSink {
 public:
  void replace(std::vector<std::string> objects) override {
    for (std::string& object : objects) {
      const auto pod = kube::decode_pod(std::move(object));
      if (!pod || pod->node.empty()) continue;
      bool slot = false;
      for (const auto& container : pod->containers) slot = slot || container.slots > 0;
      if (slot && !pod->annotations.contains(model::kGrantKey)) without_grant = pod->full_name();
    }
  }
  void change(kube::EventType /*type*/, std::string /*object*/) override {}

  std::string without_grant;
};

}  // namespace

Result<void> audit(kube::KubeApi& api, const Clock& clock, const ClusterSnapshot& running) {
  cluster::SharedLedger ledger(clock);
  cluster::PendingPods pending;
  cluster::FeedCounters counters;
  cluster::NodeFeed nodes(ledger, counters);
  cluster::PodFeed pods(ledger, pending, counters, {}, {});
  list_into(api, clock, "/api/v1/nodes", nodes);
  list_into(api, clock, "/api/v1/pods", pods);
  const auto rebuilt = ledger.snapshot();
  if (const auto difference = first_difference(running, *rebuilt)) {
    return fail(Errc::kConflict, "ledger rebuilt from the API server: " + *difference);
  }
  if (const auto card = first_overgranted_card(*rebuilt)) {
    return fail(Errc::kConflict, "card " + *card + " is over capacity");
  }
  GrantCheck grants;
  list_into(api, clock, "/api/v1/pods", grants);
  if (!grants.without_grant.empty()) {
    return fail(Errc::kConflict, "pod " + grants.without_grant + " is bound without a grant");
  }
  return {};
}

}  // namespace tangram::bench
