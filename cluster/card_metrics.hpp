#pragma once

#include "cluster/shared_ledger.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tangram::cluster {

/// The text of GET /metrics/cards: per-card series in the Prometheus exposition format, made
/// piece by piece from one snapshot, so that 40,000 cards never stand in memory as text. The label
/// `card` is the card's place in its node's list, so that dashboards can draw nodes by cards.
/// Threads: one at a time.
class CardMetrics {
 public:
  explicit CardMetrics(ClusterPtr cluster);

  /// Appends the next piece. @returns false when there is nothing more
  bool next(std::string& out);

 private:
  ClusterPtr cluster_;
  std::vector<const model::NodeState*> nodes_;  ///< by name
  std::size_t family_ = 0;
  std::size_t node_ = 0;
};

/// A label value between quotes: backslash, quote and newline escaped.
[[nodiscard]] std::string escape_label(std::string_view value);

}  // namespace tangram::cluster
