#pragma once

#include "bench/replay/simulation_report.hpp"

#include <string>

namespace tangram::bench {

/// An SVG picture of the run: above the allocation, below the waiting pods by class, over time.
[[nodiscard]] std::string picture_of(const SimulationRun& run);

}  // namespace tangram::bench
