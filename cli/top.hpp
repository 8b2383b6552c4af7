#pragma once

#include "cli/screen.hpp"
#include "drawing/cluster_view.hpp"

#include <cstddef>
#include <string>
#include <vector>

/// `top`: how full every card is.
namespace tangram::cli {

using drawing::ClusterView;

/// Nodes that are drawn unless all are asked for: more than a few screens nobody looks at.
inline constexpr std::size_t kMostDrawn = 40;

/// Keeps the named nodes; without names those that have cards.
/// @returns the names that are no node's
std::vector<std::string> keep_nodes(drawing::ClusterView& cluster,
                                    const std::vector<std::string>& names);

/// Sums, then every node's cards as bars: at most `most` nodes, the fullest first if there are
/// more.
[[nodiscard]] std::string draw_top(const Screen& screen, const drawing::ClusterView& cluster,
                                   std::size_t most = kMostDrawn);

/// Sums, then a line for every card of every node, with its UUID and why it takes no pods.
[[nodiscard]] std::string draw_top_wide(const Screen& screen, const drawing::ClusterView& cluster);

}  // namespace tangram::cli
