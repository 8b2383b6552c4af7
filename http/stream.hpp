#pragma once

#include "http/tls/identity.hpp"
#include "http/tls/peer.hpp"
#include "http/types.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/stream_traits.hpp>

#include <memory>
#include <string>
#include <string_view>

/// What differs between plain TCP, TLS over it and a test's stream in memory. Internal to the
/// server.
namespace tangram::http {

namespace net = boost::asio;

/// What a coroutine waits with: an error is stored, not thrown.
[[nodiscard]] inline auto into(boost::system::error_code& error) {
  return net::redirect_error(net::use_awaitable, error);
}

template <class Stream>
inline constexpr bool kIsTls = false;
template <class Lower>
inline constexpr bool kIsTls<net::ssl::stream<Lower>> = true;

/// Closes the layer that owns the connection; what waits on it ends with an error.
template <class Stream>
void close_stream(Stream& stream) {
  auto& lowest = boost::beast::get_lowest_layer(stream);
  boost::system::error_code ignored;
  if constexpr (requires { lowest.close(ignored); }) {
    lowest.close(ignored);
  } else {
    lowest.close();
  }
}

/// Ends one direction where the stream has two: after `shutdown_receive` what has
/// arrived can still be read, then comes the end.
template <class Stream>
void shutdown_stream(Stream& stream, net::socket_base::shutdown_type direction) {
  auto& lowest = boost::beast::get_lowest_layer(stream);
  boost::system::error_code ignored;
  if constexpr (requires { lowest.shutdown(direction, ignored); }) {
    lowest.shutdown(direction, ignored);
  }
}

/// For clients that use http:// instead of https://, as servers in Go answer.
inline constexpr std::string_view kSpeakTls =
    "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Connection: close\r\n\r\nthis port speaks TLS; write https:// instead of http://\n";

// Overloads, because GCC 12 makes wrong code of `if constexpr` around co_await.

/// The TLS handshake, where there is one.
template <class Stream>
net::awaitable<boost::system::error_code> handshake(Stream& /*plain*/) {
  co_return boost::system::error_code();
}
template <class Lower>
net::awaitable<boost::system::error_code> handshake(net::ssl::stream<Lower>& stream) {
  boost::system::error_code error;
  co_await stream.async_handshake(net::ssl::stream_base::server, into(error));
  if (error && tls::was_plain_http(error)) {
    boost::system::error_code ignored;
    const auto sentence = net::buffer(kSpeakTls.data(), kSpeakTls.size());
    co_await net::async_write(stream.next_layer(), sentence, into(ignored));
  }
  co_return error;
}

/// Sends the TLS close_notify, by which the client distinguishes an end from a cut, and waits for
/// the client's. Plain TCP has none.
template <class Stream>
net::awaitable<void> close_tls(Stream& /*plain*/) {
  co_return;
}
template <class Lower>
net::awaitable<void> close_tls(net::ssl::stream<Lower>& stream) {
  boost::system::error_code ignored;
  co_await stream.async_shutdown(into(ignored));
}

/// The client that the handshake verified; null = none, or plain HTTP.
template <class Stream>
std::shared_ptr<const TlsClient> client_of(Stream& stream) {
  if constexpr (kIsTls<Stream>) return tls::verified_client(stream.native_handle());
  return nullptr;
}

/// Whether the authorities now in force still sign for the client that the handshake has verified.
template <class Stream>
bool is_vouched_for(Stream& stream, tls::Identity& identity) {
  if constexpr (kIsTls<Stream>) {
    return tls::is_vouched_for(stream.native_handle(), *identity.context());
  }
  return false;
}

/// Why it failed, for people.
template <class Stream>
std::string handshake_failure(Stream& stream, const boost::system::error_code& error) {
  if constexpr (kIsTls<Stream>) return tls::explain_failure(stream.native_handle(), error);
  return error.message();
}

}  // namespace tangram::http
