#pragma once

#include "drawing/cluster_view.hpp"
#include "drawing/terminal.hpp"

#include <string>

namespace tangram::bench::demo {

/// A line per card: how much of its memory and compute is granted, in which mode, and to whom.
/// No line is wider than the look.
[[nodiscard]] std::string draw_packing_table(const drawing::Look& look,
                                             const drawing::ClusterView& cluster);

}  // namespace tangram::bench::demo
