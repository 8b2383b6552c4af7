#include "kube/access/metrics_access.hpp"

#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tangram::kube {
namespace {

using Access = TokenReviews::Access;
using Standing = TokenReviews::Standing;

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

/// The token of "Bearer TOKEN"; "" = none that could be one.
std::string_view bearer_token(const http::Request& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view value = request.header("Authorization");
  const bool bearer = boost::beast::iequals(value.substr(0, kScheme.size()), kScheme);
  const std::string_view token = bearer ? value.substr(kScheme.size()) : "";
  return is_printable(token) ? token : "";
}

http::Response unauthenticated() {
  auto response =
      http::text_response(401, "send a token of the cluster, as in Authorization: Bearer TOKEN");
  response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

http::Response not_known() {
  return http::retry_response(std::chrono::seconds(1),
                              "the API server cannot be asked about this token now; retry later");
}

/// Nothing = the page may be read.
std::optional<http::Response> refusal(Access access) {
  switch (access) {
    case Access::kAllowed:
      return std::nullopt;
    case Access::kUnauthenticated:
      return unauthenticated();
    case Access::kForbidden:
      return http::text_response(
          403, "bind the user of this token to the ClusterRole tangram-metrics-reader");
    case Access::kUnknown:
      break;
  }
  return not_known();
}

TokenReviews::Reader reader_of(const http::Request& request, std::string_view token) {
  return {.token = token, .path = request.path, .address = request.address};
}

struct Reading {
  http::Request request;
  http::Responder responder;
  std::string token;
};

/// Blocks until the API server has answered.
void serve_if_allowed(TokenReviews& reviews, Reading& reading, const http::Handler& page) {
  auto refused = refusal(reviews.review(reader_of(reading.request, reading.token)));
  if (refused) return reading.responder.send(std::move(*refused));
  page(std::move(reading.request), std::move(reading.responder));
}

}  // namespace

http::Handler MetricsAccess::guarded(http::Handler page) {
  return [this, page = std::move(page)](http::Request request, http::Responder responder) {
    std::string token(bearer_token(request));
    if (token.empty()) return responder.send(unauthenticated());
    const Standing standing = reviews_.standing(reader_of(request, token));
    if (standing == Standing::kAgeing) renew(request, token);
    if (standing == Standing::kAgeing || standing == Standing::kTrusted) {
      return page(std::move(request), std::move(responder));
    }
    // Shared, because the queue's tasks are copyable.
    const auto reading = std::make_shared<Reading>(
        Reading{std::move(request), std::move(responder), std::move(token)});
    WorkQueue& queue = standing == Standing::kNew ? queue_ : known_;
    const bool taken =
        queue.try_post([this, page, reading] { serve_if_allowed(reviews_, *reading, page); });
    if (taken) return;
    // As for a review without an outcome.
    if (standing != Standing::kKept) return reading->responder.send(not_known());
    page(std::move(reading->request), std::move(reading->responder));
  };
}

void MetricsAccess::renew(const http::Request& request, const std::string& token) {
  // A queue that is full leaves it to a later request.
  (void)known_.try_post([this, token, path = request.path, address = request.address] {
    (void)reviews_.review({.token = token, .path = path, .address = address});
  });
}

void MetricsAccess::drain() {
  queue_.drain();
  known_.drain();
}

}  // namespace tangram::kube
