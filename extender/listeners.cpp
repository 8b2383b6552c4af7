#include "extender/listeners.hpp"

#include "base/metric_family.hpp"
#include "extender/admission/review.hpp"
#include "http/host_guard.hpp"
#include "http/router.hpp"
#include "http/scrape_options.hpp"
#include "http/tls/client_guard.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

namespace tangram::extender {
namespace {

/// No registration of ours waits longer, so the API server is gone then.
constexpr std::chrono::milliseconds kReviewTime{5'000};
/// The API server opens a connection for each review under way; more wait for one.
constexpr std::size_t kWebhookConnections = 256;
/// An API server keeps 25 connections and opens more for reviews at the same time, of which it has
/// 600 at most as shipped (--max-requests-inflight and --max-mutating-requests-inflight): twice
/// that, for two behind one address. Reviews take a few milliseconds, so beyond a burst it opens
/// some a second. Without webhook.client_ca it shows no certificate that would identify it.
constexpr int kWebhookConnects = 100;
constexpr int kWebhookConnectsBurst = 1'200;
/// Their texts. One address gets half, two of the largest. Beside it there is room for one of a
/// second address. At the very worst the webhook uses 700 MiB of the extender's 2 GiB: these, twice
/// while all of them grow (320 MiB), what reading large reviews takes (256 MiB, see
/// AdmissionService), and the threads' small ones (64 times 2 MiB).
constexpr std::size_t kReviewsInMemory = std::size_t{160} << 20;
/// Each reads one review at a time. A review takes a millisecond, so more would help nobody.
constexpr std::size_t kMostWebhookThreads = 64;

/// Of the webhook, whose answers take milliseconds.
constexpr std::chrono::milliseconds kShortDrain{2'000};

http::Options server_options(const config::Config& config) {
  const auto& server = config.server;
  http::Options options;
  options.address = server.listen.address;
  options.port = server.listen.port;
  options.threads = server_threads(server);
  options.max_body_bytes = static_cast<std::size_t>(server.max_body_mib) << 20U;
  options.max_header_bytes = static_cast<std::size_t>(server.max_header_kib) << 10U;
  options.max_connections = static_cast<std::size_t>(server.max_connections);
  options.max_bodies_bytes = static_cast<std::size_t>(server.max_bodies_mib) << 20U;
  options.idle_timeout = server.idle_timeout;
  options.request_timeout = server.request_timeout;
  options.drain_timeout = server.drain_timeout;
  options.handshake_timeout = config.tls.handshake_timeout;
  if (config.tls.certificate.empty()) {
    options.gate = http::local_pages_by_name(server.host_names);
  } else if (!config.tls.client_ca.empty()) {
    options.connects_per_second = server.connects_per_s;
    options.connects_burst = server.connects_burst;
    options.gate = http::tls::verified_clients(http::tls::split_names(config.tls.client_names));
  }
  return options;
}

http::Options webhook_options(const config::Config& config) {
  http::Options options = server_options(config);
  options.address = config.webhook.listen->address;
  options.port = config.webhook.listen->port;
  options.threads = std::min(options.threads, kMostWebhookThreads);
  options.max_body_bytes = kLargestReview;
  options.max_connections = kWebhookConnections;
  options.connects_per_second = kWebhookConnects;
  options.connects_burst = kWebhookConnectsBurst;
  options.request_timeout = std::min(options.request_timeout, kReviewTime);
  options.max_bodies_bytes = kReviewsInMemory;
  options.drain_timeout = kShortDrain;
  options.gate = nullptr;  // what it answers is no secret, and changes nothing
  if (!config.webhook.client_ca.empty()) {
    options.gate =
        http::tls::verified_reviewers(http::tls::split_names(config.webhook.client_names));
  }
  return options;
}

/// Then metrics are sent over TLS.
bool asks_for_tokens(const config::Config& config) {
  return config.metrics.authentication == config::MetricsAuthentication::kToken;
}

http::Options metrics_options(const config::Config& config) {
  const bool tls = asks_for_tokens(config);
  http::Options options = http::scrape_options(tls);
  options.address = config.metrics.listen->address;
  options.port = config.metrics.listen->port;
  if (!tls) options.gate = http::local_pages_by_name(config.server.host_names);
  return options;
}

void warn_of_open_verbs(const config::Config& config) {
  if (is_loopback(config.server.listen) || !config.tls.client_ca.empty()) return;
  spdlog::warn(
      "any client that reaches {} can bind pods{}: tls.client_ca lets only those who show a "
      "certificate, and a NetworkPolicy keeps others away",
      to_string(config.server.listen),
      config.tls.certificate.empty() ? ", and nothing said there is encrypted" : "");
}

}  // namespace

std::size_t server_threads(const config::Config::Server& server) {
  if (server.threads != 0) return static_cast<std::size_t>(server.threads);
  return std::max(1U, std::thread::hardware_concurrency());
}

Result<void> Listeners::open(Listener& listener, http::Options options, const Clock& clock,
                             Routes routes) {
  options.clock = &clock;
  options.tls = listener.identity;
  auto server = http::Server::create(
      std::move(options),
      [routes = std::move(routes)](http::Request request, http::Responder responder) {
        (*routes)(std::move(request), std::move(responder));
      });
  if (!server) {
    return fail(server.error().code,
                std::string(listener.name) + ".listen: " + server.error().message);
  }
  const std::scoped_lock lock(mutex_);
  listener.server = std::move(*server);
  return {};
}

Result<void> Listeners::open(const config::Config& config, const Clock& clock, Routes server,
                             Routes webhook, Routes metrics) {
  const auto& files = config.tls;
  if (!files.certificate.empty()) {
    auto own =
        http::tls::Identity::load("server", {files.certificate, files.key, files.client_ca}, clock);
    if (!own) return own.error();
    server_.identity = std::move(*own);
  }
  if (config.webhook.listen) {
    auto own = http::tls::Identity::load(
        "webhook", {files.certificate, files.key, config.webhook.client_ca}, clock);
    if (!own) return own.error();
    webhook_.identity = std::move(*own);
  }
  if (asks_for_tokens(config)) {
    auto own = http::tls::Identity::load("metrics", {files.certificate, files.key, ""}, clock);
    if (!own) return own.error();
    metrics_.identity = std::move(*own);
  }
  warn_of_open_verbs(config);
  auto opened = open(server_, server_options(config), clock, std::move(server));
  if (opened && config.webhook.listen) {
    opened = open(webhook_, webhook_options(config), clock, std::move(webhook));
  }
  if (opened && config.metrics.listen) {
    opened = open(metrics_, metrics_options(config), clock, std::move(metrics));
  }
  return opened;
}

std::uint16_t Listeners::port_of(const Listener& listener) const {
  const std::scoped_lock lock(mutex_);
  return listener.server ? listener.server->port() : 0;
}

std::uint16_t Listeners::port() const { return port_of(server_); }
std::uint16_t Listeners::webhook_port() const { return port_of(webhook_); }
std::uint16_t Listeners::metrics_port() const { return port_of(metrics_); }

std::vector<Listeners::Status> Listeners::status() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Status> all;
  for (const Listener* listener : {&server_, &webhook_, &metrics_}) {
    if (!listener->server) continue;
    Status status{listener->name, listener->server->counters(), std::nullopt};
    if (listener->identity) status.tls = listener->identity->health();
    all.push_back(status);
  }
  return all;
}

std::vector<prometheus::MetricFamily> Listeners::Collect() const { return metrics_of(status()); }

std::vector<prometheus::MetricFamily> Listeners::metrics_of(const std::vector<Status>& listeners) {
  auto connections =
      MetricFamily::gauge("tangram_http_connections", "Connections being served, by listener.");
  auto shed = MetricFamily::counter(
      "tangram_http_shed_total",
      "What was turned away or cut to stay within limits, by listener and what: connection "
      "(all were busy), evicted (one that waited for its client), rate (its address opens "
      "too many a second), body (no memory for it), handshake (TLS that failed).");
  auto expiry = MetricFamily::gauge("tangram_tls_certificate_expiry_timestamp_seconds",
                                    "When the certificate in force expires, by listener.");
  auto failures = MetricFamily::counter(
      "tangram_tls_reload_failures_total",
      "Changes of the TLS files that could not be used, so that the former certificate "
      "stayed in force, by listener.");
  for (const Status& listener : listeners) {
    const std::string name(listener.name);
    const auto shed_by = [&](const char* what, std::uint64_t count) {
      shed.add({{"listener", name}, {"what", what}}, count);
    };
    connections.add({{"listener", name}}, listener.http.open);
    shed_by("connection", listener.http.rejected);
    shed_by("evicted", listener.http.evicted);
    shed_by("rate", listener.http.too_fast);
    shed_by("body", listener.http.bodies_refused);
    if (!listener.tls) continue;
    shed_by("handshake", listener.http.handshakes_failed);
    failures.add({{"listener", name}}, listener.tls->failures);
    expiry.add({{"listener", name}},
               std::chrono::duration<double>(listener.tls->expires.time_since_epoch()).count());
  }
  MetricFamilies all;
  for (MetricFamily* family : {&connections, &shed, &expiry, &failures}) family->into(all);
  return all;
}

void Listeners::stop() {
  const auto stop = [](const Listener& listener) {
    if (listener.server) listener.server->stop();
  };
  {
    const std::jthread beside([&] { stop(webhook_); });
    stop(server_);
  }
  stop(metrics_);
}

}  // namespace tangram::extender
