#pragma once

#include "tests/testing/passing_api.hpp"

#include <string>
#include <string_view>
#include <utility>

/// Objects as an API server serves them once a client has sent the worst managedFields that it
/// takes: 10,000 levels, and names that are no UTF-8.
namespace tangram::testing {

inline std::string odd_fields() {
  constexpr std::size_t kLevels = 10'000;
  std::string deep;
  for (std::size_t i = 0; i < kLevels; ++i) deep += R"({"f:x":)";
  deep += "{}" + std::string(kLevels, '}');
  return R"([{"manager":"m","fieldsV1":)" + deep +
         "},{\"fieldsV1\":{\"f:\xff\xfe\\\"}]\":{},\"k:{\\\"a\\\":\xc0}\":{}}}]";
}

/// With them in the metadata of each object in the text that has a member.
inline std::string with_odd_fields(std::string text) {
  constexpr std::string_view kMetadata = R"("metadata":{)";
  const std::string member = R"("managedFields":)" + odd_fields() + ",";
  for (auto at = text.find(kMetadata); at != std::string::npos; at = text.find(kMetadata, at)) {
    at += kMetadata.size();
    if (text.at(at) == '"') text.insert(at, member);
  }
  return text;
}

/// An API server whose answers have them.
class OddFieldsApi final : public PassingApi {
 public:
  using PassingApi::PassingApi;
  Result<kube::Response> call(const kube::Request& request) override {
    auto response = PassingApi::call(request);
    if (response && response->status < 300) {
      response->body = with_odd_fields(std::move(response->body));
    }
    return response;
  }
};

}  // namespace tangram::testing
