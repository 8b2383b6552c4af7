#include "tests/testing/api_connection.hpp"

#include "kube/url.hpp"

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <poll.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

namespace tangram::testing {

namespace {

namespace beast_http = boost::beast::http;
namespace net = boost::asio;
using boost::system::error_code;

// A real server's limit is 3 MiB, which the server behind says itself; this one only stops floods.
constexpr std::uint64_t kMaxBody = std::uint64_t{8} << 20U;

// How long a watch may say nothing before its client learns that it is open. KubeApi says
// so only with the first frame, while a real server says so at once; a refusal comes much sooner.
constexpr std::chrono::milliseconds kOpeningGrace{100};

std::string text(boost::beast::string_view view) { return {view.data(), view.size()}; }

std::optional<std::string> query_text(std::string_view encoded) {
  std::string spaced(encoded);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');  // as Go's net/url reads a query
  return kube::percent_decode(spaced);
}

std::optional<std::map<std::string, std::string>> read_query(std::string_view query) {
  std::map<std::string, std::string> values;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = query_text(pair.substr(0, equals));
    auto value = query_text(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) return std::nullopt;
    values.emplace(std::move(*name), std::move(*value));
  }
  return values;
}

std::optional<kube::Method> read_method(std::string_view name) {
  for (const auto method : {kube::Method::kGet, kube::Method::kPost, kube::Method::kPut,
                            kube::Method::kPatch, kube::Method::kDelete}) {
    if (kube::to_string(method) == name) return method;
  }
  return std::nullopt;
}

kube::Response refusal(int status, const std::string& reason, const std::string& message) {
  return {.status = status,
          .body = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
                  R"("message":")" +
                  message + R"(","reason":")" + reason + R"(","code":)" + std::to_string(status) +
                  "}",
          .retry_after = {}};
}

beast_http::response<beast_http::string_body> message_of(kube::Response response, bool keep_alive) {
  beast_http::response<beast_http::string_body> message;
  message.version(11);
  message.result(static_cast<unsigned>(response.status));
  const bool json = response.body.starts_with('{');
  message.set(beast_http::field::content_type,
              json ? "application/json" : "text/plain; charset=utf-8");
  if (response.retry_after) {
    message.set(beast_http::field::retry_after, std::to_string(response.retry_after->count()));
  }
  message.keep_alive(keep_alive);
  message.body() = std::move(response.body);
  message.prepare_payload();
  return message;
}

/// The answer's side of a watch: header, chunks, end. Written by two threads.
template <class Stream>
class WatchWriter {
 public:
  explicit WatchWriter(Stream& stream) : stream_(stream) {}

  void open() {
    const std::scoped_lock lock(mutex_);
    open_locked();
  }
  /// @returns false if the client has disconnected
  bool frame(std::string frame) {
    const std::scoped_lock lock(mutex_);
    open_locked();
    chunk(std::move(frame));
    return !error_;
  }
  /// Ends as the KubeApi's watch did.
  void finish(Result<kube::Response> end) {
    const std::scoped_lock lock(mutex_);
    if (!end) return;  // broken: no last chunk
    if (end->status != 200 && !opened_) {
      beast_http::write(stream_, message_of(std::move(*end), false), error_);
      return;
    }
    open_locked();
    if (end->status != 200) chunk(R"({"type":"ERROR","object":)" + end->body + "}");
    if (!error_) net::write(stream_, beast_http::make_chunk_last(), error_);
  }

 private:
  void open_locked() {
    if (std::exchange(opened_, true)) return;
    beast_http::response<beast_http::empty_body> head{beast_http::status::ok, 11};
    head.set(beast_http::field::content_type, "application/json");
    head.chunked(true);
    head.keep_alive(false);  // the thread that looks after the client would take what comes next
    beast_http::response_serializer<beast_http::empty_body> serializer{head};
    beast_http::write_header(stream_, serializer, error_);
  }
  void chunk(std::string frame) {
    frame += '\n';
    if (!error_) net::write(stream_, beast_http::make_chunk(net::buffer(frame)), error_);
  }

  Stream& stream_;
  std::mutex mutex_;
  bool opened_ = false;
  error_code error_;
};

/// Waits until the client sends something or leaves. @returns false if `wait` ended first
bool client_moves(int socket, std::chrono::milliseconds wait) {
  pollfd watched{.fd = socket, .events = POLLIN | POLLRDHUP, .revents = 0};
  return ::poll(&watched, 1, static_cast<int>(wait.count())) != 0;
}
constexpr std::chrono::milliseconds kForever{-1};

/// @returns whether the connection goes on
template <class Stream>
bool write(Stream& stream, kube::Response response, bool keep_alive) {
  error_code error;
  beast_http::write(stream, message_of(std::move(response), keep_alive), error);
  return !error && keep_alive;
}

// kube-apiserver's own: it gives up a request after a minute, and ends a watch after an hour at
// most.
constexpr std::chrono::minutes kLongestCall{1};
constexpr std::chrono::minutes kLongestWatch{60};

}  // namespace

std::optional<kube::Request> read_request(std::string_view method, std::string_view target) {
  const auto known = read_method(method);
  const std::string_view path = target.substr(0, target.find('?'));
  auto query = read_query(target.substr(std::min(path.size() + 1, target.size())));
  if (!known || !query || !path.starts_with('/')) return std::nullopt;
  kube::Request request;
  request.method = *known;
  request.path = path;
  request.query = std::move(*query);
  return request;
}

bool asks_to_watch(const kube::Request& request) {
  const auto found = request.query.find("watch");
  return request.method == kube::Method::kGet && found != request.query.end() &&
         (found->second == "1" || found->second == "true");
}

void ApiConnection::run() {
  if (context_.tls == nullptr) {
    serve(socket_);
  } else {
    net::ssl::stream<net::ip::tcp::socket&> stream(socket_, *context_.tls);
    error_code error;
    stream.handshake(net::ssl::stream_base::server, error);
    if (error) {
      spdlog::debug("api server: handshake: {}", error.message());
    } else {
      serve(stream);
    }
  }
  const std::scoped_lock lock(closing_);
  closed_ = true;
  error_code ignored;
  socket_.close(ignored);
  over_ = true;
}

void ApiConnection::cut() {
  {
    const std::scoped_lock lock(closing_);
    if (!closed_) ::shutdown(socket_.native_handle(), SHUT_RDWR);
  }
  stop_.request_stop();  // only now: a watch that ends must not find time to say so
}

template <class Stream>
void ApiConnection::serve(Stream& stream) {
  boost::beast::flat_buffer buffer;
  for (bool open = true; open;) {
    beast_http::request_parser<beast_http::string_body> parser;
    parser.body_limit(kMaxBody);
    error_code error;
    beast_http::read(stream, buffer, parser, error);
    open = !error && answer(stream, parser.get());
  }
}

template <class Stream, class Message>
bool ApiConnection::answer(Stream& stream, Message& message) {
  auto request = read_request(text(message.method_string()), text(message.target()));
  const std::string token = context_.token();
  if (!token.empty() && text(message[beast_http::field::authorization]) != "Bearer " + token) {
    return write(stream, refusal(401, "Unauthorized", "Unauthorized"), message.keep_alive());
  }
  if (!request) {
    auto refused = refusal(400, "BadRequest", "the request line cannot be understood");
    return write(stream, std::move(refused), message.keep_alive());
  }
  request->content_type = text(message[beast_http::field::content_type]);
  request->body = std::move(message.body());
  // How long the client waits is its own matter; it leaves when it has waited enough.
  request->timeout = asks_to_watch(*request) ? kLongestWatch : kLongestCall;
  if (asks_to_watch(*request)) {
    stream_watch(stream, *request);
    return false;
  }
  auto response = context_.api.call(*request);
  return response && write(stream, std::move(*response), message.keep_alive());
}

template <class Stream>
void ApiConnection::stream_watch(Stream& stream, const kube::Request& request) {
  watching_ = true;
  WatchWriter<Stream> writer(stream);
  // A list as a stream never begins with silence: it is refused, or frames come.
  const auto grace = request.query.contains("sendInitialEvents") ? kForever : kOpeningGrace;
  std::jthread client([&, grace, socket = socket_.native_handle()] {
    if (!client_moves(socket, grace)) {
      writer.open();
      client_moves(socket, kForever);
    }
    stop_.request_stop();
  });
  auto end = context_.api.watch(
      request, [&](std::string frame) { return writer.frame(std::move(frame)); },
      stop_.get_token());
  writer.finish(std::move(end));
  // Wakes the thread above; what was written still reaches the client.
  ::shutdown(socket_.native_handle(), SHUT_RD);
  client.join();
  watching_ = false;
}

}  // namespace tangram::testing
