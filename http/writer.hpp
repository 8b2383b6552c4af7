#pragma once

#include "http/body.hpp"
#include "http/parts.hpp"
#include "http/protocol.hpp"
#include "http/types.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <functional>
#include <string>
#include <utility>

/// How a response goes out. Internal to the server.
namespace tangram::http {

namespace net = boost::asio;

/// Writes one response: whole, as a head alone, or piece by piece from its producer.
/// Threads: on the stream's executor.
template <class Stream>
class Writer {
 public:
  using Head = beast_http::response<beast_http::empty_body>;

  /// @param stream  outlives it
  /// @param renew  called before each piece: a large page may take long, a stalled client may not
  Writer(Stream& stream, std::function<void()> renew) : stream_(stream), renew_(std::move(renew)) {}

  /// @returns false if the connection broke, or is to end after this
  net::awaitable<bool> write(Response response, ReplyForm form);

 private:
  net::awaitable<bool> write_whole(Response response, ReplyForm form);
  net::awaitable<bool> write_pieces(Response response, ReplyForm form);

  Stream& stream_;
  std::function<void()> renew_;
};

// Operands of co_await that own memory have names: GCC 12 destroys some temporaries twice.

template <class Stream>
net::awaitable<bool> Writer<Stream>::write(Response response, ReplyForm form) {
  bool written = false;
  if (response.producer) {
    if (form.version < 11) form.keep_alive = false;  // no chunks: the end is the end of the body
    written = co_await write_pieces(std::move(response), form);
  } else {
    written = co_await write_whole(std::move(response), form);
  }
  co_return written&& form.keep_alive;
}

template <class Stream>
net::awaitable<bool> Writer<Stream>::write_whole(Response response, ReplyForm form) {
  beast_http::response<beast_http::string_body> message;
  message.version(form.version);
  set_head(message.base(), response);
  message.keep_alive(form.keep_alive);
  if (response.gzip && form.accepts_gzip) {
    message.set(beast_http::field::content_encoding, "gzip");
    response.body = gzip(response.body);
  }
  message.body() = std::move(response.body);
  message.prepare_payload();
  if (form.head) {
    Head head(std::move(message.base()));
    co_return co_await write_head(stream_, head);
  }
  boost::system::error_code error;
  co_await beast_http::async_write(stream_, message,
                                   net::redirect_error(net::use_awaitable, error));
  co_return !error;
}

/// The first piece is made before the head goes out, so that a producer that
/// fails at once still gives an honest 500.
template <class Stream>
net::awaitable<bool> Writer<Stream>::write_pieces(Response response, ReplyForm form) {
  const bool compressed = response.gzip && form.accepts_gzip;
  const bool chunked = form.version >= 11;
  Head head;
  head.version(form.version);
  set_head(head.base(), response);
  if (compressed) head.set(beast_http::field::content_encoding, "gzip");
  if (chunked) head.chunked(true);
  head.keep_alive(form.keep_alive);
  if (form.head) co_return co_await write_head(stream_, head);

  BodyPieces pieces(std::move(response.producer), compressed);
  std::string piece;
  if (!next_piece(pieces, piece)) {
    auto failure = text_response(500, "internal error: the page could not be made");
    co_return co_await write_whole(std::move(failure), form);
  }
  bool written = co_await write_head(stream_, head);
  while (written && !piece.empty()) {
    renew_();
    written = co_await write_piece(stream_, piece, chunked);
    if (written) written = next_piece(pieces, piece);
  }
  if (!written) co_return false;
  co_return co_await write_end(stream_, chunked);
}

}  // namespace tangram::http
