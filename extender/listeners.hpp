#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/config.hpp"
#include "http/server.hpp"
#include "http/tls/identity.hpp"

#include <prometheus/collectable.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace tangram::http {
class Router;
}  // namespace tangram::http

namespace tangram::extender {

/// Threads that serve requests.
[[nodiscard]] std::size_t server_threads(const config::Config::Server& server);

/// What the service listens on: for kube-scheduler and people, for the API server's webhook calls,
/// and for probes and scrapes. Each has its own threads, connections and memory, so that none can
/// be starved through another.
/// Threads: safe; the routes may ask Collect() while further listeners are being opened.
class Listeners final : public prometheus::Collectable {
 public:
  using Routes = std::shared_ptr<const http::Router>;

  Listeners() = default;
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;

  /// To be called once.
  /// @param clock  outlives it
  /// @param webhook, metrics  routes of those two; used only where the configuration has them
  /// @returns kInvalidArgument or kNotFound for TLS files that cannot be used, kUnavailable if an
  ///          address cannot be listened on
  Result<void> open(const config::Config& config, const Clock& clock, Routes server, Routes webhook,
                    Routes metrics);

  [[nodiscard]] std::uint16_t port() const;
  /// 0 = there is none.
  [[nodiscard]] std::uint16_t webhook_port() const;
  [[nodiscard]] std::uint16_t metrics_port() const;

  struct Status {
    std::string_view name;
    http::Counters http;
    std::optional<http::tls::Identity::Health> tls;  ///< nothing = plain HTTP
  };
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;
  /// @param listeners  in any order
  [[nodiscard]] static std::vector<prometheus::MetricFamily> metrics_of(
      const std::vector<Status>& listeners);

  /// Answers what is under way and listens no more: health last. Blocks for the server's time to
  /// drain and 2 s more at most; safe to repeat.
  void stop();

 private:
  struct Listener {
    std::string_view name;
    std::shared_ptr<http::tls::Identity> identity;  ///< null = plain HTTP
    std::unique_ptr<http::Server> server;           ///< null = none is configured
  };

  [[nodiscard]] std::vector<Status> status() const;
  [[nodiscard]] std::uint16_t port_of(const Listener& listener) const;
  Result<void> open(Listener& listener, http::Options options, const Clock& clock, Routes routes);

  mutable std::mutex mutex_;  ///< guards the servers' pointers
  Listener server_{"server", nullptr, nullptr};
  Listener webhook_{"webhook", nullptr, nullptr};
  Listener metrics_{"metrics", nullptr, nullptr};
};

}  // namespace tangram::extender
