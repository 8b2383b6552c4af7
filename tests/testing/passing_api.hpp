#pragma once

#include "kube/api.hpp"

#include <stop_token>
#include <utility>

namespace tangram::testing {

/// Hands everything on to another API server, which outlives it: for fakes that change some of it.
class PassingApi : public kube::KubeApi {
 public:
  explicit PassingApi(kube::KubeApi& server) : server_(server) {}

  Result<kube::Response> call(const kube::Request& request) override {
    return server_.call(request);
  }
  Result<kube::Response> watch(const kube::Request& request, const kube::WatchFrame& frame,
                               std::stop_token stop) override {
    return server_.watch(request, frame, std::move(stop));
  }

 private:
  kube::KubeApi& server_;
};

}  // namespace tangram::testing
