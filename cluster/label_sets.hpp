#pragma once

#include "model/labels.hpp"

#include <cstddef>
#include <unordered_map>

namespace tangram::cluster {

/// Gives pods with the same labels the same copy of them. Forgets what it knows when there is too
/// much of it: then copies are made anew.
/// Threads: one at a time.
class LabelSets {
 public:
  [[nodiscard]] model::SharedLabels shared(model::SharedLabels labels);

 private:
  /// Different labels that are remembered, each in some 100 bytes beside the labels themselves.
  static constexpr std::size_t kMost = 10'000;

  std::unordered_map<std::size_t, model::SharedLabels> known_;  ///< by hash
};

}  // namespace tangram::cluster
