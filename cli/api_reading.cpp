#include "cli/api_reading.hpp"

#include "kube/client.hpp"
#include "kube/list_watch_codec.hpp"

#include <chrono>
#include <string_view>
#include <utility>

namespace tangram::cli {

namespace {

/// A page of 500 pods of 20 KiB, over a slow line.
constexpr std::chrono::milliseconds kPatience{30'000};
/// One small object; what a proxy cannot reach must not hold up everything else for long.
constexpr std::chrono::milliseconds kShortPatience{10'000};
constexpr const char* kPageSize = "500";  // client-go's

constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kGone = 410;

kube::Request get_request(const std::string& path, const Query& query) {
  kube::Request request;
  request.path = path;
  request.query = query;
  request.timeout = kPatience;
  return request;
}

Reading::Outcome outcome_of(int status) {
  if (status == kNotFound) return Reading::Outcome::kMissing;
  return status == kForbidden ? Reading::Outcome::kForbidden : Reading::Outcome::kFailed;
}

Reading send(kube::KubeApi& api, const kube::Request& request) {
  auto response = api.call(request);
  if (!response) return {Reading::Outcome::kFailed, 0, "", response.error().message};
  if (response->status == 200 || response->status == 201) {
    return {Reading::Outcome::kFound, response->status, std::move(response->body), ""};
  }
  return {outcome_of(response->status), response->status, "",
          std::to_string(response->status) + ": " + kube::status_message(*response)};
}

Result<kube::Response> call(kube::KubeApi& api, const kube::Request& request) {
  auto response = api.call(request);
  if (response) return response;
  return fail(Errc::kUnavailable, response.error().message +
                                      "; see with `kubectl cluster-info` whether the server is up "
                                      "and the context is the right one");
}

}  // namespace

Reading look(kube::KubeApi& api, const std::string& path, const Query& query) {
  kube::Request request = get_request(path, query);
  request.timeout = kShortPatience;
  return send(api, request);
}

Reading ask(kube::KubeApi& api, const std::string& path, const std::string& body) {
  kube::Request request = get_request(path, {});
  request.method = kube::Method::kPost;
  request.body = body;
  request.timeout = kShortPatience;
  return send(api, request);
}

Error refused(const kube::Request& request, const kube::Response& response,
              const std::string& role) {
  const std::string what = std::string(kube::to_string(request.method)) + " " + request.path +
                           ": " + std::to_string(response.status) + ": " +
                           kube::status_message(response);
  switch (response.status) {
    case kUnauthorized:
      return fail(Errc::kUnavailable,
                  what +
                      "; the server does not know who you are: log in again, or see `kubectl "
                      "config view --minify` for what is sent");
    case kForbidden:
      return fail(Errc::kConflict,
                  what + "; ask for the ClusterRole " + role + ", which deploy/cli/rbac.yaml has");
    case kNotFound:
      return fail(Errc::kNotFound, what);
    default:
      return fail(Errc::kUnavailable, what);
  }
}

Result<std::string> get(kube::KubeApi& api, const std::string& path, const Query& query) {
  const kube::Request request = get_request(path, query);
  auto response = call(api, request);
  if (!response) return response.error();
  if (response->status != 200) return refused(request, *response, kViewerRole);
  return std::move(response->body);
}

Result<void> list(kube::KubeApi& api, const std::string& path, const Query& query,
                  const std::function<void(std::string object)>& item) {
  kube::Request request = get_request(path, query);
  request.query["limit"] = kPageSize;
  for (;;) {
    const auto response = call(api, request);
    if (!response) return response.error();
    if (response->status == kGone) {
      return fail(Errc::kStale, path +
                                    " changed faster than it could be read; run the same once "
                                    "more");
    }
    if (response->status != 200) return refused(request, *response, kViewerRole);
    const auto page = kube::read_list(response->body,
                                      [&](std::string_view object) { item(std::string(object)); });
    if (!page) return fail(Errc::kUnavailable, path + ": " + page.error().message);
    if (page->more.empty()) return {};
    if (page->more == request.query["continue"]) {
      return fail(Errc::kUnavailable, path +
                                          ": the server gives one page again and again; is a "
                                          "caching proxy before it?");
    }
    request.query["continue"] = page->more;
  }
}

}  // namespace tangram::cli
