#include "extender/scheduling/decide.hpp"

#include "model/fit.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace tangram::extender {

namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMaxHostScore = 10;  // extender/v1 MaxExtenderPriority

struct Ranked {
  std::uint32_t index;  ///< in the order asked
  std::int64_t score;
  bool refused;
};

struct Rejected {
  std::uint32_t index;  ///< in the order asked
  model::Misfit misfit;
  const model::NodeState* node;  ///< null = not known
};

bool better(const Ranked& a, const Ranked& b) {
  return std::tuple(a.refused, -a.score, a.index) < std::tuple(b.refused, -b.score, b.index);
}

/// A pod without cards is none of Tangram's business on a node that it does not know.
bool takes_unknown(const model::PodDemand& demand) { return !demand.gpu.asks_gpu(); }

/// Is a less important pod ending there? Perhaps it was evicted for this one.
bool is_being_emptied(const model::NodeState& node, int priority) {
  return std::any_of(node.allocations.begin(), node.allocations.end(),
                     [&](const auto& pod) { return pod->terminating && pod->priority < priority; });
}

/// Only then does kube-scheduler look for pods to evict, on the nodes that are not unresolvable.
/// It gives up a nomination to an unresolvable node, and evicts pods elsewhere.
bool eviction_could_help(const FilterQuestion& question, const Rejected& rejected) {
  if (question.names[rejected.index] == question.nominated_node) return true;
  if (rejected.node == nullptr || rejected.node->least_priority >= question.priority) return false;
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

void keep_best(std::vector<Ranked>& ranked, std::size_t short_list) {
  if (short_list == 0 || short_list >= ranked.size()) {
    std::sort(ranked.begin(), ranked.end(), better);
    return;
  }
  const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(short_list);
  std::partial_sort(ranked.begin(), end, ranked.end(), better);
  ranked.erase(end, ranked.end());
}

}  // namespace

FilterResult filter(const FilterQuestion& question, NodeWalk walk, const Judge& judge) {
  const auto& names = question.names;
  std::vector<Ranked> fitting;
  std::vector<Rejected> rejected;
  fitting.reserve(names.size());
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    const auto found = walk.find(names[i]);
    const bool is_refused = !question.refused.empty() && question.refused.contains(names[i]);
    if (!found) {
      if (takes_unknown(question.demand)) {
        fitting.push_back({i, kLowest + 1, is_refused});
      } else {
        rejected.push_back({i, model::Misfit::kUnknownNode, nullptr});
      }
      continue;
    }
    const policies::Verdict verdict = judge(*found);
    if (verdict.fits()) {
      fitting.push_back({i, verdict.score, is_refused});
    } else {
      rejected.push_back({i, *verdict.misfit, found->node});
    }
  }
  if (fitting.empty()) return why_none_fits(question, rejected);
  FilterResult result;
  const std::size_t fit = fitting.size();
  keep_best(fitting, question.short_list);
  result.more_fit = fitting.size() < fit;
  result.kept.reserve(fitting.size());
  for (const Ranked& node : fitting) result.kept.push_back(node.index);
  return result;
}

std::vector<HostScore> prioritize(std::span<const std::string_view> names, const PodView& cluster,
                                  const Judge& judge, const NodeSet& refused) {
  std::vector<Ranked> fitting;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    const auto found = cluster.lookup(names[i]);
    if (!found || refused.contains(names[i])) continue;
    const policies::Verdict verdict = judge(*found);
    if (verdict.fits()) fitting.push_back({i, verdict.score, false});
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
