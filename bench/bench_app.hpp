#pragma once

#include "base/clock.hpp"
#include "bench/extender_client.hpp"
#include "bench/synthetic_api.hpp"
#include "extender/app.hpp"

#include <functional>
#include <memory>
#include <string>

namespace tangram::http {
class Router;
}  // namespace tangram::http

namespace tangram::extender {}

namespace tangram::bench {

/// An extender on a synthetic cluster, and a connection to it.
class BenchApp {
 public:
  struct Options {
    ClusterSize size;
    std::string policy;
    int short_list = 8;
    std::function<void(http::Router&)> more_routes = nullptr;
  };
  /// Returns when the ledger is complete.
  static Result<std::unique_ptr<BenchApp>> start(const Options& options);

  [[nodiscard]] SyntheticApi& api() { return api_; }
  [[nodiscard]] extender::App& app() { return *app_; }
  [[nodiscard]] ExtenderClient& client() { return *client_; }

  /// Tells the extender of a pod that waits, and returns when it knows.
  void arrive(const PendingPod& pod);

 private:
  explicit BenchApp(ClusterSize size) : api_(size) {}

  SystemClock clock_;
  SyntheticApi api_;
  std::unique_ptr<extender::App> app_;
  std::optional<ExtenderClient> client_;
};

}  // namespace tangram::bench
