#pragma once

#include "cli/explain_view.hpp"
#include "cli/screen.hpp"

#include <cstddef>
#include <string>

/// `explain`: why a pod is pending, or what it was granted.
namespace tangram::cli {

/// Nodes shown without `all`: those that fit, the best first, then those that come nearest to a
/// fit.
inline constexpr std::size_t kMostExplained = 8;

/// @param all  every node, also with the cards of nodes that fit
[[nodiscard]] std::string draw_explain(const Screen& screen, const ExplainView& view, bool all);

}  // namespace tangram::cli
