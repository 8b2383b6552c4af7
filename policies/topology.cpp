#include "policies/topology.hpp"

#include "model/fit.hpp"

#include <algorithm>
#include <vector>

namespace tangram::policies {

namespace {

constexpr std::int64_t kNvlink = 200;  ///< per link
constexpr std::int64_t kLink = 100;    ///< of any other kind, per link
constexpr std::int64_t kSameNuma = 1;

bool knows_topology(const model::NodeState& node) {
  return std::any_of(node.cards().begin(), node.cards().end(), [](const model::Card& card) {
    return card.numa_node >= 0 || !card.links.empty();
  });
}

std::int64_t closeness(const model::Card& a, const model::Card& b) {
  std::int64_t sum = a.numa_node >= 0 && a.numa_node == b.numa_node ? kSameNuma : 0;
  for (const model::Link& link : a.links) {
    if (link.peer == b.id) sum += link.count * (link.type == "nvlink" ? kNvlink : kLink);
  }
  return sum;
}

/// The cards that can be taken, and how close each two of them are.
class Candidates {
 public:
  Candidates(const model::GpuRequest& request, const model::NodeState& node) {
    const model::Share& share = request.containers.front().share;
    for (std::uint32_t i = 0; i < node.cards().size(); ++i) {
      const model::Card& card = node.cards()[i];
      if (!card_misfit(request, slice_of(share, card), card, node.use[i])) cards_.push_back(i);
    }
    for (const std::uint32_t a : cards_) {
      for (const std::uint32_t b : cards_) {
        close_.push_back(a == b ? 0 : closeness(node.cards()[a], node.cards()[b]));
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return cards_.size(); }
  [[nodiscard]] std::uint32_t card(std::size_t i) const { return cards_[i]; }
  [[nodiscard]] std::int64_t close(std::size_t a, std::size_t b) const {
    return close_[a * cards_.size() + b];
  }
  [[nodiscard]] std::int64_t close_to_all(std::size_t a) const {
    std::int64_t sum = 0;
    for (std::size_t b = 0; b < size(); ++b) sum += close(a, b);
    return sum;
  }

 private:
  std::vector<std::uint32_t> cards_;
  std::vector<std::int64_t> close_;
};

struct Group {
  std::vector<std::size_t> members;
  std::int64_t inside = -1;  ///< closeness within the group
  std::int64_t outside = 0;  ///< closeness to the candidates left over
};

/// From one card on, always the one that is closest to those taken, on a tie the one that is least
/// close to those left.
Group grow(const Candidates& all, std::size_t seed, std::size_t count) {
  Group group{.members = {seed}, .inside = 0, .outside = all.close_to_all(seed)};
  std::vector<std::int64_t> to_group(all.size());
  std::vector<bool> taken(all.size());
  for (std::size_t last = seed;; last = group.members.back()) {
    taken[last] = true;
    if (group.members.size() == count) return group;
    std::size_t best = all.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
      to_group[i] += all.close(i, last);
      if (taken[i]) continue;
      if (best == all.size() || to_group[i] > to_group[best] ||
          (to_group[i] == to_group[best] && all.close_to_all(i) < all.close_to_all(best))) {
        best = i;
      }
    }
    group.inside += to_group[best];
    group.outside += all.close_to_all(best) - 2 * to_group[best];
    group.members.push_back(best);
  }
}

}  // namespace

NearbyCards::NearbyCards(const model::GpuRequest& request, const model::NodeState& node) {
  if (request.containers.size() != 1) return;
  const model::ContainerRequest& container = request.containers.front();
  const bool whole = container.share.form == model::ShareForm::kWhole ||
                     container.share.form == model::ShareForm::kReplica;  // perhaps
  if (!whole || !knows_topology(node)) return;
  const Candidates all(request, node);
  const auto count = static_cast<std::size_t>(container.count);
  if (all.size() <= count) return;
  Group best;
  for (std::size_t seed = 0; seed < all.size(); ++seed) {
    Group group = grow(all, seed, count);
    if (group.inside > best.inside ||
        (group.inside == best.inside && group.outside < best.outside)) {
      best = std::move(group);
    }
  }
  chosen_.resize(node.cards().size());
  for (const std::size_t member : best.members) chosen_[all.card(member)] = true;
}

}  // namespace tangram::policies
