#include "extender/page/api_routes.hpp"

#include "base/number.hpp"
#include "cluster/views.hpp"

#include <optional>

namespace tangram::extender {
namespace {

constexpr std::string_view kHowToExplain =
    "write /api/v1/explain?namespace=NAMESPACE&pod=NAME, and with &nodes=N of the nodes only the N "
    "that fit best";

http::Response error_response(const Error& error) {
  return http::text_response(error.code == Errc::kNotFound ? 404 : 400, error.message);
}

http::Response large_page(std::string json) {
  http::Response page = http::json_response(std::move(json));
  page.gzip = true;
  return page;
}

http::Response still_reading() {
  return http::retry_response(std::chrono::seconds(1),
                              "still reading the cluster from the API server; try again");
}

http::Response explain(const ApiParts& parts, const http::Request& request) {
  const auto ns = request.query.find("namespace");
  const auto pod = request.query.find("pod");
  const auto nodes = request.query.find("nodes");
  if (ns == request.query.end() || pod == request.query.end()) {
    return http::text_response(400, kHowToExplain);
  }
  std::optional<std::size_t> most;
  if (nodes != request.query.end()) {
    most = parse_number<std::size_t>(nodes->second);
    if (!most) return http::text_response(400, kHowToExplain);
  }
  const auto budgets = parts.budgets();
  auto explained = cluster::explain_json(
      ns->second, pod->second, *parts.ledger.snapshot(), parts.pods, parts.policies, most,
      {.budgets = budgets.get(), .groups = &parts.groups, .room = parts.room});
  return explained ? large_page(std::move(*explained)) : error_response(explained.error());
}

}  // namespace

void add_api_routes(http::Router& router, const ApiParts& parts) {
  http::PageQueue& queue = parts.queue;
  router.add("GET", "/api/v1/cluster", queue.in_turn([parts](const http::Request&) {
    return large_page(cluster::cluster_json(*parts.ledger.snapshot(), parts.pods));
  }));
  router.add("GET", "/api/v1/explain", queue.in_turn([parts](const http::Request& request) {
    return explain(parts, request);
  }));
  router.add("GET", "/api/v1/packing", queue.in_turn([parts](const http::Request&) {
    return parts.synced() ? large_page(parts.stream.packing()) : still_reading();
  }));
  router.add("GET", "/api/v1/events",
             [parts](const http::Request& request, http::Responder responder) {
               responder.send(parts.synced() ? parts.stream.open(request) : still_reading());
             });
}

}  // namespace tangram::extender
