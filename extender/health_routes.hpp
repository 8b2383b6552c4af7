#pragma once

#include "cluster/shared_ledger.hpp"
#include "http/page_queue.hpp"
#include "http/router.hpp"

#include <prometheus/collectable.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

/// GET /healthz and /readyz.
/// @param not_ready  why this replica takes no traffic; empty = it does. Called from any thread
void add_health_routes(http::Router& router, std::function<std::string_view()> not_ready);

/// The components that register metrics; they outlive what holds the list.
using Collectables = std::vector<const prometheus::Collectable*>;

/// The metrics of all components in the Prometheus text format.
[[nodiscard]] std::string exposition(const Collectables& components);

/// How a page becomes a handler: at once, or in turn.
using Serving = std::function<http::Handler(http::PageQueue::Page)>;
/// For a page of a listener whose threads do nothing else.
[[nodiscard]] http::Handler at_once(http::PageQueue::Page page);

/// GET /metrics and /metrics/cards.
/// @param ledger  outlives the router
void add_metrics_routes(http::Router& router, const cluster::SharedLedger& ledger,
                        Collectables components, const Serving& serving);

}  // namespace tangram::extender
