#include "bench/replay/inprocess.hpp"

#include "model/placement.hpp"

#include <chrono>
#include <string>

namespace tangram::bench {

namespace {

/// A share's memory is in proportion to its milli here, so any size decides alike.
constexpr Mebibytes kDeviceMemory{16'384};
/// The traces have no limit on sharers; a device has 1000 milli and a pod requests at least one.
constexpr int kMostSharers = 1000;
/// The traces have a few hundred different pods; 1024 shapes x 1213 nodes are about 100 MB.
constexpr std::size_t kRememberedShapes = 1024;
constexpr std::chrono::minutes kBindTime{1};

}  // namespace

model::NodeInventory inventory_of(const TraceNode& node) {
  model::NodeInventory inventory{.name = node.name,
                                 .cards = {},
                                 .cpu = MilliCpu(node.cpu_milli),
                                 .memory = Mebibytes(node.memory_mib)};
  for (int i = 0; i < node.gpus; ++i) {
    model::Card card;
    card.id = node.name + "-" + std::to_string(i);
    card.model = node.model;
    card.memory = kDeviceMemory;
    card.max_sharers = kMostSharers;
    inventory.cards.push_back(std::move(card));
  }
  return inventory;
}

std::vector<std::uint32_t> gpus_of(const std::vector<model::ContainerGrant>& containers,
                                   const std::string& node) {
  std::vector<std::uint32_t> gpus;
  for (const auto& container : containers) {
    for (const auto& card : container.cards) {
      gpus.push_back(static_cast<std::uint32_t>(std::stoul(card.uuid.substr(node.size() + 1))));
    }
  }
  return gpus;
}

InProcessScheduler::InProcessScheduler(const std::vector<TraceNode>& nodes, std::string policy,
                                       policies::PolicyOptions options)
    : nodes_(nodes), name_(std::move(policy)), options_(std::move(options)), ledger_(clock_) {
  for (const TraceNode& node : nodes_) ledger_.put_node(inventory_of(node));
  const auto ledger = ledger_.snapshot();
  for (const TraceNode& node : nodes_) index_.push_back(ledger->lookup(node.name)->index);
}

Result<std::unique_ptr<InProcessScheduler>> InProcessScheduler::create(
    const std::vector<TraceNode>& nodes, std::string policy, policies::PolicyOptions options) {
  auto made = policies::make_policy(policy, options);
  if (!made) return made.error();
  std::unique_ptr<InProcessScheduler> scheduler(
      new InProcessScheduler(nodes, std::move(policy), std::move(options)));
  scheduler->use(std::move(*made));
  return scheduler;
}

void InProcessScheduler::use(std::unique_ptr<const policies::Policy> policy) {
  policy_ = std::move(policy);
  cache_ = std::make_unique<policies::ChoiceCache>(kRememberedShapes);
}

void InProcessScheduler::learn(const model::PodDemand& demand) {
  if (!arrivals_.add(std::make_shared<const model::PodDemand>(demand))) return;
  window_.add(arrivals_.take());
  auto prices =
      policies::learn_prices(window_.count().top(policies::kAllPods), *ledger_.snapshot());
  if (policies::nearly_equal(prices, *options_.prices)) return;
  options_.prices = std::make_shared<const policies::Prices>(std::move(prices));
  use(*policies::make_policy(name_, options_));
}

std::optional<InProcessScheduler::Decision> InProcessScheduler::decide(
    const model::PodDemand& demand, const std::vector<std::size_t>& feasible) {
  const auto ledger = ledger_.snapshot();
  model::SearchBudget budget;
  auto pass = cache_->open(*policy_, demand, *ledger, budget, std::to_string(++decisions_));
  std::optional<std::size_t> best;
  std::int64_t best_score = 0;
  for (const std::size_t node : feasible) {
    const auto verdict = pass.judge(*ledger->found_at(index_[node]));
    if (!verdict.fits() || (best && verdict.score() <= best_score)) continue;
    best = node;
    best_score = verdict.score();
  }
  if (!best) return std::nullopt;
  return Decision{*best, *policy_->choose(demand, *ledger->at(index_[*best]))};
}

Result<void> InProcessScheduler::assume(PodNumber number, const TracePod& pod, std::size_t node,
                                        const model::Placement& cards) {
  const auto ledger = ledger_.snapshot();
  const model::NodeState& state = *ledger->at(index_[node]);
  const model::PodDemand demand = policies::demand_of(pod, model::Isolation::kNone);
  model::Allocation allocation;
  allocation.pod_uid = allocation.pod_name = pod_name(number);
  allocation.node = state.name;
  allocation.footprint = demand.footprint;
  allocation.priority = pod.priority;
  allocation.isolation = demand.gpu.isolation;
  allocation.containers = model::grants_of(demand.gpu, state, cards);
  const std::string uid = allocation.pod_uid;
  if (auto assumed = ledger_.assume(std::move(allocation), kBindTime); !assumed) return assumed;
  return ledger_.confirm(uid);
}

Result<std::optional<Placed>> InProcessScheduler::place(PodNumber number, const TracePod& pod,
                                                        const std::vector<std::size_t>& feasible) {
  const model::PodDemand demand = policies::demand_of(pod, model::Isolation::kNone);
  if (number >= arrived_) {
    learn(demand);
    arrived_ = number + 1;
  }
  const auto decision = decide(demand, feasible);
  if (!decision) return std::optional<Placed>{};
  const auto& cards = decision->choice.placement;
  if (auto assumed = assume(number, pod, decision->node, cards); !assumed) return assumed.error();
  return std::optional(Placed{.node = decision->node, .gpus = {cards.begin(), cards.end()}});
}

Result<void> InProcessScheduler::remove(PodNumber number) {
  ledger_.release(pod_name(number));
  return {};
}

Result<void> InProcessScheduler::move(const std::vector<Move>& moves) {
  for (const Move& move : moves) ledger_.release(pod_name(move.number));
  for (const auto& [number, pod, to] : moves) {
    const model::Placement cards(to.gpus.begin(), to.gpus.end());
    if (auto assumed = assume(number, pod, to.node, cards); !assumed) return assumed;
  }
  return {};
}

Result<void> InProcessScheduler::set_health(std::size_t node,
                                            const std::vector<std::uint32_t>& gpus, bool healthy) {
  const auto ledger = ledger_.snapshot();
  model::NodeInventory inventory = *ledger->at(index_[node])->inventory;
  for (const std::uint32_t gpu : gpus) inventory.cards[gpu].healthy = healthy;
  ledger_.put_node(std::move(inventory));
  return {};
}

}  // namespace tangram::bench
