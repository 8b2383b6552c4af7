#pragma once

#include "kube/rest/rest_api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/raw_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

namespace tangram::testing {

/// A RestApi before a RawServer. The client's clock stands still and its waits are noted, not
/// waited; the deadlines of exchanges are the network's own.
class RestFixture : public ::testing::Test {
 protected:
  using milliseconds = std::chrono::milliseconds;

  void serve(RawServer::Script script) {
    server = std::make_unique<RawServer>(std::move(script));
    config.server = server->url();
  }
  /// Made at the first use, from `config` and `options` as they are then.
  kube::RestApi& api() {
    if (!api_) {
      auto made =
          kube::RestApi::create(config, options, clock,
                                [this](milliseconds wait, const std::stop_token&) { note(wait); });
      if (!made) throw std::runtime_error(made.error().message);
      api_ = std::move(*made);
    }
    return *api_;
  }
  void forget_api() { api_.reset(); }
  [[nodiscard]] std::vector<milliseconds> slept() const {
    const std::scoped_lock lock(mutex_);
    return slept_;
  }

  ManualClock clock;
  kube::RestConfig config;
  kube::RestOptions options;
  std::unique_ptr<RawServer> server;

 private:
  void note(milliseconds wait) {
    const std::scoped_lock lock(mutex_);
    slept_.push_back(wait);
  }
  mutable std::mutex mutex_;
  std::vector<milliseconds> slept_;
  std::unique_ptr<kube::RestApi> api_;  ///< goes before the server: its connections end first
};

}  // namespace tangram::testing
