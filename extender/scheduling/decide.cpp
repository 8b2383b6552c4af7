#include "extender/scheduling/decide.hpp"

#include "model/fit.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <utility>

namespace tangram::extender {

namespace {

using Found = model::ClusterSnapshot::Found;

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

/// The best of the nodes that fit, or all of them, and how many fit.
class ShortList {
 public:
  /// @param most  0 = all
  ShortList(std::size_t most, std::size_t nodes) : most_(most) {
    kept_.reserve(most == 0 ? nodes : std::min(most, nodes));
  }

  /// @param refused  asked only if the score is good enough
  template <class Refused>
  void add(std::int64_t score, std::uint32_t index, Refused&& refused) {
    ++fitting_;
    if (score >= least_) consider({score, index, refused()});
  }

  /// Also what is left of another part of the nodes.
  void add(const ShortList& part) {
    fitting_ += part.fitting_;
    for (const Ranked& node : part.kept_) consider(node);
  }

  [[nodiscard]] bool empty() const { return fitting_ == 0; }
  [[nodiscard]] FilterResult take() && {
    if (most_ > 0) {
      std::sort_heap(kept_.begin(), kept_.end(), better);
    } else {
      put_in_order_asked();
    }
    FilterResult result;
    result.more_fit = kept_.size() < fitting_;
    result.kept.reserve(kept_.size());
    for (const Ranked& node : kept_) result.kept.push_back(node.index);
    return result;
  }

 private:
  /// But for the best, which is the first, and those that are refused.
  void put_in_order_asked() {
    if (!std::ranges::is_sorted(kept_, {}, &Ranked::index)) {  // several threads found them
      std::ranges::sort(kept_, {}, &Ranked::index);
    }
    std::stable_partition(kept_.begin(), kept_.end(),
                          [](const Ranked& node) { return !node.refused; });
    const auto best = std::ranges::min_element(kept_, better);
    if (best != kept_.end()) std::rotate(kept_.begin(), best, best + 1);
  }

  void consider(const Ranked& node) {
    if (most_ == 0) return kept_.push_back(node);
    if (kept_.size() < most_) {
      kept_.push_back(node);
    } else if (better(node, kept_.front())) {
      std::pop_heap(kept_.begin(), kept_.end(), better);
      kept_.back() = node;
    } else {
      return;
    }
    std::push_heap(kept_.begin(), kept_.end(), better);
    if (kept_.size() == most_ && !kept_.front().refused) least_ = kept_.front().score;
  }

  std::size_t most_;
  std::size_t fitting_ = 0;
  std::vector<Ranked> kept_;  ///< all, or the best as a heap: the worst of them is in front
  /// A node with a lower score cannot be among the best, refused or not. Most nodes have one.
  std::int64_t least_ = std::numeric_limits<std::int64_t>::min();
};

/// A pod without cards is none of Tangram's business on a node that it does not know.
policies::Verdict on_unknown_node(const model::PodDemand& demand) {
  if (demand.gpu.asks_gpu()) return policies::Verdict(model::Misfit::kUnknownNode);
  return policies::Verdict(policies::Verdict::kLowestScore);
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

FilterResult why_none_fits(const FilterQuestion& question,
                           const std::vector<std::vector<Rejected>>& rejected) {
  FilterResult result;
  for (const auto& turn : rejected) {
    for (const Rejected& node : turn) {
      auto& list = eviction_could_help(question, node) ? result.failed : result.unresolvable;
      list.push_back({question.names[node.index], model::reason(node.misfit)});
      result.nearest = std::max(result.nearest, std::optional(node.misfit));
      if (node.misfit == model::Misfit::kNotTried) ++result.untried;
    }
  }
  return result;
}

/// One thread's part of a filter.
class Sorter {
 public:
  Sorter(const FilterQuestion& question, const PodView& cluster, Judge judge)
      : question_(question),
        cluster_(cluster),
        judge_(std::move(judge)),
        on_unknown_node_(on_unknown_node(question.demand)),
        fitting_(question.short_list, question.names.size()) {}

  /// The names from `first` up to `end`.
  /// @param rejected  collected until this thread knows a node that fits: then no reasons are sent
  /// @returns how often the policy was asked
  std::size_t sort(std::size_t first, std::size_t end, std::vector<Rejected>& rejected) {
    std::size_t asked = 0;
    for (; first < end; first += kBlock) {
      asked += sort_block(first, std::min(kBlock, end - first), rejected);
    }
    return asked;
  }
  [[nodiscard]] ShortList& fitting() { return fitting_; }

 private:
  std::size_t sort_block(std::size_t first, std::size_t size, std::vector<Rejected>& rejected) {
    const auto block = question_.names.subspan(first, size);
    cluster_.lookup(block, nodes_);
    std::fill_n(verdicts_.begin(), size, on_unknown_node_);
    const std::size_t asked = judge_({nodes_.data(), size}, {verdicts_.data(), size});
    for (std::size_t i = 0; i < size; ++i) {
      const auto index = static_cast<std::uint32_t>(first + i);
      const policies::Verdict verdict = verdicts_[i];
      if (verdict.fits()) {
        fitting_.add(verdict.score(), index, [&] { return question_.refused.contains(block[i]); });
      } else if (fitting_.empty()) {
        rejected.push_back({index, *verdict.misfit(), nodes_[i].least_priority, nodes_[i].node});
      }
    }
    return asked;
  }

  const FilterQuestion& question_;
  const PodView& cluster_;
  Judge judge_;
  const policies::Verdict on_unknown_node_;
  ShortList fitting_;
  std::array<Found, kBlock> nodes_;
  std::array<policies::Verdict, kBlock> verdicts_;
};

/// Names that one thread takes at a time.
constexpr std::size_t kTurn = 512;
/// Questions to the policy, which each take half a microsecond or more; to wake a thread takes some
/// dozen microseconds, and half of them are the caller's in any case.
constexpr std::size_t kWorthHelp = 200;

/// @param asked  how often the policy was asked about the first turn's names
bool is_worth_help(std::size_t asked, std::size_t names) {
  return names > 2 * kTurn && asked * (names - kTurn) / kTurn >= kWorthHelp;
}

/// @param rejected  by turn
ShortList sort_rest(Sorter& own, const FilterQuestion& question, const PodView& cluster,
                    const SharedJudge& judge, std::vector<std::vector<Rejected>>& rejected) {
  const std::size_t names = question.names.size();
  const std::size_t turns = (names - 1) / kTurn;  // after the first one
  const std::size_t helpers = std::min(judge.threads.helpers(), turns - 1);
  std::vector<std::unique_ptr<Sorter>> others;
  for (std::size_t i = 0; i < helpers; ++i) {
    others.push_back(std::make_unique<Sorter>(question, cluster, judge.for_thread()));
  }
  rejected.resize(1 + turns);
  judge.threads.run(turns, helpers, [&](std::size_t turn, std::size_t worker) {
    Sorter& sorter = worker == 0 ? own : *others[worker - 1];
    const std::size_t first = (1 + turn) * kTurn;
    sorter.sort(first, std::min(names, first + kTurn), rejected[1 + turn]);
  });
  ShortList all = std::move(own.fitting());
  for (const auto& other : others) all.add(other->fitting());
  return all;
}

FilterResult answer(const FilterQuestion& question, ShortList fitting,
                    const std::vector<std::vector<Rejected>>& rejected) {
  return fitting.empty() ? why_none_fits(question, rejected) : std::move(fitting).take();
}

}  // namespace

FilterResult filter(const FilterQuestion& question, const PodView& cluster, const Judge& judge) {
  std::vector<std::vector<Rejected>> rejected(1);
  Sorter sorter(question, cluster, judge);
  sorter.sort(0, question.names.size(), rejected.front());
  return answer(question, std::move(sorter.fitting()), rejected);
}

FilterResult filter(const FilterQuestion& question, const PodView& cluster,
                    const SharedJudge& judge) {
  const std::size_t names = question.names.size();
  const std::size_t first = std::min(kTurn, names);
  std::vector<std::vector<Rejected>> rejected(1);
  Sorter sorter(question, cluster, judge.own);
  const std::size_t asked = sorter.sort(0, first, rejected.front());
  if (judge.threads.helpers() > 0 && is_worth_help(asked, names)) {
    return answer(question, sort_rest(sorter, question, cluster, judge, rejected), rejected);
  }
  sorter.sort(first, names, rejected.front());
  return answer(question, std::move(sorter.fitting()), rejected);
}

std::vector<HostScore> prioritize(std::span<const std::string_view> names, const PodView& cluster,
                                  const Judge& judge, const NodeSet& refused) {
  std::vector<Ranked> fitting;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    const auto found = cluster.lookup(names[i]);
    if (!found || refused.contains(names[i])) continue;
    policies::Verdict verdict;
    judge({&*found, 1}, {&verdict, 1});
    if (verdict.fits()) fitting.push_back({verdict.score(), i, false});
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
