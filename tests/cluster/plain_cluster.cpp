#include "tests/cluster/plain_cluster.hpp"

#include "model/snapshot.hpp"
#include "policies/registry.hpp"
#include "tests/testing/builders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

namespace tangram::testing {

namespace {

constexpr int kFullCard = 1000;

template <class Values, class Value>
bool has(const Values& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

model::Share share_of(const PlainRequest& request) {
  if (request.whole()) return whole();
  model::Share share = memory(request.memory);
  share.compute = MilliGpu(request.milli);
  return share;
}

model::PodDemand demand_of(const PlainRequest& request) {
  model::PodDemand demand;
  demand.gpu = testing::request(share_of(request), request.cards);
  demand.gpu.isolation = request.mode == 0 ? model::Isolation::kMps : model::Isolation::kTimeSlice;
  demand.footprint = {.cpu = MilliCpu(request.cpu), .memory = {}, .slots = 1};
  return demand;
}

std::string card_id(std::size_t node, std::size_t card) {
  return plain_name("node", node) + "/" + std::to_string(card);
}

model::Allocation allocation_of(const PlainPod& pod, std::size_t index) {
  std::vector<model::GrantedCard> cards;
  for (const std::size_t card : pod.cards) {
    cards.push_back(granted(card_id(pod.node, card), pod.request.memory, pod.request.milli));
    cards.back().whole = pod.request.whole();
  }
  auto it = allocation(plain_name("pod", index), plain_name("node", pod.node), std::move(cards));
  it.isolation = demand_of(pod.request).gpu.isolation;
  it.footprint = demand_of(pod.request).footprint;
  it.labels = {{"team", std::to_string(pod.team)}};
  it.terminating = pod.terminating;
  it.tentative = pod.reserved;
  return it;
}

model::NodeState state_of(const PlainCluster& cluster, std::size_t index) {
  const PlainNode& plain = cluster.nodes[index];
  std::vector<model::Card> cards;
  for (std::size_t i = 0; i < plain.cards; ++i) {
    cards.push_back(card(card_id(index, i), "A100", Mebibytes(kFullCard)));
    cards.back().healthy = !has(plain.broken, i);
  }
  model::NodeInventory what = inventory(plain_name("node", index), std::move(cards));
  what.cpu = MilliCpu(plain.cpu);
  what.slots = plain.slots;
  model::NodeState state = node(std::move(what));
  for (std::size_t i = 0; i < cluster.pods.size(); ++i) {
    if (cluster.pods[i].node != index) continue;
    state = model::with_pod(state, allocation_of(cluster.pods[i], i));
  }
  return state;
}

std::size_t index_in(std::string_view name) {
  return std::stoul(std::string(name.substr(name.size() - 3)));
}

cluster::BudgetList budgets_of(const PlainCluster& cluster) {
  cluster::BudgetList budgets;
  for (const auto& [team, allowed] : cluster.allowed) {
    kube::DisruptionBudget budget;
    budget.ns = "ml";
    budget.name = "team-" + std::to_string(team);
    budget.selector.terms.push_back({.key = "team", .values = {std::to_string(team)}});
    budget.allowed = allowed;
    budgets.push_back(std::make_shared<const kube::DisruptionBudget>(budget));
  }
  return budgets;
}

cluster::PlacelessPod placeless(std::string name, const PlainRequest& request,
                                const policies::Policy* policy) {
  kube::Pod pod;
  pod.uid = pod.name = std::move(name);
  pod.ns = "ml";
  return {.pod = std::make_shared<const kube::Pod>(std::move(pod)),
          .plan = {.demand = demand_of(request), .policies = nullptr, .policy = policy}};
}

std::vector<std::size_t> cards_in(const model::Allocation& place) {
  std::vector<std::size_t> cards;
  for (const auto& container : place.containers) {
    for (const auto& granted : container.cards) {
      const auto slash = granted.uuid.find('/');
      cards.push_back(granted.uuid.substr(0, slash) == place.node
                          ? std::stoul(granted.uuid.substr(slash + 1))
                          : 1'000'000);
    }
  }
  return cards;
}

/// Calls visit(cards) for each choice of so many of the node's cards, until it returns true.
bool any_cards(std::size_t wanted, std::size_t of,
               const std::function<bool(const std::vector<std::size_t>&)>& visit) {
  for (std::size_t mask = 0; mask < std::size_t{1} << of; ++mask) {
    std::vector<std::size_t> cards;
    for (std::size_t i = 0; i < of; ++i) {
      if ((mask >> i & 1U) != 0) cards.push_back(i);
    }
    if (cards.size() == wanted && visit(cards)) return true;
  }
  return false;
}

}  // namespace

std::string plain_name(const char* kind, std::size_t index) {
  return fmt::format("{}-{:03}", kind, index);
}

PlainUse::PlainUse(const PlainCluster& cluster) : cluster_(&cluster) {
  for (const PlainNode& node : cluster.nodes) {
    nodes_.push_back({.cards = std::vector<Card>(node.cards)});
  }
  for (const PlainPod& pod : cluster.pods) add(pod.request, pod.node, pod.cards);
}

void PlainUse::add(const PlainRequest& request, std::size_t node,
                   const std::vector<std::size_t>& cards, int sign) {
  nodes_[node].cpu += sign * request.cpu;
  nodes_[node].slots += sign;
  for (const std::size_t index : cards) {
    Card& card = nodes_[node].cards[index];
    card.milli += sign * request.milli;
    card.memory += sign * request.memory;
    card.sharers[request.mode] += sign;
    if (request.whole()) card.whole += sign;
  }
}

bool PlainUse::has_cpu(const PlainRequest& request, std::size_t node) const {
  const PlainNode& limits = cluster_->nodes[node];
  return nodes_[node].cpu + request.cpu <= limits.cpu &&
         (limits.slots == 0 || nodes_[node].slots + 1 <= limits.slots);
}

bool PlainUse::card_takes(const PlainRequest& request, std::size_t node, std::size_t index) const {
  if (index >= nodes_[node].cards.size() || has(cluster_->nodes[node].broken, index)) return false;
  const Card& card = nodes_[node].cards[index];
  if (request.whole()) return card.sharers[0] + card.sharers[1] == 0;
  return card.whole == 0 && card.sharers[1 - request.mode] == 0 &&
         card.milli + request.milli <= kFullCard && card.memory + request.memory <= kFullCard;
}

bool PlainUse::takes(const PlainRequest& request, std::size_t node,
                     const std::vector<std::size_t>& cards) const {
  const std::set<std::size_t> different(cards.begin(), cards.end());
  return !cluster_->nodes[node].closed && has_cpu(request, node) &&
         different.size() == static_cast<std::size_t>(request.cards) &&
         cards.size() == different.size() &&
         std::ranges::all_of(cards, [&](auto card) { return card_takes(request, node, card); });
}

bool PlainUse::has_room(const PlainRequest& request, std::size_t node) const {
  if (cluster_->nodes[node].closed || !has_cpu(request, node)) return false;
  int cards = 0;
  for (std::size_t i = 0; i < nodes_[node].cards.size(); ++i) {
    if (card_takes(request, node, i)) ++cards;
  }
  return cards >= request.cards;
}

bool PlainUse::has_room(const PlainRequest& request) const {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (has_room(request, node)) return true;
  }
  return false;
}

namespace {

/// Follows a plan.
class Checker {
 public:
  explicit Checker(const PlainCluster& cluster) : cluster_(cluster), use_(cluster) {}

  std::string check(const cluster::MovePlan& plan) {
    for (const auto& arrival : plan.fit_already) place(arrival, "which needs no move");
    for (const auto& arrival : plan.arrivals) {
      if (use_.has_room(cluster_.wanted[arrival.wanted].request)) {
        complain(fmt::format("wanted {} fits without a move", arrival.wanted));
      }
    }
    check_all_stand(plan);
    std::size_t next = 0;
    for (std::size_t done = 0; done <= plan.moves.size(); ++done) {
      if (done > 0) make(plan.moves[done - 1]);
      while (next < plan.arrivals.size() && plan.arrivals[next].after <= done) {
        place(plan.arrivals[next++], "after its moves");
      }
    }
    if (next != plan.arrivals.size()) complain("an arrival is after more moves than there are");
    check_numbers(plan);
    return complaint_;
  }

 private:
  void complain(std::string what) {
    if (complaint_.empty()) complaint_ = std::move(what);
  }
  void put(const PlainRequest& request, const model::Allocation& place, PlainUse& use,
           const std::string& who) {
    const auto cards = cards_in(place);
    const std::size_t node = index_in(place.node);
    if (use.takes(request, node, cards)) {
      use.add(request, node, cards);
    } else {
      complain(who + " has no room on " + place.node);
    }
  }
  void place(const cluster::Arrival& arrival, const std::string& when) {
    if (!placed_.insert(arrival.wanted).second) complain("a wanted pod arrives twice");
    put(cluster_.wanted[arrival.wanted].request, arrival.place, use_,
        fmt::format("wanted {} {}", arrival.wanted, when));
  }
  /// All next pods fit, in any order, beside all that stands before the first move.
  void check_all_stand(const cluster::MovePlan& plan) {
    PlainUse all = use_;
    for (const auto& move : plan.moves) {
      put(cluster_.pods[index_in(move.pod->pod_uid)].request, move.next, all,
          "the next pod of " + move.pod->pod_uid + ", while all stand,");
    }
  }
  void make(const cluster::Move& move) {
    const std::size_t index = index_in(move.pod->pod_uid);
    const PlainPod& pod = cluster_.pods[index];
    if (!moved_.insert(index).second) complain("a pod moves twice");
    if (!pod.movable || pod.terminating || pod.reserved) complain("a pod moves that must not");
    const auto budget = cluster_.allowed.find(pod.team);
    if (budget != cluster_.allowed.end() && ++disrupted_[pod.team] > budget->second) {
      complain(fmt::format("the budget of team {} is exceeded", pod.team));
    }
    if (has(pod.not_on, index_in(move.next.node))) complain("a pod moves to a node not for it");
    put(pod.request, move.next, use_, "the next pod of " + move.pod->pod_uid);
    use_.add(pod.request, pod.node, pod.cards, -1);
    milli_ += pod.request.milli * pod.request.cards;
  }
  void check_numbers(const cluster::MovePlan& plan) {
    std::int64_t gained = 0;
    for (const auto& arrival : plan.arrivals) {
      const PlainRequest& request = cluster_.wanted[arrival.wanted].request;
      gained += std::max(request.milli, request.memory) * request.cards;
    }
    if (plan.moves.size() > cluster_.most_moves) complain("too many moves");
    if (plan.moved_milli != milli_) complain("moved_milli is wrong");
    if (plan.gained_milli != gained) complain("gained_milli is wrong");
    if (plan.arrivals.empty() != plan.moves.empty()) complain("moves for nothing");
    const bool needed = plan.moves.empty() || plan.arrivals.back().after == plan.moves.size();
    if (!needed) complain("the last moves help nobody");
  }

  const PlainCluster& cluster_;
  PlainUse use_;
  std::set<std::size_t> moved_;
  std::set<std::size_t> placed_;
  std::map<int, int> disrupted_;
  std::int64_t milli_ = 0;
  std::string complaint_;
};

/// Are there places for all of the pods, which stand until then, beside a wanted pod that comes
/// after?
bool find_places(const PlainCluster& cluster, const std::vector<std::size_t>& leaving,
                 std::size_t from, PlainUse standing, PlainUse in_the_end) {
  if (from == leaving.size()) return true;
  const PlainPod& pod = cluster.pods[leaving[from]];
  for (std::size_t node = 0; node < cluster.nodes.size(); ++node) {
    if (has(pod.not_on, node)) continue;
    const auto wanted = static_cast<std::size_t>(pod.request.cards);
    const bool found = any_cards(wanted, cluster.nodes[node].cards, [&](const auto& cards) {
      if (!standing.takes(pod.request, node, cards)) return false;
      if (!in_the_end.takes(pod.request, node, cards)) return false;
      PlainUse then = standing;
      PlainUse end = in_the_end;
      then.add(pod.request, node, cards);
      end.add(pod.request, node, cards);
      return find_places(cluster, leaving, from + 1, then, end);
    });
    if (found) return true;
  }
  return false;
}

bool suffices(const PlainCluster& cluster, const std::vector<std::size_t>& leaving,
              std::size_t node) {
  const PlainRequest& wanted = cluster.wanted.front().request;
  std::map<int, int> disrupted;
  PlainUse use(cluster);
  const PlainUse standing = use;
  for (const std::size_t index : leaving) {
    const PlainPod& pod = cluster.pods[index];
    if (cluster.allowed.contains(pod.team) &&
        ++disrupted[pod.team] > cluster.allowed.at(pod.team)) {
      return false;
    }
    use.add(pod.request, pod.node, pod.cards, -1);
  }
  return any_cards(static_cast<std::size_t>(wanted.cards), cluster.nodes[node].cards,
                   [&](const auto& cards) {
                     if (!use.takes(wanted, node, cards)) return false;
                     PlainUse end = use;
                     end.add(wanted, node, cards);
                     return find_places(cluster, leaving, 0, standing, end);
                   });
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as there are moves
bool any_set(const PlainCluster& cluster, std::size_t node, std::size_t missing, std::size_t from,
             std::vector<std::size_t>& leaving) {
  if (missing == 0) return suffices(cluster, leaving, node);
  for (std::size_t i = from; i < cluster.pods.size(); ++i) {
    const PlainPod& pod = cluster.pods[i];
    if (pod.node != node || !pod.movable || pod.terminating || pod.reserved) continue;
    leaving.push_back(i);
    const bool found = any_set(cluster, node, missing - 1, i + 1, leaving);
    leaving.pop_back();
    if (found) return true;
  }
  return false;
}

}  // namespace

std::string mistake_in(const PlainCluster& cluster, const cluster::MovePlan& plan) {
  return Checker(cluster).check(plan);
}

cluster::MovePlan plan_for(const PlainCluster& cluster, const std::string& policy_name,
                           std::optional<cluster::MoveLimits> limits) {
  const auto policy = *policies::make_policy(policy_name, {});
  model::NodeTable table;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) table.put(state_of(cluster, i));
  const auto snapshot = table.publish();
  std::vector<cluster::WantedPod> wanted;
  for (std::size_t i = 0; i < cluster.wanted.size(); ++i) {
    wanted.push_back({placeless(plain_name("wanted", i), cluster.wanted[i].request, policy.get()),
                      cluster.wanted[i].weight});
  }
  const auto budgets = budgets_of(cluster);
  if (!limits) limits = {.moves = cluster.most_moves};
  return cluster::plan_moves(
      {.cluster = *snapshot,
       .wanted = wanted,
       .budgets = budgets,
       .movable = [&](const auto& pod) { return cluster.pods[index_in(pod.pod_uid)].movable; },
       .next_pod =
           [&](const auto& pod) {
             const PlainRequest& request = cluster.pods[index_in(pod.pod_uid)].request;
             return std::make_shared<const cluster::PlacelessPod>(
                 placeless(pod.pod_uid, request, policy.get()));
           },
       .takes =
           [&](const kube::Pod& pod, const model::NodeState& node) {
             const std::size_t index = index_in(node.name);
             return !cluster.nodes[index].closed &&
                    !(pod.name.starts_with("pod") &&
                      has(cluster.pods[index_in(pod.name)].not_on, index));
           },
       .limits = *limits});
}

std::optional<std::size_t> fewest_moves(const PlainCluster& cluster, std::size_t most) {
  if (PlainUse(cluster).has_room(cluster.wanted.front().request)) return std::nullopt;
  for (std::size_t moves = 1; moves <= most; ++moves) {
    for (std::size_t node = 0; node < cluster.nodes.size(); ++node) {
      std::vector<std::size_t> leaving;
      if (any_set(cluster, node, moves, 0, leaving)) return moves;
    }
  }
  return std::nullopt;
}

namespace {

PlainRequest random_request(Random& random) {
  constexpr std::array kSizes{100, 150, 200, 250, 300, 400, 500, 600, 1000};
  PlainRequest request{.milli = random.one_of(kSizes)};
  request.memory = random.chance(70) ? request.milli : random.one_of(kSizes);
  request.cards = random.chance(15) ? 2 : 1;
  request.cpu = static_cast<int>(random.between(0, 6));
  request.mode = random.chance(10) ? 1 : 0;
  return request;
}

PlainNode random_node(Random& random) {
  PlainNode node{.cards = static_cast<std::size_t>(random.between(1, 4)),
                 .cpu = random.chance(30) ? 16 : 100,
                 .slots = random.chance(20) ? 8 : 0,
                 .closed = random.chance(8)};
  for (std::size_t card = 0; card < node.cards; ++card) {
    if (random.chance(8)) node.broken.push_back(card);
  }
  return node;
}

/// Where it has room, if the first try finds some.
std::optional<PlainPod> random_pod(Random& random, const PlainCluster& cluster,
                                   const PlainUse& use) {
  PlainPod pod{.request = random_request(random)};
  if (pod.request.milli > 500 && random.chance(70)) pod.request.milli = pod.request.memory = 300;
  pod.node =
      static_cast<std::size_t>(random.below(static_cast<std::int64_t>(cluster.nodes.size())));
  std::vector<std::size_t> order(cluster.nodes[pod.node].cards);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + random.below(static_cast<std::int64_t>(order.size())),
              order.end());
  for (const std::size_t card : order) {
    const bool full = pod.cards.size() == static_cast<std::size_t>(pod.request.cards);
    if (!full && use.card_takes(pod.request, pod.node, card)) pod.cards.push_back(card);
  }
  if (!use.takes(pod.request, pod.node, pod.cards)) return std::nullopt;
  pod.movable = random.chance(85);
  pod.terminating = random.chance(5);
  pod.reserved = random.chance(5);
  pod.team = static_cast<int>(random.below(4));
  for (std::size_t node = 0; node < cluster.nodes.size(); ++node) {
    if (random.chance(8)) pod.not_on.push_back(node);
  }
  return pod;
}

}  // namespace

PlainCluster random_cluster(Random& random, std::size_t most_pods) {
  PlainCluster cluster;
  for (auto nodes = random.between(1, 4); nodes > 0; --nodes) {
    cluster.nodes.push_back(random_node(random));
  }
  PlainUse use(cluster);
  std::size_t cards = 0;
  for (const PlainNode& node : cluster.nodes) cards += node.cards;
  // Somewhat more than half full, as a rule: then room can be made, and next pods have some.
  const auto tries = static_cast<std::int64_t>(cards) * random.between(10, 25) / 10;
  for (std::int64_t i = 0; i < tries && cluster.pods.size() < most_pods; ++i) {
    const auto pod = random_pod(random, cluster, use);
    if (!pod) continue;
    use.add(pod->request, pod->node, pod->cards);
    cluster.pods.push_back(*pod);
  }
  for (auto wanted = random.between(1, 4); wanted > 0; --wanted) {
    PlainRequest request = random_request(random);
    if (random.chance(60)) request.milli = request.memory = random.chance(50) ? 1000 : 700;
    cluster.wanted.push_back({request, static_cast<int>(random.between(1, 3))});
  }
  for (int team = 0; team < 3; ++team) {
    cluster.allowed[team] = static_cast<int>(random.below(4));
  }
  cluster.most_moves = static_cast<std::size_t>(random.between(1, 6));
  return cluster;
}

}  // namespace tangram::testing
