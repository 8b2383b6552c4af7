#pragma once

#include "http/protocol.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include <string>

/// The parts of a response whose body goes out piece by piece. Internal to the server. Each is
/// written on the stream's executor, and says whether the connection held.
namespace tangram::http {

namespace net = boost::asio;

template <class Stream>
net::awaitable<bool> write_head(Stream& stream,
                                beast_http::response<beast_http::empty_body>& head) {
  boost::system::error_code error;
  beast_http::response_serializer<beast_http::empty_body> serializer(head);
  co_await beast_http::async_write_header(stream, serializer,
                                          net::redirect_error(net::use_awaitable, error));
  co_return !error;
}

template <class Stream>
net::awaitable<bool> write_piece(Stream& stream, const std::string& piece, bool chunked) {
  boost::system::error_code error;
  const auto bytes = net::buffer(piece);
  if (chunked) {
    const auto chunk = beast_http::make_chunk(bytes);
    co_await net::async_write(stream, chunk, net::redirect_error(net::use_awaitable, error));
  } else {
    co_await net::async_write(stream, bytes, net::redirect_error(net::use_awaitable, error));
  }
  co_return !error;
}

/// Without chunks nothing: the body ends with the connection.
template <class Stream>
net::awaitable<bool> write_end(Stream& stream, bool chunked) {
  boost::system::error_code error;
  const auto last = beast_http::make_chunk_last();
  if (chunked) {
    co_await net::async_write(stream, last, net::redirect_error(net::use_awaitable, error));
  }
  co_return !error;
}

}  // namespace tangram::http
