#include "policies/prices.hpp"

#include "policies/demand_size.hpp"
#include "policies/fill.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace tangram::policies {

namespace {

/// A node is not short of CPU before it has a little less than its pods need on average: some of
/// them need less, and they find it.
constexpr double kMargin = 0.95;
/// CPU beyond so many times the average need of a card reaches no pod that asks for a card.
constexpr double kUsefulCpu = 3;
/// Where CPU is short in the whole cluster, cards without enough of it are no policy's fault: the
/// need falls with the square of the shortage, but not below this part.
constexpr double kLeastNeed = 0.5;

/// Demand of the pods that ask for cards, and of the others.
struct Needs {
  double cards = 0;
  double together = 0;   ///< cards, of containers that want several
  double whole = 0;      ///< cards, of containers that want them whole
  double cpu = 0;        ///< milli, beside the cards
  double other_cpu = 0;  ///< milli, of pods without cards
};

double cards_together(const model::GpuRequest& request, const model::Card& card) {
  double cards = 0;
  for (const model::ContainerRequest& container : request.containers) {
    if (container.count == 1) continue;
    const std::int64_t each = size_on(slice_of(container.share, card), card);
    cards += container.count * static_cast<double>(each) / 1000;
  }
  return cards;
}

double whole_cards(const model::GpuRequest& request, const model::Card& card) {
  double cards = 0;
  for (const model::ContainerRequest& container : request.containers) {
    if (slice_of(container.share, card).whole) cards += container.count;
  }
  return cards;
}

Needs needs_of(const Workload& workload, const model::Card& card) {
  Needs needs;
  for (const WorkloadClass& pods : workload.classes) {
    const auto count = static_cast<double>(pods.count);
    const double cpu = count * static_cast<double>(pods.demand.footprint.cpu.count());
    if (pods.demand.gpu.asks_gpu()) {
      needs.cards += count * static_cast<double>(size_on(pods.demand.gpu, card)) / 1000;
      needs.together += count * cards_together(pods.demand.gpu, card);
      needs.whole += count * whole_cards(pods.demand.gpu, card);
      needs.cpu += cpu;
    } else {
      needs.other_cpu += cpu;
    }
  }
  return needs;
}

/// How much of the CPU that pods with cards will want there is for them; at most 1. Pods without
/// cards, which come at their rate, are served first from what no card can use.
double cpu_sufficiency(const Needs& needs, const std::vector<const model::NodeState*>& nodes) {
  const double per_card = needs.cpu / needs.cards;
  double cards = 0;
  double useful = 0;
  double spare = 0;
  for (const model::NodeState* node : nodes) {
    const double idle = static_cast<double>(idle_compute(*node).count()) / 1000;
    const auto cpu = static_cast<double>(node->free_cpu().count());
    const double most = kUsefulCpu * per_card * idle;
    cards += idle;
    useful += std::min(cpu, most);
    spare += std::max(0.0, cpu - most);
  }
  if (cards <= 0) return 1;
  const double taken = std::max(0.0, needs.other_cpu / needs.cards * cards - spare);
  return std::clamp((useful - taken) / (per_card * cards), 0.0, 1.0);
}

std::int64_t cpu_per_card(const Needs& needs, const std::vector<const model::NodeState*>& nodes) {
  if (needs.cards <= 0 || needs.cpu <= 0) return 0;
  const double enough = cpu_sufficiency(needs, nodes);
  const double part = std::min(kMargin, std::max(kLeastNeed, enough * enough));
  return std::llround(part * needs.cpu / needs.cards);
}

std::int64_t opening(const Needs& needs) {
  if (needs.cards <= 0) return 0;
  return std::llround(static_cast<double>(kFull) * std::pow(needs.together / needs.cards, 3));
}

double cards_of(const std::vector<const model::NodeState*>& nodes) {
  double cards = 0;
  for (const model::NodeState* node : nodes) cards += static_cast<double>(node->cards().size());
  return cards;
}

std::int64_t card_opening(const Needs& needs, double cards) {
  const double whole = (needs.whole + kUnseenWholeCards) / (needs.cards + kUnseenWholeCards);
  return std::llround(static_cast<double>(kFull) * std::sqrt(whole * (1 - whole) / cards));
}

/// How far the values of the linear program hold for this demand and so many cards; 0 to 1.
///
/// Sizes that were seen only once say nothing of the pods to come: together they are as likely as
/// sizes that were never seen (Good 1953, after Turing). And the program cuts fractions of cards by
/// as many patterns as there are sizes; with whole cards, up to as many cards come out otherwise.
/// What holds for less than half of the demand counts for nothing: on small clusters such values
/// did more harm than none (tangram-small-clusters).
double trust_in(const std::vector<CutDemand>& demand, double cards) {
  double pieces = 0;
  double repeated = 0;
  for (const CutDemand& size : demand) {
    const auto count = static_cast<double>(size.count);
    pieces += count;
    if (size.count > 1) repeated += count;
  }
  const double right =
      repeated / pieces * std::max(0.0, 1 - static_cast<double>(demand.size()) / cards);
  return std::max(0.0, 2 * right - 1);
}

RestValues rest_values_for(const Workload& workload, const model::Card& card, double cards) {
  std::map<std::int64_t, std::int64_t> pieces;
  for (const WorkloadClass& pods : workload.classes) {
    for (const model::ContainerRequest& container : pods.demand.gpu.containers) {
      const std::int64_t size = size_on(slice_of(container.share, card), card);
      if (size > 0 && size < 1000) pieces[size] += pods.count * container.count;
    }
  }
  std::vector<CutDemand> demand;
  demand.reserve(pieces.size());
  for (const auto& [size, count] : pieces) {
    demand.push_back({.size = static_cast<std::size_t>(size), .count = count});
  }
  const double trust = demand.empty() ? 0 : trust_in(demand, cards);
  RestValues values = rest_values(std::move(demand));
  for (std::size_t rest = 0; rest < values.size(); ++rest) {
    const std::int64_t by_size = kFull / 1000 * static_cast<std::int64_t>(rest);
    const double more = trust * static_cast<double>(values[rest] - by_size);
    values[rest] = std::llround(static_cast<double>(by_size) + more);
  }
  return values;
}

/// A card of each memory size.
std::map<std::int64_t, model::Card> card_sizes(const std::vector<const model::NodeState*>& nodes) {
  std::map<std::int64_t, model::Card> sizes;
  for (const model::NodeState* node : nodes) {
    for (const model::Card& card : node->cards()) {
      if (sizes.size() < kMostCardSizes) sizes.try_emplace(card.memory.count(), card);
    }
  }
  return sizes;
}

bool near(std::int64_t a, std::int64_t b, std::int64_t tolerance) {
  return std::abs(a - b) <= tolerance;
}

}  // namespace

const Prices::CardRests* Prices::rests_for(Mebibytes card_memory) const {
  if (rests.empty()) return nullptr;
  auto own = std::lower_bound(
      rests.begin(), rests.end(), card_memory.count(),
      [](const CardRests& known, std::int64_t memory) { return known.card_memory < memory; });
  if (own == rests.end()) --own;
  return &*own;
}

std::int64_t Prices::pressure_on(const model::NodeInventory& inventory) const {
  for (const KindPressure& known : kinds) {
    if (is_of_kind(inventory, known.kind)) return known.pressure;
  }
  return 0;
}

Prices learn_prices(const Workload& workload, const model::ClusterSnapshot& cluster) {
  Prices prices;
  std::vector<const model::NodeState*> nodes = cluster.sorted_nodes();
  std::erase_if(nodes, [](const model::NodeState* node) { return !node->present; });
  const auto sizes = card_sizes(nodes);
  if (workload.total == 0 || sizes.empty()) return prices;
  const double cards = cards_of(nodes);
  const Needs needs = needs_of(workload, sizes.rbegin()->second);
  prices.cpu_per_card = cpu_per_card(needs, nodes);
  prices.opening = opening(needs);
  prices.card_opening = card_opening(needs, cards);
  for (const auto& [memory, card] : sizes) {
    prices.rests.push_back(
        {.card_memory = memory, .values = rest_values_for(workload, card, cards)});
  }
  prices.kinds = pressures(workload, nodes);
  return prices;
}

bool nearly_equal(const Prices& a, const Prices& b) {
  constexpr std::int64_t kCpuPart = 50;       // one 50th
  constexpr std::int64_t kRest = kFull / 50;  // of a card
  constexpr std::int64_t kPressure = 50;      // thousandths
  if (!near(a.cpu_per_card, b.cpu_per_card, std::max(a.cpu_per_card, b.cpu_per_card) / kCpuPart)) {
    return false;
  }
  if (!near(a.opening, b.opening, kRest)) return false;
  if (!near(a.card_opening, b.card_opening, kRest)) return false;
  const auto same_rests = [](const Prices::CardRests& x, const Prices::CardRests& y) {
    return x.card_memory == y.card_memory &&
           std::equal(x.values.begin(), x.values.end(), y.values.begin(), y.values.end(),
                      [](std::int64_t v, std::int64_t w) { return near(v, w, kRest); });
  };
  return std::equal(a.rests.begin(), a.rests.end(), b.rests.begin(), b.rests.end(), same_rests) &&
         std::equal(a.kinds.begin(), a.kinds.end(), b.kinds.begin(), b.kinds.end(),
                    [](const KindPressure& x, const KindPressure& y) {
                      return x.kind == y.kind && near(x.pressure, y.pressure, kPressure);
                    });
}

}  // namespace tangram::policies
