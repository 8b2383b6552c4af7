#pragma once

#include "model/node_state.hpp"
#include "policies/workload.hpp"

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tangram::policies {

/// How much idle GPU of a node the expected pods cannot use (FGD, USENIX ATC 2023).
///
/// For a class m of the workload, F_n(m) in milli-GPU is
///   - all idle compute of node n, if m asks no GPU, too few of the node's cards can take m's
///     slice, or the node's free CPU is less than m's; memory of the node is not looked at;
///   - else the free compute of those cards that cannot take one slice of m: too little memory
///     or compute left, no place for a sharer, another isolation mode; for a slice of a whole
///     card every card that is in use.
/// F_n is the mean of F_n(m) over the workload's pods. It is kept as a sum over the pods, in
/// milli-GPU x pods, so that differences are exact integers.
///
/// A class of several containers counts as runnable where each container by itself finds its
/// cards (those that want whole cards together): an exact search costs up to a millisecond, and
/// this is asked for every class on every card.
///
/// Cards that take no new pods (unhealthy, cordoned) count neither as idle nor as a place.
/// Immutable; safe to use from many threads at once.
class FragmentationMeasure {
 public:
  explicit FragmentationMeasure(const Workload& workload);

  /// Pods of the workload; 0 = nothing is expected, and every sum is 0.
  [[nodiscard]] std::int64_t pods() const { return pods_; }

  /// What a look at one card costs (NodeFragmentation::weighted_if()), in steps of a search that
  /// looks at nothing else: it goes through all kinds of pods.
  [[nodiscard]] std::int64_t look_price() const {
    return 1 + static_cast<std::int64_t>(kinds_.size()) / 8;
  }

  /// For people and dashboards: the idle milli-GPU of the node that an average *GPU* pod of the
  /// workload cannot use. Pods without GPU are left out: no GPU is of use to them.
  [[nodiscard]] double fragmented_milli(const model::NodeState& node) const;

 private:
  friend class NodeFragmentation;

  /// One slice that a class asks for, on `count` cards.
  struct Piece {
    model::Share share;
    int count = 1;
  };
  /// All classes with the same GPU request. They differ in CPU only.
  struct Kind {
    model::GpuRequest request;
    std::size_t first_piece = 0;  ///< in pieces_
    std::size_t pieces_end = 0;
    std::vector<std::int64_t> cpu;     ///< milli, ascending
    std::vector<std::int64_t> weight;  ///< pods that ask at most cpu[i]

    [[nodiscard]] std::int64_t pods() const { return weight.back(); }
    [[nodiscard]] std::int64_t pods_within(MilliCpu free) const;
  };

  void add_kind(const model::GpuRequest& request);

  std::vector<Kind> kinds_;
  std::vector<Piece> pieces_;
  std::int64_t pods_ = 0;
  std::int64_t pods_without_gpu_ = 0;
};

/// The measure worked out on one node, card by card, so that the effect of changing one card
/// costs that card only. Refers to the measure and to the cards it was made with.
class NodeFragmentation {
 public:
  /// @param use  one per card; may differ from the node's own ("what if")
  NodeFragmentation(const FragmentationMeasure& measure, const std::vector<model::Card>& cards,
                    const std::vector<model::CardUse>& use);

  /// F_n x pods with this much free CPU.
  [[nodiscard]] std::int64_t weighted(MilliCpu free_cpu) const;

  /// The same if `card` were used like this.
  [[nodiscard]] std::int64_t weighted_if(std::uint32_t card, const model::CardUse& use,
                                         MilliCpu free_cpu) const;

  /// Two cards that the same pods fit in the same way when used alike.
  [[nodiscard]] bool alike(std::uint32_t a, std::uint32_t b) const {
    return sort_of_[a] == sort_of_[b];
  }

  /// F_n x pods over the classes that ask for GPU.
  [[nodiscard]] std::int64_t weighted_gpu_only(MilliCpu free_cpu) const;

 private:
  /// What a piece is on a kind of card.
  struct PieceOnCard {
    bool possible = false;  ///< an idle card of this sort takes it
    model::Slice slice;
  };
  using PiecesOnCard = boost::container::small_vector<PieceOnCard, 64>;

  /// What one card's other use means to a kind of pod.
  struct Effect {
    bool runs = true;         ///< enough cards of the node take it
    bool was_of_use = false;  ///< the card as it is
    bool is_of_use = false;   ///< the card used otherwise
  };

  [[nodiscard]] Effect effect_on(const FragmentationMeasure::Kind& kind, std::uint32_t card,
                                 const model::CardUse& use) const;
  void add_card_sort(const model::Card& card);
  [[nodiscard]] bool takes(std::size_t piece, const FragmentationMeasure::Kind& kind,
                           std::uint32_t card, const model::CardUse& use) const;
  void tally(std::uint32_t card, const model::CardUse& use);

  const FragmentationMeasure& measure_;
  const std::vector<model::Card>& cards_;
  boost::container::small_vector<std::uint32_t, 1> sort_example_;  ///< a card of each sort
  boost::container::small_vector<std::uint32_t, 16> sort_of_;      ///< by card
  PiecesOnCard on_card_;                                           ///< by sort, then piece
  boost::container::small_vector<std::int64_t, 16> free_;      ///< milli by card; 0 = not available
  boost::container::small_vector<bool, 512> takes_;            ///< by card, then piece
  boost::container::small_vector<std::int32_t, 64> fitting_;   ///< cards that take it, by piece
  boost::container::small_vector<std::int64_t, 64> stranded_;  ///< milli by kind
  std::int64_t idle_ = 0;
};

}  // namespace tangram::policies
