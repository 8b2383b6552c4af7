#pragma once

#include "model/snapshot.hpp"
#include "policies/cutting_stock.hpp"
#include "policies/fill.hpp"
#include "policies/node_kinds.hpp"
#include "policies/workload.hpp"

#include <cstdint>
#include <vector>

namespace tangram::policies {

/// What the least-waste policy knows of the pods to come and of the cluster they come to: made
/// from past arrivals and one snapshot of the ledger, then fixed. Immutable; shared between
/// threads. Without any (cold start) the policy is a best fit.
struct Prices {
  /// CPU that a card needs beside it to be of use, in milli; 0 = not known, or none.
  std::int64_t cpu_per_card = 0;

  /// What the first pod on an idle node costs that others with several cards will miss, in
  /// millionths of a card: the cube of their share of the demand. Where few pods want several cards
  /// it is nothing, and nodes are filled as suits the others.
  std::int64_t opening = 0;

  /// What the first share of an idle card costs the pods that want whole cards, in millionths of a
  /// card.
  ///
  /// With a part w of the demand for whole cards, a cluster of n cards will need w n of them whole,
  /// give or take the deviation of so many draws, sqrt(w (1 - w) n). So sqrt(w (1 - w) / n) is the
  /// chance that a card that shares open is one that pods for whole cards miss: much on one node,
  /// nothing on thousands of cards. As long as little was requested, w could be more than was seen;
  /// see kUnseenWholeCards. Before anything is known: the price of 25 cards.
  std::int64_t card_opening = kFull / 10;

  /// What the rest of a card is worth, for cards of one memory size. Requests for MiB are another
  /// part of a small card than of a large one, so every size has its own.
  struct CardRests {
    std::int64_t card_memory = 0;  ///< MiB
    RestValues values;
    friend bool operator==(const CardRests&, const CardRests&) = default;
  };
  std::vector<CardRests> rests;     ///< by memory, ascending; empty = a rest is worth its size
  std::vector<KindPressure> kinds;  ///< empty = no demand is restricted

  /// Of cards with this memory, else of the next larger ones that are known.
  /// @returns null if a rest is worth its size
  [[nodiscard]] const CardRests* rests_for(Mebibytes card_memory) const;
  /// Thousandths; 0 for a kind that is not known.
  [[nodiscard]] std::int64_t pressure_on(const model::NodeInventory& inventory) const;

  friend bool operator==(const Prices&, const Prices&) = default;
};

/// @param rests  as of Prices::rests_for()
/// @param room   thousandths of the card, 0..1000
/// @returns 0..kFull
[[nodiscard]] inline std::int64_t rest_value(const Prices::CardRests* rests, std::int64_t room) {
  return rests == nullptr ? kFull / 1000 * room : rests->values[static_cast<std::size_t>(room)];
}

/// If in n independent draws nothing of a kind was seen, 3 of them would still not surprise (the
/// rule of three, 95 %). Added to the whole cards requested so far.
inline constexpr double kUnseenWholeCards = 3;

/// More memory sizes are not distinguished; a cluster has a handful.
inline constexpr std::size_t kMostCardSizes = 16;

/// Cost: some milliseconds for 200 classes and 20 kinds of nodes, and one look at every node.
/// Equal arguments give equal prices.
[[nodiscard]] Prices learn_prices(const Workload& workload, const model::ClusterSnapshot& cluster);

/// Differences so small that scoring every node again is not worth it.
[[nodiscard]] bool nearly_equal(const Prices& a, const Prices& b);

}  // namespace tangram::policies
