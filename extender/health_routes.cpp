#include "extender/health_routes.hpp"

#include "cluster/card_metrics.hpp"

#include <prometheus/text_serializer.h>

#include <iterator>
#include <memory>
#include <utility>

namespace tangram::extender {

namespace {

http::Response exposition_page() {
  http::Response page;
  page.content_type = "text/plain; version=0.0.4; charset=utf-8";
  page.gzip = true;
  return page;
}

}  // namespace

void add_health_routes(http::Router& router, std::function<std::string_view()> not_ready) {
  router.add("GET", "/healthz", [](const http::Request&, http::Responder responder) {
    responder.send(http::text_response(200, "ok"));
  });
  router.add("GET", "/readyz",
             [not_ready = std::move(not_ready)](const http::Request&, http::Responder responder) {
               const std::string why(not_ready());
               responder.send(why.empty() ? http::text_response(200, "ok")
                                          : http::text_response(503, why));
             });
}

std::string exposition(const Collectables& components) {
  std::vector<prometheus::MetricFamily> all;
  for (const prometheus::Collectable* component : components) {
    auto families = component->Collect();
    std::move(families.begin(), families.end(), std::back_inserter(all));
  }
  return prometheus::TextSerializer().Serialize(all);
}

http::Handler at_once(http::PageQueue::Page page) {
  return [page = std::move(page)](const http::Request& request, http::Responder responder) {
    responder.send(page(request));
  };
}

void add_metrics_routes(http::Router& router, const cluster::SharedLedger& ledger,
                        Collectables components, const Serving& serving) {
  router.add("GET", "/metrics", serving([components = std::move(components)](const http::Request&) {
               http::Response page = exposition_page();
               page.body = exposition(components);
               return page;
             }));
  router.add("GET", "/metrics/cards", serving([&ledger](const http::Request&) {
               auto cards = std::make_shared<cluster::CardMetrics>(ledger.snapshot());
               http::Response page = exposition_page();
               page.producer = [cards](std::string& out) { return cards->next(out); };
               return page;
             }));
}

}  // namespace tangram::extender
