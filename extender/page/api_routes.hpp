#pragma once

#include "cluster/disruption_budgets.hpp"
#include "cluster/explain.hpp"
#include "cluster/pod_groups.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/page/packing_stream.hpp"
#include "http/page_queue.hpp"
#include "http/router.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace tangram::extender {

/// What the views of people and tools are made of. Outlives the routes.
struct ApiParts {
  const cluster::SharedLedger& ledger;
  const cluster::PodTable& pods;
  const cluster::PolicySource& policies;
  PackingStream& stream;
  http::PageQueue& queue;        ///< where they are made, one after the other
  std::function<bool()> synced;  ///< the ledger holds what the API server has
  /// Null = not known, or nobody is evicted for room on a card.
  std::function<std::shared_ptr<const cluster::BudgetList>()> budgets;
  const cluster::PodGroups& groups;
  /// The room that is made for a pod, by UID.
  std::function<std::optional<cluster::RoomBeingMade>(std::string_view pod_uid)> room;
};

/// GET /api/v1/cluster, /explain, /packing and /events: docs/protocol.md.
void add_api_routes(http::Router& router, const ApiParts& parts);

}  // namespace tangram::extender
