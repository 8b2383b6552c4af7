#pragma once

#include "base/clock.hpp"
#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "http/page_queue.hpp"
#include "http/server.hpp"
#include "kube/access/metrics_access.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tangram::node {

/// Where the agent's metrics are served, and to whom.
struct MetricsSettings {
  Endpoint listen{"127.0.0.1", 9899};
  std::string certificate;  ///< PEM file, read again when it changes; empty = plain HTTP
  std::string key;          ///< PEM file, of that certificate
  bool tokens = false;      ///< only to bearer tokens whose user may read them; needs a certificate
};

/// GET /metrics and /healthz of the agent.
///
/// Pages are made on a thread of their own, one after the other: a driver that hangs keeps no probe
/// waiting. Threads: stop() on one; the rest is the server's.
class MetricsListener {
 public:
  struct Parts {
    std::function<std::string()> page;  ///< the metrics, as text; called on a thread of its own
    kube::KubeApi& reviews;             ///< reviews tokens; outlives it
    const Clock& clock;                 ///< outlives it
  };

  /// Serves from here on.
  /// @returns kInvalidArgument or kNotFound for TLS files that cannot be used, kUnavailable if the
  ///          address cannot be listened on
  static Result<std::unique_ptr<MetricsListener>> open(const MetricsSettings& settings,
                                                       const Parts& parts);
  ~MetricsListener() { stop(); }
  MetricsListener(const MetricsListener&) = delete;
  MetricsListener& operator=(const MetricsListener&) = delete;

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }

  /// Answers what is under way and listens no more. Safe to repeat.
  void stop();

 private:
  MetricsListener(const MetricsSettings& settings, const Parts& parts);
  [[nodiscard]] http::Handler routes(std::function<std::string()> page);

  http::PageQueue pages_;
  std::unique_ptr<kube::MetricsAccess> access_;  ///< null = metrics are for every client
  std::unique_ptr<http::Server> server_;         ///< null until it is open
};

}  // namespace tangram::node
