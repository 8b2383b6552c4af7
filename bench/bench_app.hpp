#pragma once

#include "base/clock.hpp"
#include "bench/extender_client.hpp"
#include "bench/synthetic_api.hpp"
#include "extender/app.hpp"
#include "kube/grant_keys.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tangram::http {
class Router;
}  // namespace tangram::http

namespace tangram::bench {

/// The configuration of an extender in this process, on any free port.
[[nodiscard]] config::Config local_config(const std::string& policy, int short_list);

/// An extender in this process, and a connection to it.
struct LocalExtender {
  std::unique_ptr<extender::App> app;
  ExtenderClient client;
  std::string host;

  /// "127.0.0.1:8080"
  [[nodiscard]] std::string address() const;
  /// Waits until the extender knows the pending pod.
  void wait_until_seen(const std::string& pod_uid) const;
  /// Waits until the extender knows that the bound pod, which was deleted, has gone.
  void wait_until_released(const std::string& pod_uid) const;
};
/// Returns when the ledger is complete. What `parts` refers to outlives the extender.
Result<LocalExtender> start_extender(const config::Config& config,
                                     const extender::App::Parts& parts);

/// An extender on a synthetic cluster.
class BenchApp {
 public:
  struct Options {
    ClusterSize size;
    std::string policy;
    int short_list = 1;
    config::Config::Grants grants = {};  ///< with keys, the running pods' grants are signed
    std::function<void(http::Router&)> more_routes = nullptr;
  };
  /// Returns when the ledger is complete.
  static Result<std::unique_ptr<BenchApp>> start(const Options& options);

  [[nodiscard]] SyntheticApi& api() { return api_; }
  [[nodiscard]] ExtenderClient& client() { return extender_->client; }
  [[nodiscard]] const cluster::SharedLedger& ledger() const { return extender_->app->ledger(); }

  /// Creates a pending pod, and returns when the extender knows it.
  void arrive(const PendingPod& pod);

 private:
  using GrantKeysPtr = std::unique_ptr<kube::GrantKeys>;
  BenchApp(ClusterSize size, GrantKeysPtr keys);

  SystemClock clock_;
  GrantKeysPtr keys_;  ///< null = grants are not signed
  SyntheticApi api_;
  std::optional<LocalExtender> extender_;
};

}  // namespace tangram::bench
