#include "extender/broken_card_pods.hpp"

#include "cluster/broken_cards.hpp"
#include "cluster/movable.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace tangram::extender {

std::vector<EvictionCase> BrokenCardPods::look(const model::ClusterSnapshot& cluster,
                                               bool may_read) {
  std::vector<EvictionCase> cases;
  std::set<std::string, std::less<>> uids;
  std::size_t reads = 0;
  for (cluster::PodOnBrokenCard& pod : cluster::pods_on_broken_cards(cluster)) {
    uids.insert(pod.pod.uid);
    const auto found = known_.find(pod.pod.uid);
    const Known* known = found == known_.end() ? nullptr : &found->second;
    const bool reads_now =
        known == nullptr && may_read && reads < kMostReads && parts_.clock.now() >= next_read_;
    if (reads_now) {
      ++reads;
      known = read(pod.pod);
    }
    cases.push_back(
        {.pod = std::move(pod.pod),
         .controller = known == nullptr ? std::nullopt : std::optional(known->controller),
         .why = std::move(pod.why),
         .at_once = pod.draining});
  }
  std::erase_if(known_, [&](const auto& one) { return !uids.contains(one.first); });
  if (cases.empty()) {
    nodes_.clear();  // the memory, too
    nodes_at_.reset();
  }
  return cases;
}

const BrokenCardPods::Known* BrokenCardPods::read(const cluster::PodName& pod) {
  auto found = read_ruled_pod(parts_.api, pod, parts_.api_timeout);
  if (!found) {
    if (found.error().code == Errc::kNotFound) return nullptr;  // the watch shows it soon
    next_read_ = parts_.clock.now() + kUntilNextRead;
    spdlog::warn("a pod on a broken card stays for now: {}", found.error().message);
    return nullptr;
  }
  Known known{.controller = found->pod.controller, .next = std::nullopt};
  if (auto plan = parts_.policies.plan(found->pod)) {
    known.next = {.pod = {cluster::waiting_pod(std::move(found->pod)), *std::move(plan)},
                  .rules = cluster::known_rules(std::move(found->rules))};
  }
  return &known_.insert_or_assign(pod.uid, std::move(known)).first->second;
}

bool BrokenCardPods::read_nodes() {
  const TimePoint now = parts_.clock.now();
  if (nodes_at_ && now - *nodes_at_ < kNodesRemembered) return true;
  if (now < next_nodes_read_) return false;
  nodes_at_.reset();
  nodes_.clear();
  auto nodes = list_node_rules(parts_.api, parts_.api_timeout);
  if (!nodes) {
    next_nodes_read_ = parts_.clock.now() + kUntilNextRead;
    spdlog::warn("pods on broken cards stay for now: {}", nodes.error().message);
    return false;
  }
  nodes_ = *std::move(nodes);
  nodes_at_ = parts_.clock.now();
  return true;
}

/// The nodes are read only where the ledger has room. It is asked again then, because that may take
/// seconds.
std::string BrokenCardPods::obstacle(const EvictionCase& one, const cluster::SharedLedger& ledger) {
  const auto known = known_.find(one.pod.uid);
  if (known == known_.end()) return "it stays until it can be read again";
  if (!known->second.next) {
    known_.erase(known);  // to be read again
    return "it stays, because its annotations are not valid any more, so that the next pod would "
           "not be placed: correct them";
  }
  std::string why = hindrance(known->second, one.pod.ns, *ledger.snapshot(), Rules::kOfLedger);
  if (!why.empty()) return why;
  if (!read_nodes()) return "it stays until the nodes can be read again";
  const auto cluster = ledger.snapshot();
  const auto broken = cluster::pods_on_broken_cards(*cluster);
  if (std::ranges::none_of(broken, [&](const auto& each) { return each.pod.uid == one.pod.uid; })) {
    return "it stays, because its card can be used again";
  }
  return hindrance(known->second, one.pod.ns, *cluster, Rules::kOfNodes);
}

std::string BrokenCardPods::hindrance(const Known& known, const std::string& ns,
                                      const model::ClusterSnapshot& cluster, Rules rules) {
  if (cluster::has_waiting_pod(known.controller, ns, parts_.pods)) {
    return "it stays for now, because another pod of its controller waits for a node";
  }
  if (finds_place(*known.next, cluster, rules)) return "";
  if (rules == Rules::kOfNodes) {
    return "it stays for now, because no node with room on a card takes the pod that would replace "
           "it: it is cordoned, tainted, not ready, without slots, or not of the pod's node "
           "selector "
           "or affinity";
  }
  return "it stays for now, because no other card has room for the pod that would replace it";
}

bool BrokenCardPods::finds_place(const Next& next, const model::ClusterSnapshot& cluster,
                                 Rules rules) {
  const TimePoint now = parts_.clock.now();
  std::erase_if(claims_, [&](const Claim& claim) { return claim.until <= now; });
  std::vector<cluster::PlacelessPod> pods;
  std::map<const kube::Pod*, const cluster::PodRules*> rules_of;
  const auto add = [&](const Next& one) {
    pods.push_back(one.pod);
    rules_of.emplace(one.pod.pod.get(), &one.rules);
  };
  for (const Claim& claim : claims_) add(claim.next);
  add(next);
  model::SearchBudget budget(kSteps);
  if (rules == Rules::kOfLedger) return cluster::all_find_places(pods, cluster, budget);
  return cluster::all_find_places(pods, cluster, budget,
                                  [&](const kube::Pod& pod, const model::NodeState& node) {
                                    const auto known = nodes_.find(node.inventory->name);
                                    return node.inventory->slots > 0 && known != nodes_.end() &&
                                           cluster::takes(known->second, *rules_of.at(&pod));
                                  });
}

void BrokenCardPods::evicted(const EvictionCase& one) {
  const auto known = known_.find(one.pod.uid);
  if (known == known_.end() || !known->second.next) return;
  claims_.push_back({*known->second.next, parts_.clock.now() + kUntilPlaced});
}

}  // namespace tangram::extender
