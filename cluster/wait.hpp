#pragma once

#include "model/fit.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace tangram::cluster {

/// The last answer that kube-scheduler got about a pod that requests a GPU and has no node.
enum class Wait {
  kNotAsked,       ///< none: it has not asked, or has asked another replica
  kInvalid,        ///< the annotations cannot be read
  kOffered,        ///< there is a node for it; what it waits for is not a card
  kSettling,       ///< to try again: the room is another pod's for the moment, not all nodes were
                   ///< tried, or the watch of the cluster is interrupted
  kGroup,          ///< there is a node for it, but not for enough members of its group
  kNoSuchCard,     ///< no node asked about has such a card, idle or not
  kUnavailable,    ///< the cards that would do are unhealthy or cordoned
  kIsolationBusy,  ///< the cards that would do are in use with another isolation
  kSharers,        ///< the cards that would do have no place for another sharer
  kRoom            ///< the cards that would do are too full
};
inline constexpr std::size_t kWaits = 10;
inline constexpr std::array<Wait, kWaits> kAllWaits{
    Wait::kNotAsked,   Wait::kInvalid,     Wait::kOffered,       Wait::kSettling, Wait::kGroup,
    Wait::kNoSuchCard, Wait::kUnavailable, Wait::kIsolationBusy, Wait::kSharers,  Wait::kRoom};
/// "no_such_card": the label of tangram_waiting_pods.
[[nodiscard]] std::string_view to_string(Wait wait);

/// Of a pod that no node can take.
/// @param nearest  why the node that comes nearest to it does not
[[nodiscard]] Wait wait_for(model::Misfit nearest);

}  // namespace tangram::cluster
