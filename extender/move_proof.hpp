#pragma once

#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/move_chooser.hpp"
#include "extender/scheduling/promises.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tangram::extender {

/// UIDs of the pods that move.
[[nodiscard]] std::vector<std::string> uids_of(const std::vector<cluster::Move>& moves);

/// Are moves that were chosen, and whose places are reserved, still right? By what the watches have
/// shown; MoveChooser reads at the API server what they do not. Threads: one at a time.
class MoveProof {
 public:
  struct Parts {
    cluster::SharedLedger& ledger;  ///< all outlive it
    const cluster::PodTable& pods;
    const Promises& promises;
    const cluster::PolicySource& policies;
  };
  explicit MoveProof(const Parts& parts) : parts_(parts) {}

  /// Why the waiting pod does not wait as it was planned.
  [[nodiscard]] MoveObstacle waiting_obstacle(const ChosenMoves& chosen) const;
  /// Why the moves from this one on do not help the waiting pod any more.
  [[nodiscard]] MoveObstacle obstacle(const ChosenMoves& chosen, std::size_t from) const;
  /// Is the waiting pod bound to its node, or being bound?
  [[nodiscard]] bool has_node(const ChosenMoves& chosen) const;

 private:
  [[nodiscard]] bool is_offered(const ChosenMoves& chosen) const;
  [[nodiscard]] bool holds(const ChosenMoves& chosen, std::size_t from) const;

  const Parts parts_;
};

}  // namespace tangram::extender
