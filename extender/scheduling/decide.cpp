#include "extender/scheduling/decide.hpp"

#include "model/fit.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

namespace tangram::extender {

namespace {

using Found = model::ClusterSnapshot::Found;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMaxHostScore = 10;  // extender/v1 MaxExtenderPriority

struct Ranked {
  std::int64_t score;
  std::uint32_t index;  ///< in the order asked
  bool refused;
};

struct Rejected {
  std::uint32_t index;  ///< in the order asked
  model::Misfit misfit;
  int least_priority;            ///< of the pods on the node
  const model::NodeState* node;  ///< null = not known
};

bool better(const Ranked& a, const Ranked& b) {
  if (a.refused != b.refused) return b.refused;
  if (a.score != b.score) return a.score > b.score;
  return a.index < b.index;
}

/// The best of the nodes that fit, and how many fit.
class ShortList {
 public:
  /// @param most  0 = all
  ShortList(std::size_t most, std::size_t nodes) : most_(most == 0 ? nodes : most) {
    best_.reserve(std::min(most_, nodes));
  }

  void add(const Ranked& node) {
    ++fitting_;
    if (best_.size() < most_) {
      best_.push_back(node);
    } else if (better(node, best_.front())) {
      std::pop_heap(best_.begin(), best_.end(), better);
      best_.back() = node;
    } else {
      return;
    }
    std::push_heap(best_.begin(), best_.end(), better);
  }

  [[nodiscard]] bool empty() const { return fitting_ == 0; }
  [[nodiscard]] FilterResult take() && {
    std::sort_heap(best_.begin(), best_.end(), better);
    FilterResult result;
    result.more_fit = best_.size() < fitting_;
    result.kept.reserve(best_.size());
    for (const Ranked& node : best_) result.kept.push_back(node.index);
    return result;
  }

 private:
  std::size_t most_;
  std::size_t fitting_ = 0;
  std::vector<Ranked> best_;  ///< a heap: the worst of them is in front
};

/// A pod without cards is none of Tangram's business on a node that it does not know.
policies::Verdict on_unknown_node(const model::PodDemand& demand) {
  if (demand.gpu.asks_gpu()) return {.score = 0, .misfit = model::Misfit::kUnknownNode};
  return {.score = kLowest + 1, .misfit = {}};
}

/// Nodes that are judged at a time: what is known of them stays in the first-level cache.
constexpr std::size_t kBlock = 64;

/// Is a less important pod ending there? Perhaps it was evicted for this one.
bool is_being_emptied(const model::NodeState& node, int priority) {
  return std::any_of(node.allocations.begin(), node.allocations.end(),
                     [&](const auto& pod) { return pod->terminating && pod->priority < priority; });
}

/// Only then does kube-scheduler look for pods to evict, on the nodes that are not unresolvable.
/// It gives up a nomination to an unresolvable node, and evicts pods elsewhere.
bool eviction_could_help(const FilterQuestion& question, const Rejected& rejected) {
  if (question.names[rejected.index] == question.nominated_node) return true;
  if (rejected.node == nullptr || rejected.least_priority >= question.priority) return false;
  return model::resolvable(rejected.misfit) || is_being_emptied(*rejected.node, question.priority);
}

FilterResult why_none_fits(const FilterQuestion& question, const std::vector<Rejected>& rejected) {
  FilterResult result;
  for (const Rejected& node : rejected) {
    auto& list = eviction_could_help(question, node) ? result.failed : result.unresolvable;
    list.push_back({question.names[node.index], model::reason(node.misfit)});
    result.nearest = std::max(result.nearest, std::optional(node.misfit));
    if (node.misfit == model::Misfit::kNotTried) ++result.untried;
  }
  return result;
}

}  // namespace

FilterResult filter(const FilterQuestion& question, const PodView& cluster, const Judge& judge) {
  const auto& names = question.names;
  const policies::Verdict on_unknown = on_unknown_node(question.demand);
  const bool any_refused = !question.refused.empty();
  ShortList fitting(question.short_list, names.size());
  std::vector<Rejected> rejected;  // collected until a node fits: then no reasons are sent
  std::array<Found, kBlock> nodes;
  std::array<policies::Verdict, kBlock> verdicts;
  for (std::size_t first = 0; first < names.size(); first += kBlock) {
    const auto block = names.subspan(first, std::min(kBlock, names.size() - first));
    cluster.lookup(block, nodes);
    std::fill_n(verdicts.begin(), block.size(), on_unknown);
    judge({nodes.data(), block.size()}, {verdicts.data(), block.size()});
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto index = static_cast<std::uint32_t>(first + i);
      if (verdicts[i].fits()) {
        const bool refused = any_refused && question.refused.contains(block[i]);
        fitting.add({verdicts[i].score, index, refused});
      } else if (fitting.empty()) {
        rejected.push_back({index, *verdicts[i].misfit, nodes[i].least_priority, nodes[i].node});
      }
    }
  }
  return fitting.empty() ? why_none_fits(question, rejected) : std::move(fitting).take();
}

std::vector<HostScore> prioritize(std::span<const std::string_view> names, const PodView& cluster,
                                  const Judge& judge, const NodeSet& refused) {
  std::vector<Ranked> fitting;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    const auto found = cluster.lookup(names[i]);
    if (!found || refused.contains(names[i])) continue;
    policies::Verdict verdict;
    judge({&*found, 1}, {&verdict, 1});
    if (verdict.fits()) fitting.push_back({verdict.score, i, false});
  }
  std::vector<HostScore> scores(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) scores[i].host = names[i];
  if (fitting.empty()) return scores;
  std::sort(fitting.begin(), fitting.end(), better);
  const std::int64_t best = fitting.front().score;
  const std::int64_t worst = fitting.back().score;
  for (const Ranked& node : fitting) {
    // Nobody but the best reaches 10; equals of the best get 9.
    scores[node.index].score =
        best == worst ? kMaxHostScore - 1
                      : static_cast<std::int64_t>(static_cast<double>(kMaxHostScore - 1) *
                                                  static_cast<double>(node.score - worst) /
                                                  static_cast<double>(best - worst));
  }
  scores[fitting.front().index].score = kMaxHostScore;
  return scores;
}

bool fits_without(const std::vector<model::AllocationPtr>& unconfirmed,
                  std::span<const std::string_view> names, const model::PodDemand& demand,
                  const PodView& cluster, const policies::Policy& policy,
                  model::SearchBudget& budget) {
  std::map<std::string_view, std::vector<std::string>> leaving;  // by node
  for (const model::AllocationPtr& allocation : unconfirmed) {
    leaving[allocation->node].push_back(allocation->pod_uid);
  }
  if (leaving.empty()) return false;
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    const auto pods = leaving.find(name);
    if (pods == leaving.end()) return false;
    const model::NodeState* node = cluster.find(name);
    if (node == nullptr) return false;
    const std::int64_t skipped = budget.skipped();
    return policy.choose(demand, model::without_pods(*node, pods->second), budget) ||
           budget.skipped() != skipped;  // it may
  });
}

}  // namespace tangram::extender
