#include "node/metrics_listener.hpp"

#include "http/router.hpp"
#include "http/scrape_options.hpp"
#include "http/tls/identity.hpp"

#include <utility>

namespace tangram::node {
namespace {

http::Response exposition_page(std::string text) {
  http::Response page;
  page.content_type = "text/plain; version=0.0.4; charset=utf-8";
  page.body = std::move(text);
  page.gzip = true;
  return page;
}

}  // namespace

MetricsListener::MetricsListener(const MetricsSettings& settings, const Parts& parts)
    : access_(settings.tokens ? std::make_unique<kube::MetricsAccess>(parts.reviews, parts.clock)
                              : nullptr) {}

http::Handler MetricsListener::routes(std::function<std::string()> page) {
  http::Handler metrics = pages_.in_turn(
      [page = std::move(page)](const http::Request&) { return exposition_page(page()); });
  http::Router router;
  router.add("GET", "/metrics", access_ ? access_->guarded(std::move(metrics)) : metrics);
  router.add("GET", "/healthz", [](const http::Request&, http::Responder responder) {
    responder.send(http::text_response(200, "ok"));
  });
  return router;
}

Result<std::unique_ptr<MetricsListener>> MetricsListener::open(const MetricsSettings& settings,
                                                               const Parts& parts) {
  const bool tls = !settings.certificate.empty();
  http::Options options = http::scrape_options(tls);
  options.address = settings.listen.address;
  options.port = settings.listen.port;
  options.clock = &parts.clock;
  if (tls) {
    auto identity = http::tls::Identity::load(
        "metrics", {.certificate = settings.certificate, .key = settings.key, .client_ca = ""},
        parts.clock);
    if (!identity) return identity.error();
    options.tls = std::move(*identity);
  }
  std::unique_ptr<MetricsListener> listener(new MetricsListener(settings, parts));
  auto server = http::Server::create(std::move(options), listener->routes(parts.page));
  if (!server) return fail(server.error().code, "--listen: " + server.error().message);
  listener->server_ = std::move(*server);
  return listener;
}

void MetricsListener::stop() {
  if (server_) server_->stop();
  if (access_) access_->drain();
  pages_.drain();
}

}  // namespace tangram::node
