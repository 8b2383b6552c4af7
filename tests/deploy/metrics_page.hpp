#pragma once

#include <string>

namespace tangram::testing {

/// docs/metrics.md: every metric of the extender and of the agent with its type, its labels and its
/// help, as the programs themselves write them. Made from pages on which every family has a series.
[[nodiscard]] std::string metrics_page();

}  // namespace tangram::testing
