#pragma once

#include "drawing/cluster_view.hpp"
#include "drawing/terminal.hpp"

#include <string>

namespace tangram::drawing {

/// Every card as a bar, node by node; a larger card has a longer bar. With colour, the upper half
/// of a bar is memory and the lower half compute. Without, each has its own line, with a letter for
/// each namespace. Ends with a legend if any card is in use. No line is wider than the style.
[[nodiscard]] std::string draw_card_map(const Style& style, const ClusterView& cluster);

/// "8 × H100-SXM5-80GB", "2 × A100-PCIE-40GB + 2 × T4", in the order of the cards.
[[nodiscard]] std::string models_of(const NodeView& node);

/// Cells of a bar: by the square root of the memory, so that small cards remain readable.
[[nodiscard]] std::size_t bar_cells(std::int64_t mem_mib);

/// The owner of each cell: an index into the card's shares, or -1 if free.
/// @param amount  of one share, in the unit of `capacity`
[[nodiscard]] std::vector<int> owners_of_cells(const CardView& card, std::size_t cells,
                                               std::int64_t ShareView::*amount,
                                               std::int64_t capacity);

}  // namespace tangram::drawing
