#include "extender/http_client.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <limits>
#include <optional>

namespace tangram::extender {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

std::string text(beast::string_view view) { return {view.data(), view.size()}; }

beast::string_view view(std::string_view text) { return {text.data(), text.size()}; }

Error failure(const std::string& doing, const error_code& error) {
  const std::string message = doing + ": " + error.message();
  if (error == beast::error::timeout) return fail(Errc::kTimeout, message);
  const bool closed = error == http::error::end_of_stream || error == http::error::partial_message;
  const auto& protocol = http::make_error_code(http::error::bad_method).category();
  if (!closed && error.category() == protocol) return fail(Errc::kInvalidArgument, message);
  return fail(Errc::kUnavailable, message);
}

}  // namespace

std::string_view HttpReply::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& field) {
    return beast::iequals(field.first, view(name));
  });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

struct HttpClient::Impl {
  std::chrono::milliseconds timeout{};
  std::string host;
  std::uint16_t port = 0;
  net::io_context io;
  std::optional<beast::tcp_stream> stream;
  beast::flat_buffer buffer;
  bool last = false;  // the server said that it ends the connection

  /// Starts one operation and runs it to its end or the timeout.
  template <class Start>
  error_code run(Start start) {
    if (!stream) return net::error::not_connected;
    error_code result;
    stream->expires_after(timeout);
    start([&result](const error_code& error, const auto&...) { result = error; });
    io.restart();
    io.run();
    return result;
  }
};

HttpClient::HttpClient(std::chrono::milliseconds timeout) : impl_(std::make_unique<Impl>()) {
  impl_->timeout = timeout;
}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

Result<void> HttpClient::connect(const std::string& host, std::uint16_t port) {
  impl_->host = host;
  impl_->port = port;
  impl_->buffer.clear();
  impl_->last = false;
  const std::string doing = "connect to " + host + " port " + std::to_string(port);
  error_code error;
  tcp::resolver resolver(impl_->io);
  const auto endpoints = resolver.resolve(host, std::to_string(port), error);
  if (error) return failure(doing, error);
  impl_->stream.emplace(impl_->io);
  error = impl_->run([&](auto done) { impl_->stream->async_connect(endpoints, done); });
  if (error) {
    impl_->stream.reset();
    return failure(doing, error);
  }
  impl_->stream->socket().set_option(tcp::no_delay(true), error);
  return {};
}

Result<HttpReply> HttpClient::request(std::string_view method, std::string_view target,
                                      std::string body, std::string_view content_type,
                                      const HttpFields& headers) {
  if (!impl_->stream || impl_->last) {
    if (auto connected = connect(impl_->host, impl_->port); !connected) return connected.error();
  }
  http::request<http::string_body> message;
  message.method_string(view(method));
  message.target(view(target));
  message.set(http::field::host, impl_->host);
  if (!body.empty()) message.set(http::field::content_type, view(content_type));
  for (const auto& [name, value] : headers) message.set(name, value);
  message.body() = std::move(body);
  message.prepare_payload();
  const error_code error =
      impl_->run([&](auto done) { http::async_write(*impl_->stream, message, done); });
  if (error) return failure("send a request", error);
  return receive(method == "HEAD");
}

Result<void> HttpClient::send(std::string_view bytes) {
  const error_code error = impl_->run([&](auto done) {
    net::async_write(*impl_->stream, net::buffer(bytes.data(), bytes.size()), done);
  });
  if (error) return failure("send", error);
  return {};
}

Result<HttpReply> HttpClient::receive(bool to_head) {
  http::response_parser<http::string_body> parser;
  parser.skip(to_head);
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  const error_code error =
      impl_->run([&](auto done) { http::async_read(*impl_->stream, impl_->buffer, parser, done); });
  if (error) return failure("receive", error);
  auto message = parser.release();
  HttpReply reply;
  reply.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    reply.headers.emplace_back(text(field.name_string()), text(field.value()));
  }
  reply.body = std::move(message.body());
  impl_->last = reply.status >= 200 && !message.keep_alive();
  return reply;
}

Result<void> HttpClient::wait_for_close() {
  if (impl_->buffer.size() > 0) return fail(Errc::kConflict, "the server sent more");
  char byte = 0;
  const error_code error =
      impl_->run([&](auto done) { impl_->stream->async_read_some(net::buffer(&byte, 1), done); });
  if (!error) return fail(Errc::kConflict, "the server sent more");
  if (error == beast::error::timeout) return failure("wait for the end", error);
  impl_->stream.reset();
  return {};
}

}  // namespace tangram::extender
