#include "policies/node_kinds.hpp"

#include "model/placement.hpp"
#include "policies/demand_size.hpp"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <map>
#include <string_view>

namespace tangram::policies {

namespace {

using KindSet = std::bitset<kMostKinds>;

/// Demand that more than this share of the cluster's cards could take competes for nothing.
constexpr double kUnrestricted = 0.9;
/// Before much has been seen a model may be wanted by pods that just did not come yet, and a card
/// given away does not come back: as if this many more pods had asked for each model, in
/// proportion to how many pods restrict themselves at all.
constexpr double kUnseenPods = 10;
/// A kind that is full counts as this part free, so that its pressure stays finite.
constexpr double kLeastFree = 0.01;
/// Pressure beyond makes no difference: nothing but the restricted demand goes there anyway.
constexpr double kMostPressure = 10;
/// Rounds of water-filling; demand of different kinds settles within some ten.
constexpr int kRounds = 50;

struct Kind {
  NodeKind kind;
  model::NodeState empty;  ///< without pods: the node of the kind that offers most, the first such
  double cards = 0;        ///< of all its nodes
  double free = 0;         ///< cards
  double load = 0;         ///< restricted demand for each free card
};

/// Demand that only some kinds can take.
struct Restricted {
  KindSet kinds;
  double cards = 0;
  std::vector<double> on = {};  ///< by kind: how much of it is spread there
};

std::string_view first_model(const model::NodeInventory& inventory) {
  return inventory.cards.empty() ? std::string_view() : inventory.cards.front().model;
}

model::NodeState emptied(const model::NodeState& node) {
  model::NodeState empty;
  empty.name = node.name;
  empty.present = true;
  empty.inventory = node.inventory;
  empty.make = node.make;
  empty.use.resize(node.cards().size());
  return empty;
}

/// Cards that may take pods.
double offered_by(const model::NodeState& node) {
  MilliGpu compute;
  for (const model::CardTraits& card : node.traits()) {
    if (card.available()) compute += card.compute;
  }
  return static_cast<double>(compute.count()) / 1000;
}

/// Nodes that offer nothing, because all their cards are unhealthy or cordoned, are of no kind.
std::vector<Kind> kinds_of(const std::vector<const model::NodeState*>& nodes) {
  std::vector<Kind> kinds;
  for (const model::NodeState* node : nodes) {
    const double offered = offered_by(*node);
    if (!node->present || offered == 0) continue;
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& known) {
      return is_of_kind(*node->inventory, known.kind);
    });
    if (kind == kinds.end()) {
      if (kinds.size() == kMostKinds) continue;
      kinds.push_back({.kind = kind_of(*node->inventory), .empty = emptied(*node)});
      kind = kinds.end() - 1;
    }
    if (offered > offered_by(kind->empty)) kind->empty = emptied(*node);
    kind->cards += offered;
    kind->free += static_cast<double>(idle_compute(*node).count()) / 1000;
  }
  return kinds;
}

KindSet kinds_that_take(const model::PodDemand& demand, const std::vector<Kind>& kinds) {
  KindSet able;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    able[i] = demand.footprint.cpu <= kinds[i].empty.inventory->cpu &&
              model::place(demand.gpu, kinds[i].empty, [](const auto&, auto, const auto&) {
                return 0;
              }).has_value();
  }
  return able;
}

/// One share of the demand laid on its kinds, the least loaded first, until they are level.
void pour(Restricted& demand, std::vector<Kind>& kinds) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    kinds[i].load -= demand.on[i] / kinds[i].free;
    demand.on[i] = 0;
    if (demand.kinds[i]) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return kinds[a].load < kinds[b].load; });
  double free = 0;
  double filled = 0;
  double level = 0;
  std::size_t used = 0;
  while (used < order.size()) {
    const Kind& kind = kinds[order[used++]];
    free += kind.free;
    filled += kind.free * kind.load;
    level = (demand.cards + filled) / free;
    if (used < order.size() && level <= kinds[order[used]].load) break;
  }
  for (std::size_t i = 0; i < used; ++i) {
    Kind& kind = kinds[order[i]];
    demand.on[order[i]] = (level - kind.load) * kind.free;
    kind.load = level;
  }
}

class Pressures {
 public:
  explicit Pressures(const std::vector<const model::NodeState*>& nodes) : kinds_(kinds_of(nodes)) {
    for (Kind& kind : kinds_) {
      cards_ += kind.cards;
      kind.free = std::max(kind.free, kLeastFree * kind.cards);
      free_ += kind.free;
    }
  }

  void add(const Workload& workload) {
    for (const WorkloadClass& pods : workload.classes) add(pods);
    if (restricted_ > 0) expect_the_unseen(static_cast<double>(workload.total));
  }

  std::vector<KindPressure> result() {
    std::vector<KindPressure> result;
    if (restricted_ <= 0) return result;
    for (auto& [kinds, demand] : demands_) {
      demand.cards *= free_ / asked_;  // what comes until the free cards are full
      demand.on.assign(kinds_.size(), 0);
    }
    for (int round = 0; round < kRounds; ++round) {
      for (auto& [kinds, demand] : demands_) pour(demand, kinds_);
    }
    for (Kind& kind : kinds_) {
      const double load = std::clamp(kind.load, 0.0, kMostPressure);
      result.push_back({.kind = std::move(kind.kind), .pressure = std::llround(1000 * load)});
    }
    return result;
  }

 private:
  void add(const WorkloadClass& pods) {
    if (!pods.demand.gpu.asks_gpu()) return;
    const KindSet kinds = kinds_that_take(pods.demand, kinds_);
    if (kinds.none()) return;
    double room = 0;
    std::size_t first = kinds_.size();
    for (std::size_t i = kinds_.size(); i-- > 0;) {
      if (!kinds[i]) continue;
      room += kinds_[i].cards;
      first = i;
    }
    const model::Card& card = kinds_[first].empty.cards().front();
    const double cards = static_cast<double>(size_on(pods.demand.gpu, card) * pods.count) / 1000;
    asked_ += cards;
    if (room < kUnrestricted * cards_) demand(kinds, cards);
  }

  void expect_the_unseen(double pods) {
    const double unseen = kUnseenPods * (asked_ / pods) * (restricted_ / asked_);
    std::map<std::string_view, KindSet> by_model;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      by_model[first_model(*kinds_[i].empty.inventory)][i] = true;
    }
    for (const auto& [model, kinds] : by_model) {
      if (kinds.count() < kinds_.size()) demand(kinds, unseen);
    }
  }

  void demand(const KindSet& kinds, double cards) {
    Restricted& all = demands_[kinds.to_string()];
    all.kinds = kinds;
    all.cards += cards;
    restricted_ += cards;
  }

  std::vector<Kind> kinds_;
  std::map<std::string, Restricted> demands_;  ///< by kinds; ordered, to be the same every time
  double cards_ = 0;
  double free_ = 0;
  double asked_ = 0;  ///< cards, by all pods
  double restricted_ = 0;
};

}  // namespace

NodeKind kind_of(const model::NodeInventory& inventory) {
  return {.model = std::string(first_model(inventory)),
          .cards = inventory.cards.size(),
          .card_memory = inventory.cards.empty() ? 0 : inventory.cards.front().memory.count(),
          .cpu_octave = octave(inventory.cpu.count()),
          .memory_octave = octave(inventory.memory.count())};
}

bool is_of_kind(const model::NodeInventory& inventory, const NodeKind& kind) {
  return inventory.cards.size() == kind.cards && octave(inventory.cpu.count()) == kind.cpu_octave &&
         octave(inventory.memory.count()) == kind.memory_octave &&
         first_model(inventory) == kind.model &&
         (inventory.cards.empty() || inventory.cards.front().memory.count() == kind.card_memory);
}

std::vector<KindPressure> pressures(const Workload& workload,
                                    const std::vector<const model::NodeState*>& nodes) {
  Pressures all(nodes);
  all.add(workload);
  return all.result();
}

}  // namespace tangram::policies
