#include "http/client.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
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
#include <memory>
#include <optional>
#include <variant>

namespace tangram::http {
namespace {

namespace beast = boost::beast;
namespace beast_http = beast::http;
namespace net = boost::asio;
namespace ssl = net::ssl;
using boost::system::error_code;
using net::ip::tcp;

Error failure(const std::string& doing, const error_code& error) {
  const std::string message = doing + ": " + error.message();
  if (error == beast::error::timeout) return fail(Errc::kTimeout, message);
  const bool closed =
      error == beast_http::error::end_of_stream || error == beast_http::error::partial_message;
  const auto& protocol = beast_http::make_error_code(beast_http::error::bad_method).category();
  if (!closed && error.category() == protocol) return fail(Errc::kInvalidArgument, message);
  return fail(Errc::kUnavailable, message);
}

using Plain = beast::tcp_stream;
using Tls = ssl::stream<beast::tcp_stream>;

/// Null, and `error`, if a text cannot be used.
std::unique_ptr<ssl::context> make_context(const ClientTls& tls, error_code& error) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_client);
  context->set_verify_mode(ssl::verify_peer, error);
  if (!error) context->add_certificate_authority(net::buffer(tls.ca), error);
  if (!error && !tls.certificate.empty()) {
    context->use_certificate_chain(net::buffer(tls.certificate), error);
    if (!error) context->use_private_key(net::buffer(tls.key), ssl::context::pem, error);
  }
  if (error) context.reset();
  return context;
}

}  // namespace

std::string_view Reply::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& field) {
    return beast::iequals(field.first, name);
  });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

struct Client::Impl {
  std::chrono::milliseconds timeout{};
  std::string host;
  std::uint16_t port = 0;
  net::io_context io;
  std::optional<ClientTls> tls;
  std::unique_ptr<ssl::context> context;
  std::variant<std::monostate, Plain, Tls> stream;  // the first: not connected
  beast::flat_buffer buffer;
  bool last = false;  // the server said that it ends the connection

  /// The TCP below; null if there is none.
  Plain* lowest() {
    if (auto* const plain = std::get_if<Plain>(&stream)) return plain;
    auto* const over = std::get_if<Tls>(&stream);
    return over == nullptr ? nullptr : &over->next_layer();
  }

  /// Runs what was started to its end or the timeout.
  template <class Start>
  error_code wait_for(Start start) {
    error_code result;
    lowest()->expires_after(timeout);
    start([&result](const error_code& error, const auto&...) { result = error; });
    io.restart();
    io.run();
    return result;
  }

  /// Starts one operation, of a stream and what to call at its end, and waits for it.
  template <class Start>
  error_code run(Start start) {
    if (auto* const plain = std::get_if<Plain>(&stream)) {
      return wait_for([&](auto done) { start(*plain, done); });
    }
    auto* const over = std::get_if<Tls>(&stream);
    if (over == nullptr) return net::error::not_connected;
    return wait_for([&](auto done) { start(*over, done); });
  }

  /// The next request begins with a new connection: what is still to come on this one, if anything,
  /// would be taken for its answer, and Asio waits in vain for a broken socket to take more.
  Error give_up(const std::string& doing, const error_code& error) {
    stream = std::monostate();
    return failure(doing, error);
  }

  error_code open(const tcp::resolver::results_type& endpoints);
  error_code handshake();
};

error_code Client::Impl::open(const tcp::resolver::results_type& endpoints) {
  if (tls) {
    stream.emplace<Tls>(Plain(io), *context);
  } else {
    stream.emplace<Plain>(io);
  }
  error_code error = wait_for([&](auto done) { lowest()->async_connect(endpoints, done); });
  if (error) return error;
  error_code ignored;
  lowest()->socket().set_option(tcp::no_delay(true), ignored);
  return tls ? handshake() : error;
}

error_code Client::Impl::handshake() {
  auto& over = std::get<Tls>(stream);
  const std::string& name = tls->server_name.empty() ? host : tls->server_name;
  // SSL_set_tlsext_host_name() is a macro with a cast of C's.
  SSL_ctrl(over.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
           const_cast<char*>(name.c_str()));
  over.set_verify_callback(ssl::host_name_verification(name));
  return wait_for([&](auto done) { over.async_handshake(ssl::stream_base::client, done); });
}

Client::Client(std::chrono::milliseconds timeout) : impl_(std::make_unique<Impl>()) {
  impl_->timeout = timeout;
}
Client::Client(ClientTls tls, std::chrono::milliseconds timeout) : Client(timeout) {
  impl_->tls = std::move(tls);
}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<void> Client::connect(const std::string& host, std::uint16_t port) {
  impl_->host = host;
  impl_->port = port;
  impl_->buffer.clear();
  impl_->last = false;
  const std::string doing = "connect to " + host + " port " + std::to_string(port);
  error_code error;
  impl_->stream = std::monostate();
  if (impl_->tls && !impl_->context) {
    impl_->context = make_context(*impl_->tls, error);
    if (error) return fail(Errc::kInvalidArgument, doing + ": " + error.message());
  }
  tcp::resolver resolver(impl_->io);
  const auto endpoints = resolver.resolve(host, std::to_string(port), error);
  if (error) return failure(doing, error);
  error = impl_->open(endpoints);
  if (error) {
    impl_->stream = std::monostate();
    return failure(doing, error);
  }
  return {};
}

Result<Reply> Client::request(std::string_view method, std::string_view target, std::string body,
                              std::string_view content_type, const Fields& headers) {
  if (impl_->lowest() == nullptr || impl_->last) {
    if (auto connected = connect(impl_->host, impl_->port); !connected) return connected.error();
  }
  beast_http::request<beast_http::string_body> message;
  message.method_string(method);
  message.target(target);
  message.set(beast_http::field::host, impl_->host);
  if (!body.empty()) message.set(beast_http::field::content_type, content_type);
  for (const auto& [name, value] : headers) message.set(name, value);
  message.body() = std::move(body);
  message.prepare_payload();
  const error_code error =
      impl_->run([&](auto& stream, auto done) { beast_http::async_write(stream, message, done); });
  if (error) return impl_->give_up("send a request", error);
  return receive(method == "HEAD");
}

Result<void> Client::send(std::string_view bytes) {
  const error_code error = impl_->run([&](auto& stream, auto done) {
    net::async_write(stream, net::buffer(bytes.data(), bytes.size()), done);
  });
  if (error) return failure("send", error);
  return {};
}

Result<Reply> Client::receive(bool to_head) {
  beast_http::response_parser<beast_http::string_body> parser;
  parser.skip(to_head);
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  const error_code error = impl_->run([&](auto& stream, auto done) {
    beast_http::async_read(stream, impl_->buffer, parser, done);
  });
  if (error) return impl_->give_up("receive", error);
  auto message = parser.release();
  Reply reply;
  reply.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    reply.headers.emplace_back(field.name_string(), field.value());
  }
  reply.body = std::move(message.body());
  impl_->last = reply.status >= 200 && !message.keep_alive();
  return reply;
}

Result<void> Client::wait_for_close() {
  if (impl_->buffer.size() > 0) return fail(Errc::kConflict, "the server sent more");
  char byte = 0;
  const error_code error = impl_->run(
      [&](auto& stream, auto done) { stream.async_read_some(net::buffer(&byte, 1), done); });
  if (!error) return fail(Errc::kConflict, "the server sent more");
  if (error == beast::error::timeout) return failure("wait for the end", error);
  impl_->stream = std::monostate();
  return {};
}

}  // namespace tangram::http
