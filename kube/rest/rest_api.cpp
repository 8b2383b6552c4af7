#include "kube/rest/rest_api.hpp"

#include "kube/rate_limiter.hpp"
#include "kube/rest/credentials.hpp"
#include "kube/rest/curl_line.hpp"
#include "kube/rest/frame_splitter.hpp"
#include "kube/url.hpp"

#include <algorithm>
#include <utility>

namespace tangram::kube {

namespace {

using std::chrono::milliseconds;

constexpr int kOk = 200;
constexpr int kUnauthorized = 401;
constexpr int kTooMany = 429;
// client-go's: a server that answers "later" that often will not answer otherwise within the
// deadline.
constexpr int kMaxSends = 10;

bool is_loopback(const std::string& host) {
  const bool is_number = host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "[::1]" || (is_number && host.starts_with("127."));
}

Result<ServerUrl> check(const RestConfig& config) {
  auto server = parse_server_url(config.server);
  if (!server) return server.error();
  const auto wrong = [&](const std::string& what) {
    return fail(Errc::kInvalidArgument, config.server + ": " + what);
  };
  if (config.insecure_skip_tls_verify && config.ca.is_set()) {
    return wrong("has an authority and is not to be verified; drop insecure-skip-tls-verify");
  }
  if (config.client_certificate.is_set() != config.client_key.is_set()) {
    return wrong("a client certificate and its key come together; give both or none");
  }
  if (server->scheme == "http" && config.token.is_set() && !is_loopback(server->host)) {
    return wrong("a token would be sent for all to read; write https");
  }
  return server;
}

std::string query_text(const Request& request, bool watching) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    text += text.empty() ? '?' : '&';
    text.append(percent_encode(name)).append("=").append(percent_encode(value));
  };
  for (const auto& [name, value] : request.query) add(name, value);
  if (watching && !request.query.contains("watch")) add("watch", "1");
  return text;
}

bool requests_bookmarks(const Request& request) {
  const auto bookmarks = request.query.find("allowWatchBookmarks");
  return bookmarks != request.query.end() &&
         (bookmarks->second == "true" || bookmarks->second == "1");
}

std::string limit_text(std::size_t bytes) { return std::to_string(bytes) + " bytes"; }

/// Why a watch broke off.
std::string watch_fault(const HttpEnd& end, std::size_t max_object) {
  switch (end.why) {
    case HttpEnd::Why::kAnswered:
      return "the stream ended within a frame";
    case HttpEnd::Why::kStopped:
      return "stopped before the server had answered";
    case HttpEnd::Why::kEnough:
      return "a frame is longer than " + limit_text(max_object);
    case HttpEnd::Why::kBroken:
      break;
  }
  return end.reason;
}

}  // namespace

struct RestApi::Impl {
  RestConfig config;
  RestOptions options;
  ServerUrl server;
  const Clock& clock;
  Sleeper sleep;
  std::unique_ptr<CredentialSource> credentials;
  RateLimiter limiter;
  LinePool lines;

  /// Where a request stands: what is the same for all its sends.
  struct Exchange {
    const Request& request;
    bool watching = false;
    TimePoint deadline;
    std::stop_token stop;
  };

  [[nodiscard]] std::string name(const Request& request) const {
    return std::string(to_string(request.method)).append(" ").append(request.path);
  }
  [[nodiscard]] milliseconds left(const Exchange& exchange) const {
    return std::chrono::duration_cast<milliseconds>(exchange.deadline - clock.now());
  }

  Result<void> wait_for_turn(const Exchange& exchange);
  HttpOrder order_for(const Exchange& exchange, const CredentialsPtr& with) const;
  [[nodiscard]] std::optional<milliseconds> time_to_retry(const Exchange& exchange,
                                                          const Response& response) const;
  [[nodiscard]] Error broken(const Exchange& exchange, const HttpEnd& end) const;
  Result<Response> call_once(const Exchange& exchange, const CredentialsPtr& with);
  Result<Response> watch_once(const Exchange& exchange, const CredentialsPtr& with,
                              const WatchFrame& frame);

  /// Sends until there is an answer for the caller. `send` makes one exchange.
  template <class Send>
  Result<Response> carry_out(const Exchange& exchange, const Send& send) {
    CredentialsPtr with = credentials->current();
    bool renewed = false;
    for (int sends = 1;; ++sends) {
      auto response = send(with);
      if (!response || sends == kMaxSends) return response;
      if (response->status == kUnauthorized && !renewed) {
        renewed = true;
        CredentialsPtr fresh = credentials->after_refusal(with);
        if (!fresh) return response;
        with = std::move(fresh);
        continue;
      }
      const auto wait = time_to_retry(exchange, *response);
      if (!wait) return response;
      sleep(*wait, exchange.stop);
      if (exchange.stop.stop_requested()) return response;
    }
  }
};

Result<void> RestApi::Impl::wait_for_turn(const Exchange& exchange) {
  if (exchange.request.urgent) return {};
  const auto wait = limiter.reserve(left(exchange));
  if (!wait) {
    return fail(Errc::kUnavailable, name(exchange.request) +
                                        ": not sent: the client's own rate limit would hold it "
                                        "longer than its deadline; raise kube.qps");
  }
  if (wait->count() > 0) sleep(std::chrono::ceil<milliseconds>(*wait), exchange.stop);
  return {};
}

HttpOrder RestApi::Impl::order_for(const Exchange& exchange, const CredentialsPtr& with) const {
  const Request& request = exchange.request;
  HttpOrder order;
  order.method = request.method;
  const std::string address = server.host + ":" + server.port;
  // A certificate of another name is requested, and checked, as if the URL had that name.
  const bool renamed = !config.tls_server_name.empty();
  order.url =
      server.scheme + "://" + (renamed ? config.tls_server_name + ":" + server.port : address);
  order.url.append(server.path).append(request.path).append(query_text(request, exchange.watching));
  if (renamed) order.connect_to = address;
  order.headers = {"Host: " + address, "User-Agent: " + options.user_agent,
                   "Accept: application/json", "Expect:"};
  if (!request.body.empty()) order.headers.push_back("Content-Type: " + request.content_type);
  if (!with->token.empty()) order.headers.push_back("Authorization: Bearer " + with->token);
  order.body = request.body;
  order.credentials = with;
  order.verify = !config.insecure_skip_tls_verify;
  // The server compresses what is large, which lists are. Frames would wait in its compressor.
  order.gzip = request.method == Method::kGet && !exchange.watching;
  order.timeout = left(exchange);
  if (exchange.watching && requests_bookmarks(request)) order.silence = options.watch_silence;
  return order;
}

std::optional<milliseconds> RestApi::Impl::time_to_retry(const Exchange& exchange,
                                                         const Response& response) const {
  const bool unharmed = response.status == kTooMany ||
                        (response.status >= 500 && exchange.request.method == Method::kGet);
  if (!unharmed || !response.retry_after) return std::nullopt;
  const milliseconds wait = *response.retry_after;
  if (wait >= left(exchange)) return std::nullopt;
  return wait;
}

Error RestApi::Impl::broken(const Exchange& exchange, const HttpEnd& end) const {
  const std::string what = name(exchange.request) + " at " + config.server + ": ";
  const bool found = exchange.request.method == Method::kGet && end.status == kOk;
  if (end.why == HttpEnd::Why::kEnough && found) return fail(Errc::kTooLarge, what + end.reason);
  if (!end.sent) return fail(Errc::kUnavailable, what + "nothing was sent: " + end.reason);
  return fail(Errc::kTimeout, what + "no full answer: " + end.reason);
}

Result<Response> RestApi::Impl::call_once(const Exchange& exchange, const CredentialsPtr& with) {
  Response response;
  std::size_t most = 0;
  const auto receive = [&](int status, std::string_view bytes) {
    const bool may_be_list = exchange.request.method == Method::kGet && status == kOk;
    most = may_be_list ? options.max_body : options.max_object;
    if (bytes.size() > most - response.body.size()) return false;
    response.body.append(bytes);
    return true;
  };
  HttpEnd end = lines.lend()->run(order_for(exchange, with), receive, exchange.stop);
  if (end.why == HttpEnd::Why::kEnough) {
    end.reason = "the answer is longer than " + limit_text(most);
  }
  if (end.why != HttpEnd::Why::kAnswered) return broken(exchange, end);
  response.status = end.status;
  response.retry_after = end.retry_after;
  return response;
}

Result<Response> RestApi::Impl::watch_once(const Exchange& exchange, const CredentialsPtr& with,
                                           const WatchFrame& frame) {
  Response response;
  FrameSplitter frames;
  bool had_enough = false;
  const auto receive = [&](int status, std::string_view bytes) {
    if (status != kOk) {
      if (bytes.size() > options.max_object - response.body.size()) return false;
      response.body.append(bytes);
      return true;
    }
    frames.add(bytes);
    while (auto next = frames.next()) {
      if (next->size() > options.max_object) return false;
      had_enough = exchange.stop.stop_requested() || !frame(std::move(*next));
      if (had_enough) return false;
    }
    return frames.unfinished() <= options.max_object;
  };
  HttpEnd end = lines.lend()->run(order_for(exchange, with), receive, exchange.stop);
  response.status = end.status;
  response.retry_after = end.retry_after;
  const bool stopped = end.why == HttpEnd::Why::kStopped && end.status == kOk;
  const bool complete = end.why == HttpEnd::Why::kAnswered && frames.unfinished() == 0;
  if (had_enough || stopped || complete) return response;
  end.reason = watch_fault(end, options.max_object);
  return broken(exchange, end);
}

RestApi::RestApi(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RestApi::~RestApi() = default;

Result<std::unique_ptr<RestApi>> RestApi::create(const RestConfig& config, RestOptions options,
                                                 const Clock& clock, Sleeper sleeper) {
  auto server = check(config);
  if (!server) return server.error();
  auto credentials = CredentialSource::create(config, clock);
  if (!credentials) return credentials.error();
  const int qps = options.qps;
  const int burst = options.burst;
  return std::unique_ptr<RestApi>(
      new RestApi(std::unique_ptr<Impl>(new Impl{.config = config,
                                                 .options = std::move(options),
                                                 .server = std::move(*server),
                                                 .clock = clock,
                                                 .sleep = std::move(sleeper),
                                                 .credentials = std::move(*credentials),
                                                 .limiter = {qps, burst, clock},
                                                 .lines = {}})));
}

Result<Response> RestApi::call(const Request& request) {
  const Impl::Exchange exchange{.request = request,
                                .watching = false,
                                .deadline = impl_->clock.now() + request.timeout,
                                .stop = {}};
  if (auto turn = impl_->wait_for_turn(exchange); !turn) return turn.error();
  return impl_->carry_out(
      exchange, [&](const CredentialsPtr& with) { return impl_->call_once(exchange, with); });
}

Result<Response> RestApi::watch(const Request& request, const WatchFrame& frame,
                                std::stop_token stop) {
  const Impl::Exchange exchange{.request = request,
                                .watching = true,
                                .deadline = impl_->clock.now() + request.timeout,
                                .stop = std::move(stop)};
  return impl_->carry_out(exchange, [&](const CredentialsPtr& with) {
    return impl_->watch_once(exchange, with, frame);
  });
}

}  // namespace tangram::kube
