#include "model/placement.hpp"

#include "model/cards.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace tangram::model {

namespace {

/// A card that the container's slice fits while nothing else of the request is placed. The
/// pod's own containers only ever take room away, so no other card need be looked at.
struct Option {
  std::uint32_t card;
  Slice slice;
};
using Options = boost::container::small_vector<Option, 8>;

struct Candidate {
  const Option* option;
  std::int64_t preference;
};
using Candidates = boost::container::small_vector<Candidate, 16>;

Options options_of(const GpuRequest& request, const ContainerRequest& container,
                   const NodeState& node) {
  Options options;
  const CardMake& cards = node.traits();
  Slice slice;
  for (std::uint32_t i = 0; i < cards.size(); ++i) {
    // Most nodes have cards of one size.
    if (!cards[i].as_before) slice = slice_of(container.share, cards[i]);
    if (!card_misfit(request, slice, node, i)) options.push_back({i, slice});
  }
  return options;
}

/// On a tie the lowest card, which candidates come in the order of.
bool more_preferred(const Candidate& a, const Candidate& b) {
  return std::tuple(-a.preference, a.option) < std::tuple(-b.preference, b.option);
}

/// How much of a card the slice takes, in thousandths of whatever it takes most of.
std::int64_t dominant_share(const Option& option, const NodeState& node) {
  const std::int64_t memory = std::max(node.traits()[option.card].memory.count(), std::int64_t{1});
  return std::max(1000 * option.slice.memory.count() / memory, option.slice.compute.count());
}

/// Containers that can use a card, and for how many of them it has a place at most.
struct Askers {
  std::int64_t count = 0;
  Slice least;  ///< in memory and in compute, each for itself
  std::int64_t places = 0;

  void add(const Slice& slice, const CardTraits& card, const CardUse& use) {
    least.memory = count == 0 ? slice.memory : std::min(least.memory, slice.memory);
    least.compute = count == 0 ? slice.compute : std::min(least.compute, slice.compute);
    places = std::min(++count, std::int64_t{card.max_sharers} - use.sharer_count());
    if (least.memory > Mebibytes{}) {
      places = std::min(places, free_memory(card, use).count() / least.memory.count());
    }
    if (least.compute > MilliGpu{}) {
      places = std::min(places, free_compute(card, use).count() / least.compute.count());
    }
    places = std::max(places, std::int64_t{1});  // each by itself fits: it may take the card whole
  }
};

/// Depth-first search over the cards of several containers.
class Search {
 public:
  Search(const GpuRequest& request, const NodeState& node, const CardPreference& preference)
      : request_(request),
        node_(node),
        preference_(preference),
        use_(node.use),
        options_(request.containers.size()),
        order_(request.containers.size()),
        picked_(request.containers.size()) {}

  std::optional<Placement> run(SearchBudget& budget, std::int64_t step_price) {
    for (std::size_t i = 0; i < options_.size(); ++i) {
      options_[i] = options_of(request_, request_.containers[i], node_);
      // One hopeless container decides; without this the others would be tried in every way first.
      if (options_[i].size() < wanted(i)) return std::nullopt;
    }
    sort_hardest_first();
    if (asks_more_than_is_free() || asks_more_places_than_there_are()) return std::nullopt;
    if (budget.spent()) {
      budget.skip_search();
      return std::nullopt;
    }
    const bool found = place_from(0);
    budget.spend(steps_ * step_price);
    if (!found) return std::nullopt;
    Placement placement;
    for (const auto& cards : picked_) placement.insert(placement.end(), cards.begin(), cards.end());
    return placement;
  }

 private:
  using Cards = boost::container::small_vector<std::uint32_t, 8>;

  std::size_t wanted(std::size_t container) const {
    return static_cast<std::size_t>(request_.containers[container].count);
  }

  /// Larger slices first: they have the fewest places.
  void sort_hardest_first() {
    std::vector<std::tuple<std::int64_t, std::size_t>> hardness(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      order_[i] = i;
      hardness[i] = {dominant_share(options_[i].front(), node_), wanted(i)};
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return hardness[a] > hardness[b]; });
  }

  /// Of memory or compute, all cards that any container can use taken together.
  bool asks_more_than_is_free() const {
    boost::container::small_vector<bool, 16> counted(node_.traits().size());
    Mebibytes memory;  // free, less what is asked at least
    MilliGpu compute;
    for (std::size_t i = 0; i < options_.size(); ++i) {
      Slice least = options_[i].front().slice;
      for (const auto& [card, slice] : options_[i]) {
        least.memory = std::min(least.memory, slice.memory);
        least.compute = std::min(least.compute, slice.compute);
        if (std::exchange(counted[card], true)) continue;
        memory += free_memory(node_.traits()[card], use_[card]);
        compute += free_compute(node_.traits()[card], use_[card]);
      }
      memory -= Mebibytes(request_.containers[i].count * least.memory.count());
      compute -= MilliGpu(request_.containers[i].count * least.compute.count());
    }
    return memory < Mebibytes{} || compute < MilliGpu{};
  }

  /// The containers placed first, however many of them, want more cards than have a place for the
  /// smallest slice of one that can use the card.
  bool asks_more_places_than_there_are() const {
    boost::container::small_vector<Askers, 16> askers(node_.traits().size());
    std::int64_t missing = 0;
    for (const std::size_t index : order_) {
      missing += request_.containers[index].count;
      for (const auto& [card, slice] : options_[index]) {
        missing += askers[card].places;
        askers[card].add(slice, node_.traits()[card], use_[card]);
        missing -= askers[card].places;
      }
      if (missing > 0) return true;
    }
    return false;
  }

  bool place_from(std::size_t depth) {
    if (depth == order_.size()) return true;
    const std::size_t index = order_[depth];
    return choose(depth, index, candidates(index), 0);
  }

  /// Cards that can take the container's slice beside what is placed already, best first.
  Candidates candidates(std::size_t index) {
    Candidates fitting;
    for (const Option& option : options_[index]) {
      ++steps_;
      const CardUse& use = use_[option.card];
      const CardTraits& card = node_.traits()[option.card];
      if (room_misfit(option.slice, mode_on(request_, card), card, use)) continue;
      fitting.push_back({&option, preference_(option.slice, option.card, use)});
    }
    std::sort(fitting.begin(), fitting.end(), more_preferred);
    return fitting;
  }

  /// Takes the rest of one container's cards from fitting[from...], then goes on to the next one.
  bool choose(std::size_t depth, std::size_t index, const Candidates& fitting, std::size_t from) {
    Cards& mine = picked_[index];
    const std::size_t missing = wanted(index) - mine.size();
    if (missing == 0) return place_from(depth + 1);
    for (std::size_t i = from; i + missing <= fitting.size(); ++i) {
      if (++steps_ > kMaxSearchSteps) return false;
      if (is_twin_of_a_failed_one(fitting, from, i)) continue;
      const auto& [card, slice] = *fitting[i].option;
      const Isolation mode = mode_on(request_, node_.traits()[card]);
      charge(use_[card], slice, mode);
      mine.push_back(card);
      if (choose(depth, index, fitting, i + 1)) return true;
      mine.pop_back();
      charge(use_[card], slice, mode, -1);
    }
    return false;
  }

  /// A card that looks like one which led nowhere leads nowhere too.
  bool is_twin_of_a_failed_one(const Candidates& fitting, std::size_t from, std::size_t i) const {
    const std::uint32_t tried = fitting[i].option->card;
    return std::any_of(fitting.begin() + static_cast<std::ptrdiff_t>(from),
                       fitting.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](const Candidate& failed) { return twins(failed.option->card, tried); });
  }

  /// Alike in everything that decides what else fits there.
  bool twins(std::uint32_t a, std::uint32_t b) const {
    return use_[a] == use_[b] && same_make(node_.cards()[a], node_.cards()[b]);
  }

  const GpuRequest& request_;
  const NodeState& node_;
  const CardPreference& preference_;
  std::vector<CardUse> use_;
  std::vector<Options> options_;    ///< per container
  std::vector<std::size_t> order_;  ///< containers, in the order they are placed
  std::vector<Cards> picked_;       ///< per container
  std::int64_t steps_ = 0;
};

/// The most preferred cards so far, on a tie those that came first.
class BestCards {
 public:
  explicit BestCards(std::size_t wanted) : wanted_(wanted) {}

  void offer(std::uint32_t card, std::int64_t preference) {
    if (best_.size() == wanted_) {
      if (preference <= best_.back().preference) return;
      best_.pop_back();
    }
    auto at = best_.end();
    while (at != best_.begin() && preference > std::prev(at)->preference) --at;
    best_.insert(at, {card, preference});
  }
  [[nodiscard]] std::optional<Placement> cards() const {
    if (best_.size() < wanted_) return std::nullopt;
    Placement placement;
    for (const Entry& entry : best_) placement.push_back(entry.card);
    return placement;
  }

 private:
  struct Entry {
    std::uint32_t card;
    std::int64_t preference;
  };
  const std::size_t wanted_;
  boost::container::small_vector<Entry, 8> best_;
};

constexpr std::int64_t kUnfit = std::numeric_limits<std::int64_t>::min();

/// How much a request of one container wants each card of a node, one card after the other. This is
/// asked for thousands of nodes at a time, so what a card shares with the one before it, or with
/// one of a node before, is worked out once.
class WantedCards {
 public:
  /// @param memo  may be null
  WantedCards(const GpuRequest& request, const NodeState& node, const CardPreference& preference,
              CardMemo* memo)
      : request_(request),
        node_(node),
        preference_(preference),
        share_(request.containers.front().share),
        alike_(request.card_ids.empty() && share_.form != ShareForm::kWhole),
        memo_(alike_ && node.traits().size() <= kMaxCardsPerNode ? memo : nullptr) {
    if (memo_ != nullptr) memo_->enter(node);
  }

  /// @param card  the next one
  /// @returns kUnfit if the container does not fit there
  std::int64_t wanted(std::uint32_t card) {
    if (!node_.traits()[card].as_before) begin_run(card);
    if (!named_) return kUnfit;
    if (!alike_ || slice_.whole) return ask(card);
    const CardUse& use = node_.use[card];
    if (memo_ != nullptr) return memo_->answer(run_, use, [&] { return ask(card); });
    if (card == run_ || use != node_.use[card - 1]) last_ = ask(card);
    return last_;
  }

 private:
  /// Most nodes have cards of one kind.
  void begin_run(std::uint32_t card) {
    run_ = card;
    slice_ = slice_of(share_, node_.traits()[card]);
    named_ = is_of_models(request_, node_.cards()[card]);
  }
  [[nodiscard]] std::int64_t ask(std::uint32_t card) const {
    if (card_misfit(request_, slice_, node_, card)) return kUnfit;
    return preference_(slice_, card, node_.use[card]);
  }

  const GpuRequest& request_;
  const NodeState& node_;
  const CardPreference& preference_;
  const Share& share_;
  const bool alike_;  ///< cards of one make and use are, for this request
  CardMemo* const memo_;
  std::uint32_t run_ = 0;  ///< the first card that is as this one
  Slice slice_;            ///< of the cards of the run
  bool named_ = true;      ///< the request wants their model
  std::int64_t last_ = kUnfit;
};

/// The cards of one container do not compete with each other, so the best ones are the answer.
std::optional<Placement> place_one(const GpuRequest& request, const NodeState& node,
                                   const CardPreference& preference, CardMemo* memo) {
  WantedCards cards(request, node, preference, memo);
  BestCards best(static_cast<std::size_t>(request.containers.front().count));
  for (std::uint32_t i = 0; i < node.traits().size(); ++i) {
    const std::int64_t wanted = cards.wanted(i);
    if (wanted != kUnfit) best.offer(i, wanted);
  }
  return best.cards();
}

}  // namespace

std::optional<Placement> place(const GpuRequest& request, const NodeState& node,
                               const CardPreference& preference, SearchBudget& budget,
                               std::int64_t step_price, CardMemo* memo) {
  if (!node.present) return std::nullopt;
  if (request.containers.empty()) return Placement{};
  if (request.containers.size() == 1) return place_one(request, node, preference, memo);
  return Search(request, node, preference).run(budget, step_price);
}

std::optional<Placement> place(const GpuRequest& request, const NodeState& node,
                               const CardPreference& preference) {
  SearchBudget no_limit;
  return place(request, node, preference, no_limit);
}

std::vector<CardUse> use_after(const GpuRequest& request, const NodeState& node,
                               const Placement& placement) {
  std::vector<CardUse> use = node.use;
  for_each_pick(request, node, placement,
                [&](const ContainerRequest& /*container*/, const Slice& slice, std::uint32_t card) {
                  charge(use[card], slice, mode_on(request, node.traits()[card]));
                });
  return use;
}

Isolation mode_of(const GpuRequest& request, const NodeState& node, const Placement& placement) {
  std::optional<Isolation> mode;
  for_each_pick(request, node, placement,
                [&](const ContainerRequest& /*container*/, const Slice& slice, std::uint32_t card) {
                  if (!slice.whole && !mode) mode = mode_on(request, node.traits()[card]);
                });
  return mode.value_or(request.isolation);
}

std::vector<ContainerGrant> grants_of(const GpuRequest& request, const NodeState& node,
                                      const Placement& placement) {
  std::vector<ContainerGrant> grants;
  for_each_pick(request, node, placement,
                [&](const ContainerRequest& container, const Slice& slice, std::uint32_t card) {
                  if (grants.empty() || grants.back().container != container.container) {
                    grants.push_back({.container = container.container, .cards = {}});
                  }
                  const CardTraits& traits = node.traits()[card];
                  grants.back().cards.push_back(
                      {.uuid = node.cards()[card].id,
                       .memory = slice.memory,
                       .compute = slice.compute,
                       .memory_limit = slice.memory_limit,
                       .compute_limit = slice.compute_limit,
                       .whole = slice.whole,
                       .memory_limits =
                           slice.whole ? MemoryLimits::kNone
                                       : in_mode(traits.memory_limits, mode_on(request, traits))});
                });
  return grants;
}

}  // namespace tangram::model
