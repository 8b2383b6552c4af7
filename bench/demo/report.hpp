#pragma once

#include "bench/demo/audit.hpp"
#include "bench/demo/driver.hpp"
#include "drawing/cluster_view.hpp"
#include "drawing/terminal.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The demo's report, as text. Pure.
namespace tangram::bench::demo {

/// "12 nodes with 59 cards: 11 × H100-SXM5-80GB, …"
[[nodiscard]] std::string draw_cluster_line(const drawing::Style& style,
                                            const drawing::ClusterView& cluster);

/// The request of one kind of pod, and its node or the reason against it.
[[nodiscard]] std::string draw_highlight(const drawing::Style& style,
                                         const Driver::Highlight& highlight);

/// One line; `filled` of 0..1 is granted.
[[nodiscard]] std::string draw_progress(const drawing::Style& style, const Driver::Counts& counts,
                                        std::size_t total, double filled);

/// The value of one series, written as on the page: `name` or `name{label="value"}`.
[[nodiscard]] std::optional<double> series_value(std::string_view page, std::string_view series);

/// The packing and the extender, by GET /metrics.
[[nodiscard]] std::string draw_numbers(const drawing::Style& style, std::string_view metrics,
                                       const Driver::Counts& counts,
                                       const std::vector<double>& history);

/// The number of checks, and every broken rule.
[[nodiscard]] std::string draw_checks(const drawing::Style& style, const Audit& audit);

/// Commands to try next; the pods are "namespace/name", or empty.
[[nodiscard]] std::string draw_next_steps(const drawing::Style& style, const std::string& address,
                                          const std::string& running, const std::string& waiting);

}  // namespace tangram::bench::demo
