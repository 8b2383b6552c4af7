#pragma once

#include "cli/screen.hpp"
#include "drawing/cluster_view.hpp"

#include <cstddef>
#include <string>
#include <vector>

/// `top`: how full every card is.
namespace tangram::cli {

using drawing::ClusterView;

/// Nodes that are drawn by default: a few screens.
inline constexpr std::size_t kMostDrawn = 40;

/// Keeps the named nodes; without names the nodes with cards.
/// @returns the names of nodes that do not exist
std::vector<std::string> keep_nodes(drawing::ClusterView& cluster,
                                    const std::vector<std::string>& names);

/// Sums, then every node's cards as bars; at most `most` nodes, the fullest.
[[nodiscard]] std::string draw_top(const Screen& screen, const drawing::ClusterView& cluster,
                                   std::size_t most = kMostDrawn);

/// Sums, then one line for each card, with its UUID and why it takes no pods.
[[nodiscard]] std::string draw_top_wide(const Screen& screen, const drawing::ClusterView& cluster);

}  // namespace tangram::cli
