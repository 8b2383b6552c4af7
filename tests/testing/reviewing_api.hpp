#pragma once

#include "tests/testing/passing_api.hpp"

#include <atomic>
#include <string>

namespace tangram::testing {

/// An API server that knows the tokens "reader" and "other"; the user of the first may read
/// metrics.
class ReviewingApi final : public PassingApi {
 public:
  using PassingApi::PassingApi;

  Result<kube::Response> call(const kube::Request& request) override {
    const auto says = [&](const char* text) {
      return request.body.find(text) != std::string::npos;
    };
    if (request.path.ends_with("/tokenreviews")) {
      ++reviews;
      const std::string user = says("\"reader\"") ? "reader" : says("\"other\"") ? "other" : "";
      return answer(user.empty() ? "{}"
                                 : R"({"authenticated":true,"user":{"username":")" + user + "\"}}");
    }
    if (request.path.ends_with("/subjectaccessreviews")) {
      return answer(says("\"reader\"") ? R"({"allowed":true})" : "{}");
    }
    return PassingApi::call(request);
  }

  std::atomic<int> reviews = 0;  ///< of tokens

 private:
  static kube::Response answer(const std::string& status) {
    return {.status = 201, .body = R"({"status":)" + status + "}", .retry_after = {}};
  }
};

}  // namespace tangram::testing
