#pragma once

#include "extender/http_protocol.hpp"
#include "extender/http_types.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

/// How a response goes out whose body waits for news. Internal to the server.
namespace tangram::extender {

namespace net = boost::asio;

/// What the writer needs of the session it writes for.
struct LiveSession {
  net::steady_timer& bell;     ///< never expires; cancelled to say "look again"
  std::function<bool()> over;  ///< cut, or the server stops: there is no next piece
  std::function<void()> wake;  ///< rings the bell, from any thread; outlives the session harmlessly
  std::function<void()> renew;  ///< before each piece: a client that stalls is cut
  std::function<void()> rest;   ///< nothing to write: the client owes nothing
};

/// Writes a BodyStream piece by piece until it ends or the session is over.
/// Threads: on the stream's executor.
template <class Stream>
class HttpLiveWriter {
 public:
  HttpLiveWriter(Stream& stream, LiveSession session)
      : stream_(stream), session_(std::move(session)) {}

  /// @returns false if the connection broke, or is to end after this
  net::awaitable<bool> write(HttpResponse response, ReplyForm form);

 private:
  using Piece = std::shared_ptr<const std::string>;
  using Head = http::response<http::empty_body>;

  net::awaitable<bool> write_head(Head& head);
  net::awaitable<Piece> next_piece(BodyStream& source);
  net::awaitable<bool> write_piece(const Piece& piece, bool chunked);

  Stream& stream_;
  const LiveSession session_;
};

// Operands of co_await that own memory have names: GCC 12 destroys some temporaries twice.

template <class Stream>
net::awaitable<bool> HttpLiveWriter<Stream>::write(HttpResponse response, ReplyForm form) {
  const bool chunked = form.version >= 11;
  form.keep_alive = form.keep_alive && chunked;  // no chunks: the end is the end of the body
  Head head;
  head.version(form.version);
  set_head(head.base(), response);
  if (chunked) head.chunked(true);
  head.keep_alive(form.keep_alive);
  bool written = co_await write_head(head);
  if (form.head) co_return written&& form.keep_alive;

  Piece piece;
  while (written) {
    piece = co_await next_piece(*response.stream);
    if (!piece) break;
    written = co_await write_piece(piece, chunked);
  }
  if (!written) co_return false;
  session_.renew();
  boost::system::error_code error;
  const auto last = http::make_chunk_last();
  if (chunked) {
    co_await net::async_write(stream_, last, net::redirect_error(net::use_awaitable, error));
  }
  co_return !error && form.keep_alive;
}

template <class Stream>
net::awaitable<bool> HttpLiveWriter<Stream>::write_head(Head& head) {
  boost::system::error_code error;
  http::response_serializer<http::empty_body> serializer(head);
  co_await http::async_write_header(stream_, serializer,
                                    net::redirect_error(net::use_awaitable, error));
  co_return !error;
}

/// @returns null at the end
template <class Stream>
net::awaitable<typename HttpLiveWriter<Stream>::Piece> HttpLiveWriter<Stream>::next_piece(
    BodyStream& source) {
  session_.rest();
  while (!session_.over()) {
    BodyStream::Step step = source.take_or_wake(session_.wake);
    if (step.piece || step.ended) co_return step.piece;
    boost::system::error_code ignored;
    co_await session_.bell.async_wait(net::redirect_error(net::use_awaitable, ignored));
  }
  co_return nullptr;
}

template <class Stream>
net::awaitable<bool> HttpLiveWriter<Stream>::write_piece(const Piece& piece, bool chunked) {
  session_.renew();
  boost::system::error_code error;
  const auto bytes = net::buffer(*piece);
  if (chunked) {
    const auto chunk = http::make_chunk(bytes);
    co_await net::async_write(stream_, chunk, net::redirect_error(net::use_awaitable, error));
  } else {
    co_await net::async_write(stream_, bytes, net::redirect_error(net::use_awaitable, error));
  }
  co_return !error;
}

}  // namespace tangram::extender
