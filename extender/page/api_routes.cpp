#include "extender/page/api_routes.hpp"

#include "cluster/views.hpp"
#include "http/router.hpp"

#include <charconv>
#include <optional>

namespace tangram::extender {
namespace {

constexpr std::string_view kHowToExplain =
    "write /api/v1/explain?namespace=NAMESPACE&pod=NAME, and with &nodes=N of the nodes only the N "
    "that fit best";

HttpResponse error_response(const Error& error) {
  return text_response(error.code == Errc::kNotFound ? 404 : 400, error.message);
}

HttpResponse large_page(std::string json) {
  HttpResponse page = json_response(std::move(json));
  page.gzip = true;
  return page;
}

HttpResponse still_reading() {
  auto response = text_response(503, "still reading the cluster from the API server; try again");
  response.headers.push_back({"Retry-After", "1"});
  return response;
}

/// Nothing = it is no number.
std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

HttpResponse explain(const ApiParts& parts, const HttpRequest& request) {
  const auto ns = request.query.find("namespace");
  const auto pod = request.query.find("pod");
  const auto nodes = request.query.find("nodes");
  if (ns == request.query.end() || pod == request.query.end()) {
    return text_response(400, kHowToExplain);
  }
  std::optional<std::size_t> most;
  if (nodes != request.query.end()) {
    most = number(nodes->second);
    if (!most) return text_response(400, kHowToExplain);
  }
  auto explained = explain_json(ns->second, pod->second, *parts.books.snapshot(), parts.pending,
                                parts.policies, parts.findings, most);
  return explained ? large_page(std::move(*explained)) : error_response(explained.error());
}

}  // namespace

void add_api_routes(Router& router, const ApiParts& parts) {
  PageQueue& queue = parts.queue;
  router.add("GET", "/api/v1/cluster", queue.in_turn([parts](const HttpRequest&) {
    return large_page(cluster_json(*parts.books.snapshot(), parts.pending));
  }));
  router.add("GET", "/api/v1/explain", queue.in_turn([parts](const HttpRequest& request) {
    return explain(parts, request);
  }));
  router.add("GET", "/api/v1/packing", queue.in_turn([parts](const HttpRequest&) {
    return parts.synced() ? large_page(parts.news.packing()) : still_reading();
  }));
  router.add("GET", "/api/v1/events", [parts](const HttpRequest& request, Responder responder) {
    responder.send(parts.synced() ? parts.news.open(request) : still_reading());
  });
}

}  // namespace tangram::extender
