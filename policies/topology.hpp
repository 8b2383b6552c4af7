#pragma once

#include "model/node_state.hpp"
#include "model/request.hpp"

#include <boost/container/small_vector.hpp>

#include <cstdint>

namespace tangram::policies {

/// Which idle cards of a node to take for a pod of several whole cards: those closest together, by
/// links first (NVLink counts per link; any other link as half of one NVLink) and then by NUMA
/// node. A pod of one whole card gets the one that fewest other idle cards are close to.
///
/// A tie-break: among whole cards nothing else makes a difference. Where no card reports links or
/// a NUMA node it prefers none.
class NearbyCards {
 public:
  /// Looks at the request's only container; several are not looked at.
  NearbyCards(const model::GpuRequest& request, const model::NodeState& node);

  /// 0, or a little more for a card that is to be taken whole. Other shares of a card are not
  /// alike, and nodes are compared by what those would be.
  [[nodiscard]] std::int64_t preference(const model::Slice& slice, std::uint32_t card) const {
    return slice.whole && card < chosen_.size() && chosen_[card] ? 1 : 0;
  }

 private:
  boost::container::small_vector<bool, 16> chosen_;  ///< by card; empty = no preference
};

}  // namespace tangram::policies
