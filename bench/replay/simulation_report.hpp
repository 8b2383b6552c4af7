#pragma once

#include "bench/replay/simulation.hpp"

#include <string>
#include <vector>

namespace tangram::bench {

/// A simulation and what was simulated.
struct SimulationRun {
  std::string policy;  ///< with what moves pods: "least-waste+moves"
  std::string via;
  SimulationOutcome outcome;
};

/// Some lines for people, with a table of the waits by class.
[[nodiscard]] std::string simulation_text(const SimulationRun& run);

/// One JSON object on a line, with the series. Without wall times: equal runs give equal texts.
[[nodiscard]] std::string simulation_json(const SimulationRun& run);

/// A table with a line for each run; changes are against the first.
[[nodiscard]] std::string comparison_text(const std::vector<SimulationRun>& runs);

/// How much longer the pods of the class that lost most wait than in `base`.
struct WorstChange {
  PodClass which{};
  double percent = 0;  ///< of the mean wait
  double seconds = 0;
};
/// Of classes with pods in both. Waits below a second are noise: they count as a second.
[[nodiscard]] WorstChange worst_change(const SimulationOutcome& outcome,
                                       const SimulationOutcome& base);

}  // namespace tangram::bench
