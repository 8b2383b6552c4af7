#pragma once

#include "tests/testing/passing_api.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tangram::testing {

/// Before another API server, a client with limits, as RestApi has them. Threads: one at a time.
class BoundedApi final : public PassingApi {
 public:
  BoundedApi(kube::KubeApi& server, std::size_t max_body)
      : PassingApi(server), max_body_(max_body) {}

  std::function<void()> watched = [] {};  ///< called when a watch begins after a list

  Result<kube::Response> call(const kube::Request& request) override {
    if (const auto limit = request.query.find("limit"); limit != request.query.end()) {
      limits_.push_back(std::stoi(limit->second));
    }
    auto response = PassingApi::call(request);
    if (request.method != kube::Method::kGet || !response) return response;
    if (response->body.size() > max_body_) return fail(Errc::kTooLarge, "too long");
    return response;
  }
  Result<kube::Response> watch(const kube::Request& request, const kube::WatchFrame& frame,
                               std::stop_token stop) override {
    if (request.query.contains("resourceVersion")) watched();
    return PassingApi::watch(request, frame, std::move(stop));
  }

  /// Of the pages that were requested.
  [[nodiscard]] const std::vector<int>& limits() const { return limits_; }

 private:
  const std::size_t max_body_;
  std::vector<int> limits_;
};

}  // namespace tangram::testing
