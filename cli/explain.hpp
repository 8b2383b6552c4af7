#pragma once

#include "cli/explain_view.hpp"
#include "cli/screen.hpp"

#include <cstddef>
#include <string>

/// `explain`: why a pod waits, or what it holds.
namespace tangram::cli {

/// Nodes that are shown unless all are asked for: those that fit, the best first, then those that
/// come nearest to it.
inline constexpr std::size_t kMostExplained = 8;

[[nodiscard]] std::string draw_explain(const Screen& screen, const ExplainView& view,
                                       std::size_t most = kMostExplained);

}  // namespace tangram::cli
