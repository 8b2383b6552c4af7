#pragma once

#include "drawing/cluster_view.hpp"
#include "drawing/terminal.hpp"

#include <string>

namespace tangram::bench::demo {

/// One line for each card: its granted memory and compute, its mode, and its pods.
/// No line is wider than the style.
[[nodiscard]] std::string draw_packing_table(const drawing::Style& style,
                                             const drawing::ClusterView& cluster);

}  // namespace tangram::bench::demo
