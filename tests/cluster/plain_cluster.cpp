#include "tests/cluster/plain_cluster.hpp"

#include "model/snapshot.hpp"
#include "policies/registry.hpp"
#include "tests/testing/builders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
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
  demand.gpu.containers.resize(static_cast<std::size_t>(request.containers),
                               demand.gpu.containers.front());
  for (std::size_t i = 1; i < demand.gpu.containers.size(); ++i) {
    demand.gpu.containers[i].container = plain_name("main", i);
  }
  demand.gpu.isolation = request.mode == 0 ? model::Isolation::kMps : model::Isolation::kTimeSlice;
  demand.footprint = {.cpu = MilliCpu(request.cpu), .memory = {}, .slots = 1};
  return demand;
}

std::string card_id(std::size_t node, std::size_t card) {
  return plain_name("node", node) + "/" + std::to_string(card);
}

int memory_on(const PlainNode& node, const PlainRequest& request) {
  return request.whole() ? node.card_memory : request.memory;
}

/// Of the larger of compute and memory, in thousandths of cards.
std::int64_t size_on(const PlainNode& node, const PlainRequest& request) {
  const int memory = (1000 * memory_on(node, request) + node.card_memory - 1) / node.card_memory;
  return static_cast<std::int64_t>(request.all_cards()) * std::max(request.milli, memory);
}

std::vector<model::ContainerGrant> containers_of(const PlainCluster& cluster, const PlainPod& pod) {
  std::vector<model::ContainerGrant> containers;
  const int memory = memory_on(cluster.nodes[pod.node], pod.request);
  for (std::size_t i = 0; i < pod.cards.size(); ++i) {
    const std::size_t index = i / static_cast<std::size_t>(pod.request.cards);
    if (index == containers.size())
      containers.push_back({.container = plain_name("main", index), .cards = {}});
    auto& cards = containers.back().cards;
    cards.push_back(granted(card_id(pod.node, pod.cards[i]), memory, pod.request.milli));
    cards.back().whole = pod.request.whole();
  }
  return containers;
}

model::Allocation allocation_of(const PlainCluster& cluster, std::size_t index) {
  const PlainPod& pod = cluster.pods[index];
  auto it = allocation(plain_name("pod", index), plain_name("node", pod.node), {});
  it.containers = containers_of(cluster, pod);
  it.isolation = demand_of(pod.request).gpu.isolation;
  it.footprint = demand_of(pod.request).footprint;
  it.labels = {{"team", std::to_string(pod.team)}, {"site", std::to_string(pod.site)}};
  it.terminating = pod.terminating;
  it.tentative = pod.reserved;
  return it;
}

model::NodeState state_of(const PlainCluster& cluster, std::size_t index) {
  const PlainNode& plain = cluster.nodes[index];
  std::vector<model::Card> cards;
  for (std::size_t i = 0; i < plain.cards; ++i) {
    cards.push_back(card(card_id(index, i), "A100", Mebibytes(plain.card_memory)));
    cards.back().max_sharers = plain.max_sharers;
    cards.back().healthy = !has(plain.broken, i);
  }
  model::NodeInventory what = inventory(plain_name("node", index), std::move(cards));
  what.cpu = MilliCpu(plain.cpu);
  what.slots = plain.slots;
  model::NodeState state = node(std::move(what));
  for (std::size_t i = 0; i < cluster.pods.size(); ++i) {
    if (cluster.pods[i].node != index) continue;
    state = model::with_pod(state, allocation_of(cluster, i));
  }
  return state;
}

std::size_t index_in(std::string_view name) {
  return std::stoul(std::string(name.substr(name.size() - 3)));
}

void add_budgets(cluster::BudgetList& budgets, const std::string& label,
                 const std::map<int, int>& allowed_by_value) {
  for (const auto& [value, allowed] : allowed_by_value) {
    kube::DisruptionBudget budget;
    budget.ns = "ml";
    budget.name = label + "-" + std::to_string(value);
    budget.selector.terms.push_back({.key = label, .values = {std::to_string(value)}});
    budget.allowed = allowed;
    budgets.push_back(std::make_shared<const kube::DisruptionBudget>(budget));
  }
}

cluster::BudgetList budgets_of(const PlainCluster& cluster) {
  cluster::BudgetList budgets;
  add_budgets(budgets, "team", cluster.allowed);
  add_budgets(budgets, "site", cluster.allowed_at);
  return budgets;
}

cluster::PlacelessPod placeless(std::string name, const PlainRequest& request,
                                const policies::Policy* policy,
                                const std::string& controller = {}) {
  kube::Pod pod;
  if (!controller.empty()) pod.controller = {.kind = "ReplicaSet", .name = controller};
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

/// Calls visit(cards) for each choice of the node's cards for the pod's containers, until it
/// returns true.
// NOLINTNEXTLINE(misc-no-recursion): as deep as a pod has containers
bool any_cards(const PlainRequest& request, std::size_t of,
               const std::function<bool(const std::vector<std::size_t>&)>& visit,
               const std::vector<std::size_t>& chosen = {}) {
  if (chosen.size() == request.all_cards()) return visit(chosen);
  for (std::size_t mask = 0; mask < std::size_t{1} << of; ++mask) {
    if (std::popcount(mask) != request.cards) continue;
    std::vector<std::size_t> cards = chosen;
    for (std::size_t i = 0; i < of; ++i) {
      if ((mask >> i & 1U) != 0) cards.push_back(i);
    }
    if (any_cards(request, of, visit, cards)) return true;
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
  add_to_cards(request, node, cards, sign);
}

void PlainUse::add_to_cards(const PlainRequest& request, std::size_t node,
                            const std::vector<std::size_t>& cards, int sign) {
  for (const std::size_t index : cards) {
    Card& card = nodes_[node].cards[index];
    card.milli += sign * request.milli;
    card.memory += sign * memory_on(cluster_->nodes[node], request);
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
  const PlainNode& limits = cluster_->nodes[node];
  if (index >= limits.cards || has(limits.broken, index)) return false;
  const Card& card = nodes_[node].cards[index];
  const int sharers = card.sharers[0] + card.sharers[1];
  if (request.whole()) return sharers == 0;
  return card.whole == 0 && card.sharers[1 - request.mode] == 0 && sharers < limits.max_sharers &&
         card.milli + request.milli <= kFullCard &&
         card.memory + request.memory <= limits.card_memory;
}

bool PlainUse::takes(const PlainRequest& request, std::size_t node,
                     const std::vector<std::size_t>& cards) const {
  if (cluster_->nodes[node].closed || !has_cpu(request, node)) return false;
  if (cards.size() != request.all_cards()) return false;
  PlainUse then = *this;
  const auto each = static_cast<std::ptrdiff_t>(request.cards);
  for (auto from = cards.begin(); from != cards.end(); from += each) {
    const std::vector<std::size_t> its(from, from + each);
    if (std::set<std::size_t>(its.begin(), its.end()).size() != its.size()) return false;
    if (!std::ranges::all_of(its, [&](auto one) { return then.card_takes(request, node, one); })) {
      return false;
    }
    then.add_to_cards(request, node, its, 1);
  }
  return true;
}

bool PlainUse::has_room(const PlainRequest& request, std::size_t node) const {
  return !cluster_->nodes[node].closed && has_cpu(request, node) &&
         has_cards(request, node, request.containers);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as a pod has containers
bool PlainUse::has_cards(const PlainRequest& request, std::size_t node, int containers) const {
  PlainRequest one = request;
  one.containers = 1;
  return any_cards(one, cluster_->nodes[node].cards, [&](const auto& cards) {
    const bool fit = std::ranges::all_of(
        cards, [&](std::size_t card) { return card_takes(request, node, card); });
    if (!fit || containers == 1) return fit;
    PlainUse then = *this;
    then.add_to_cards(request, node, cards, 1);
    return then.has_cards(request, node, containers - 1);
  });
}

bool PlainUse::has_room(const PlainWanted& wanted) const {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (!has(wanted.not_on, node) && has_room(wanted.request, node)) return true;
  }
  return false;
}

namespace {

/// Counts who leaves.
class Disruptions {
 public:
  explicit Disruptions(const PlainCluster& cluster) : cluster_(cluster) {}

  /// One more. @returns whether the budgets allow it
  bool allow(const PlainPod& pod) {
    const bool by_team = is_within(cluster_.allowed, pod.team, ++by_team_[pod.team]);
    const bool by_site = is_within(cluster_.allowed_at, pod.site, ++by_site_[pod.site]);
    return by_team && by_site;
  }

 private:
  static bool is_within(const std::map<int, int>& allowed, int key, int count) {
    const auto budget = allowed.find(key);
    return budget == allowed.end() || count <= budget->second;
  }

  const PlainCluster& cluster_;
  std::map<int, int> by_team_;
  std::map<int, int> by_site_;
};

/// Follows a plan.
class Checker {
 public:
  explicit Checker(const PlainCluster& cluster)
      : cluster_(cluster), use_(cluster), disruptions_(cluster) {}

  std::string check(const cluster::MovePlan& plan) {
    place_those_that_fit(plan);
    for (const auto& arrival : plan.arrivals) {
      if (use_.has_room(cluster_.wanted[arrival.wanted])) {
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
    const PlainWanted& wanted = cluster_.wanted[arrival.wanted];
    const std::string who = fmt::format("wanted {} {}", arrival.wanted, when);
    if (has(wanted.not_on, index_in(arrival.place.node)))
      complain(who + " is on a node not for it");
    put(wanted.request, arrival.place, use_, who);
  }
  void place_those_that_fit(const cluster::MovePlan& plan) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < cluster_.wanted.size(); ++i) {
      if (next < plan.fit_already.size() && plan.fit_already[next].wanted == i) {
        place(plan.fit_already[next++], "which needs no move");
      } else if (!plan.cut_short && use_.has_room(cluster_.wanted[i])) {
        complain(fmt::format("wanted {} fits, which the plan does not say", i));
      }
    }
    if (next != plan.fit_already.size()) complain("those that fit are not in the order of all");
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
    if (!disruptions_.allow(pod)) complain("a budget is exceeded by " + move.pod->pod_uid);
    if (has(pod.not_on, index_in(move.next.node))) complain("a pod moves to a node not for it");
    put(pod.request, move.next, use_, "the next pod of " + move.pod->pod_uid);
    use_.add(pod.request, pod.node, pod.cards, -1);
    milli_ += size_on(cluster_.nodes[pod.node], pod.request);
  }
  void check_numbers(const cluster::MovePlan& plan) {
    std::int64_t gained = 0;
    for (const auto& arrival : plan.arrivals) {
      gained += size_on(cluster_.nodes[index_in(arrival.place.node)],
                        cluster_.wanted[arrival.wanted].request);
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
  Disruptions disruptions_;
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
    const bool found = any_cards(pod.request, cluster.nodes[node].cards, [&](const auto& cards) {
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
  if (has(cluster.wanted.front().not_on, node)) return false;
  Disruptions disruptions(cluster);
  PlainUse use(cluster);
  const PlainUse standing = use;
  for (const std::size_t index : leaving) {
    const PlainPod& pod = cluster.pods[index];
    if (!disruptions.allow(pod)) return false;
    use.add(pod.request, pod.node, pod.cards, -1);
  }
  return any_cards(wanted, cluster.nodes[node].cards, [&](const auto& cards) {
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
    const PlainWanted& pod = cluster.wanted[i];
    wanted.push_back({placeless(plain_name("wanted", i), pod.request, policy.get(), pod.controller),
                      pod.weight});
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
             const std::size_t its = index_in(pod.name);
             return !cluster.nodes[index].closed &&
                    !has(pod.name.starts_with("pod") ? cluster.pods[its].not_on
                                                     : cluster.wanted[its].not_on,
                         index);
           },
       .limits = *limits});
}

std::optional<std::size_t> fewest_moves(const PlainCluster& cluster, std::size_t most) {
  if (PlainUse(cluster).has_room(cluster.wanted.front())) return std::nullopt;
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
  request.containers = random.chance(10) ? 2 : 1;
  request.cpu = static_cast<int>(random.between(0, 6));
  request.mode = random.chance(10) ? 1 : 0;
  return request;
}

PlainNode random_node(Random& random) {
  PlainNode node{.cards = static_cast<std::size_t>(random.between(1, 4)),
                 .card_memory = random.chance(15) ? 500 : 1000,
                 .max_sharers = random.chance(15) ? 2 : 48,
                 .cpu = random.chance(30) ? 16 : 100,
                 .slots = random.chance(20) ? 8 : 0,
                 .closed = random.chance(8)};
  for (std::size_t card = 0; card < node.cards; ++card) {
    if (random.chance(8)) node.broken.push_back(card);
  }
  return node;
}

std::vector<std::size_t> random_nodes(Random& random, const PlainCluster& cluster) {
  std::vector<std::size_t> nodes;
  for (std::size_t node = 0; node < cluster.nodes.size(); ++node) {
    if (random.chance(8)) nodes.push_back(node);
  }
  return nodes;
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
    const bool full = pod.cards.size() == pod.request.all_cards();
    if (!full && use.card_takes(pod.request, pod.node, card)) pod.cards.push_back(card);
  }
  if (!use.takes(pod.request, pod.node, pod.cards)) return std::nullopt;
  pod.movable = random.chance(85);
  pod.terminating = random.chance(5);
  pod.reserved = random.chance(5);
  pod.team = static_cast<int>(random.below(4));
  pod.site = static_cast<int>(random.below(3));
  pod.not_on = random_nodes(random, cluster);
  return pod;
}

PlainWanted random_wanted(Random& random, const PlainCluster& cluster) {
  PlainWanted wanted{.request = random_request(random)};
  PlainRequest& request = wanted.request;
  if (random.chance(60)) request.milli = request.memory = random.chance(50) ? 1000 : 700;
  wanted.weight = static_cast<int>(random.between(1, 3));
  wanted.not_on = random_nodes(random, cluster);
  if (random.chance(50)) wanted.controller = "one";
  return wanted;
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
    cluster.wanted.push_back(random_wanted(random, cluster));
  }
  for (int team = 0; team < 3; ++team) {
    cluster.allowed[team] = static_cast<int>(random.below(4));
  }
  // Pods have a budget by their team, by their site, by both, or none.
  if (random.chance(50)) cluster.allowed_at[0] = static_cast<int>(random.below(3));
  cluster.most_moves = static_cast<std::size_t>(random.between(1, 6));
  return cluster;
}

}  // namespace tangram::testing
