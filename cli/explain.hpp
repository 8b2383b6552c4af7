#pragma once

#include "cli/explain_view.hpp"
#include "cli/screen.hpp"

#include <cstddef>
#include <string>

/// `explain`: why a pod waits, or what it holds.
namespace tangram::cli {

/// Nodes that are shown unless all are: those that fit, the best first, then those that come
/// nearest to it.
inline constexpr std::size_t kMostExplained = 8;

/// @param all  every node, and the cards of those that fit, too
[[nodiscard]] std::string draw_explain(const Screen& screen, const ExplainView& view, bool all);

}  // namespace tangram::cli
