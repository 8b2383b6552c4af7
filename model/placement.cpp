#include "model/placement.hpp"

#include <algorithm>
#include <numeric>

namespace tangram::model {

namespace {

struct Candidate {
  std::uint32_t card;
  std::int64_t preference;
};
using Candidates = boost::container::small_vector<Candidate, 16>;

/// Cards that can take the container's slice now, best first.
Candidates candidates(const GpuRequest& request, const ContainerRequest& container,
                      const NodeState& node, const std::vector<CardUse>& use,
                      const CardPreference& preference) {
  Candidates fitting;
  for (std::uint32_t i = 0; i < use.size(); ++i) {
    const Card& card = node.cards()[i];
    const Slice slice = slice_of(container.share, card);
    if (card_misfit(request, slice, card, use[i])) continue;
    fitting.push_back({i, preference(slice, i, use[i])});
  }
  std::stable_sort(fitting.begin(), fitting.end(), [](const Candidate& a, const Candidate& b) {
    return a.preference > b.preference;
  });
  return fitting;
}

/// Larger requests first: they have the fewest places.
bool harder(const ContainerRequest& a, const ContainerRequest& b) {
  const auto size = [](const Share& share) {
    const auto form = share.form == ShareForm::kWhole || share.fraction == kWholeGpu ? 1 : 0;
    return std::tuple(form, share.fraction, share.memory);
  };
  return std::tuple(size(a.share), a.count) > std::tuple(size(b.share), b.count);
}

/// Depth-first search over the cards of several containers.
class Search {
 public:
  Search(const GpuRequest& request, const NodeState& node, const CardPreference& preference)
      : request_(request), node_(node), preference_(preference), use_(node.use) {
    order_.resize(request.containers.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return harder(request_.containers[a], request_.containers[b]);
    });
    picked_.resize(request.containers.size());
  }

  std::optional<Placement> run() {
    if (!place_from(0)) return std::nullopt;
    Placement placement;
    for (const auto& cards : picked_) placement.insert(placement.end(), cards.begin(), cards.end());
    return placement;
  }

 private:
  using Cards = boost::container::small_vector<std::uint32_t, 8>;

  bool place_from(std::size_t depth) {
    if (depth == order_.size()) return true;
    const std::size_t index = order_[depth];
    const Candidates fitting =
        candidates(request_, request_.containers[index], node_, use_, preference_);
    return choose(depth, index, fitting, 0);
  }

  /// Takes the rest of one container's cards from fitting[from...], then goes on to the next one.
  bool choose(std::size_t depth, std::size_t index, const Candidates& fitting, std::size_t from) {
    const ContainerRequest& container = request_.containers[index];
    Cards& mine = picked_[index];
    const auto missing = static_cast<std::size_t>(container.count) - mine.size();
    if (missing == 0) return place_from(depth + 1);
    for (std::size_t i = from; i + missing <= fitting.size(); ++i) {
      if (++steps_ > kMaxSearchSteps) return false;
      const std::uint32_t card = fitting[i].card;
      if (is_twin_of_a_failed_one(fitting, from, i)) continue;
      const Slice slice = slice_of(container.share, node_.cards()[card]);
      charge(use_[card], slice.memory, slice.compute, request_.isolation);
      mine.push_back(card);
      if (choose(depth, index, fitting, i + 1)) return true;
      mine.pop_back();
      charge(use_[card], slice.memory, slice.compute, request_.isolation, -1);
    }
    return false;
  }

  /// A card that looks like one which led nowhere leads nowhere too.
  bool is_twin_of_a_failed_one(const Candidates& fitting, std::size_t from, std::size_t i) const {
    const Card& card = node_.cards()[fitting[i].card];
    const CardUse& use = use_[fitting[i].card];
    return std::any_of(fitting.begin() + static_cast<std::ptrdiff_t>(from),
                       fitting.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](const Candidate& failed) {
                         const Card& other = node_.cards()[failed.card];
                         return use_[failed.card] == use && other.memory == card.memory &&
                                other.compute == card.compute &&
                                other.max_sharers == card.max_sharers &&
                                other.isolation == card.isolation && other.model == card.model;
                       });
  }

  const GpuRequest& request_;
  const NodeState& node_;
  const CardPreference& preference_;
  std::vector<CardUse> use_;
  std::vector<std::size_t> order_;
  std::vector<Cards> picked_;
  int steps_ = 0;
};

/// One container: its cards do not compete with each other, so the best ones are the answer.
std::optional<Placement> place_one(const GpuRequest& request, const NodeState& node,
                                   const CardPreference& preference) {
  const ContainerRequest& container = request.containers.front();
  const auto count = static_cast<std::size_t>(container.count);
  const Candidates fitting = candidates(request, container, node, node.use, preference);
  if (fitting.size() < count) return std::nullopt;
  Placement placement;
  for (std::size_t i = 0; i < count; ++i) placement.push_back(fitting[i].card);
  return placement;
}

/// Calls visit(container, slice, card) for every card of a placement.
template <class Visit>
void for_each_pick(const GpuRequest& request, const NodeState& node, const Placement& placement,
                   Visit&& visit) {
  std::size_t next = 0;
  for (const ContainerRequest& container : request.containers) {
    for (int i = 0; i < container.count; ++i) {
      const std::uint32_t card = placement[next++];
      visit(container, slice_of(container.share, node.cards()[card]), card);
    }
  }
}

}  // namespace

std::optional<Placement> place(const GpuRequest& request, const NodeState& node,
                               const CardPreference& preference) {
  if (!node.present) return std::nullopt;
  if (request.containers.empty()) return Placement{};
  if (request.containers.size() == 1) return place_one(request, node, preference);
  return Search(request, node, preference).run();
}

std::vector<CardUse> use_after(const GpuRequest& request, const NodeState& node,
                               const Placement& placement) {
  std::vector<CardUse> use = node.use;
  for_each_pick(request, node, placement,
                [&](const ContainerRequest& /*container*/, const Slice& slice, std::uint32_t card) {
                  charge(use[card], slice.memory, slice.compute, request.isolation);
                });
  return use;
}

std::vector<ContainerGrant> grants_of(const GpuRequest& request, const NodeState& node,
                                      const Placement& placement) {
  std::vector<ContainerGrant> grants;
  for_each_pick(request, node, placement,
                [&](const ContainerRequest& container, const Slice& slice, std::uint32_t card) {
                  if (grants.empty() || grants.back().container != container.container) {
                    grants.push_back({.container = container.container, .cards = {}});
                  }
                  grants.back().cards.push_back({.uuid = node.cards()[card].id,
                                                 .memory = slice.memory,
                                                 .compute = slice.compute,
                                                 .memory_limit = slice.memory_limit,
                                                 .compute_limit = slice.compute_limit});
                });
  return grants;
}

}  // namespace tangram::model
