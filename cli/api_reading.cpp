#include "cli/api_reading.hpp"

#include "base/one_line.hpp"
#include "kube/client.hpp"
#include "kube/list_pages.hpp"

#include <chrono>
#include <string_view>
#include <utility>

namespace tangram::cli {

namespace {

/// A page of 500 pods of 20 KiB, over a slow line.
constexpr std::chrono::milliseconds kListTimeout{30'000};
/// One small object: what a proxy cannot reach must not delay the rest for long.
constexpr std::chrono::milliseconds kObjectTimeout{10'000};
constexpr int kPageSize = 500;  // client-go's

constexpr int kOk = 200;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kGone = 410;

Reading::Outcome outcome_of(int status) {
  if (status == kNotFound) return Reading::Outcome::kMissing;
  return status == kForbidden ? Reading::Outcome::kForbidden : Reading::Outcome::kFailed;
}

Reading send(kube::KubeApi& api, const kube::Request& request) {
  auto response = api.call(request);
  if (!response) return {Reading::Outcome::kFailed, 0, "", one_line(response.error().message)};
  if (response->status == 200 || response->status == 201) {
    return {Reading::Outcome::kFound, response->status, std::move(response->body), ""};
  }
  return {outcome_of(response->status), response->status, "",
          std::to_string(response->status) + ": " + one_line(kube::status_message(*response))};
}

}  // namespace

Reading try_get(kube::KubeApi& api, const std::string& path, const Query& query) {
  return send(api, {.path = path, .query = query, .body = {}, .timeout = kObjectTimeout});
}

Reading try_post(kube::KubeApi& api, const std::string& path, const std::string& body) {
  return send(api, {.method = kube::Method::kPost,
                    .path = path,
                    .query = {},
                    .body = body,
                    .timeout = kObjectTimeout});
}

Error refused(const kube::Request& request, const kube::Response& response,
              const std::string& role) {
  const std::string what = std::string(kube::to_string(request.method)) + " " + request.path +
                           ": " + std::to_string(response.status) + ": " +
                           one_line(kube::status_message(response));
  switch (response.status) {
    case kUnauthorized:
      return fail(Errc::kUnavailable, what +
                                          "; the server does not accept your credentials: log in "
                                          "again, or check `kubectl config view --minify`");
    case kForbidden:
      return fail(Errc::kConflict,
                  what + "; ask for the ClusterRole " + role + " of deploy/cli/rbac.yaml");
    case kNotFound:
      return fail(Errc::kNotFound, what);
    default:
      return fail(Errc::kUnavailable, what);
  }
}

Result<void> list(kube::KubeApi& api, const std::string& path, const Query& query,
                  const std::function<void(std::string object)>& item) {
  const kube::Request request{.path = path, .query = query, .body = {}, .timeout = kListTimeout};
  kube::ListPages pages(api, request, kPageSize);
  while (!pages.ended()) {
    const auto response = pages.next([&](std::string_view object) { item(std::string(object)); });
    if (!response && response.error().code == Errc::kInvalidArgument) {
      return fail(Errc::kUnavailable, path + ": " + one_line(response.error().message));
    }
    if (!response) {
      return fail(
          Errc::kUnavailable,
          one_line(response.error().message) +
              "; check with `kubectl cluster-info` that the server is up and the context is right");
    }
    if (response->status == kGone) {
      return fail(Errc::kStale,
                  path + " changed faster than it could be read; run the command again");
    }
    if (response->status != kOk) return refused(request, *response, kViewerRole);
  }
  return {};
}

}  // namespace tangram::cli
