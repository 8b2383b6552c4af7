#pragma once

#include "bench/demo/audit.hpp"
#include "bench/demo/player.hpp"
#include "drawing/cluster_view.hpp"
#include "drawing/terminal.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the demo says, as text. Pure.
namespace tangram::bench::demo {

/// "12 nodes with 59 cards: 11 × H100-SXM5-80GB, …"
[[nodiscard]] std::string draw_cluster_line(const drawing::Look& look,
                                            const drawing::ClusterView& cluster);

/// What one kind of pod asked for and what it got.
[[nodiscard]] std::string draw_story(const drawing::Look& look, const Player::Story& story);

/// One line; `filled` of 0..1 is granted.
[[nodiscard]] std::string draw_progress(const drawing::Look& look, const Player::Counts& counts,
                                        std::size_t total, double filled);

/// The value of one series, written exactly as the page does: `name` or `name{label="value"}`.
[[nodiscard]] std::optional<double> series_value(std::string_view page, std::string_view series);

/// What GET /metrics says about the packing and about the service.
[[nodiscard]] std::string draw_numbers(const drawing::Look& look, std::string_view metrics,
                                       const Player::Counts& counts,
                                       const std::vector<double>& history);

/// What was checked, and every rule that was broken.
[[nodiscard]] std::string draw_checks(const drawing::Look& look, const Audit& audit);

/// Commands for somebody who wants to see more; the pods are "namespace/name", or empty.
[[nodiscard]] std::string draw_next_steps(const drawing::Look& look, const std::string& address,
                                          const std::string& running, const std::string& waiting);

}  // namespace tangram::bench::demo
