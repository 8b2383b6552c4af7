#pragma once

#include "drawing/cluster_view.hpp"
#include "drawing/terminal.hpp"

#include <string>

namespace tangram::drawing {

/// Every card as a bar, node by node; a larger card has a longer bar. With colour, the upper half
/// of a bar is the card's memory and the lower half its compute; without, each has a line and a
/// letter per namespace. Ends with the legend, unless no card is held. No line is wider than the
/// look.
[[nodiscard]] std::string draw_card_map(const Look& look, const ClusterView& cluster);

/// "8 × H100-SXM5-80GB", "2 × A100-PCIE-40GB + 2 × T4", in the order of the cards.
[[nodiscard]] std::string models_of(const NodeView& node);

/// Cells of a bar: the square root of the memory, so that small cards can still be read.
[[nodiscard]] std::size_t bar_cells(std::int64_t mem_mib);

/// Who has each cell: an index into the card's shares, or -1 for nobody.
/// @param amount  of one share, in the unit of `capacity`
[[nodiscard]] std::vector<int> owners_of_cells(const CardView& card, std::size_t cells,
                                               std::int64_t ShareView::*amount,
                                               std::int64_t capacity);

}  // namespace tangram::drawing
