#pragma once

#include "http/parts.hpp"
#include "http/protocol.hpp"
#include "http/types.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

/// How a response goes out whose body waits for news. Internal to the server.
namespace tangram::http {

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
class LiveWriter {
 public:
  LiveWriter(Stream& stream, LiveSession session) : stream_(stream), session_(std::move(session)) {}

  /// @returns false if the connection broke, or is to end after this
  net::awaitable<bool> write(Response response, ReplyForm form);

 private:
  using Piece = std::shared_ptr<const std::string>;
  using Head = beast_http::response<beast_http::empty_body>;

  net::awaitable<Piece> next_piece(BodyStream& source);

  Stream& stream_;
  const LiveSession session_;
};

// Operands of co_await that own memory have names: GCC 12 destroys some temporaries twice.

template <class Stream>
net::awaitable<bool> LiveWriter<Stream>::write(Response response, ReplyForm form) {
  const bool chunked = form.version >= 11;
  form.keep_alive = form.keep_alive && chunked;  // no chunks: the end is the end of the body
  Head head;
  head.version(form.version);
  set_head(head.base(), response);
  if (chunked) head.chunked(true);
  head.keep_alive(form.keep_alive);
  bool written = co_await write_head(stream_, head);
  if (form.head) co_return written&& form.keep_alive;

  Piece piece;
  while (written) {
    piece = co_await next_piece(*response.stream);
    if (!piece) break;
    session_.renew();
    written = co_await write_piece(stream_, *piece, chunked);
  }
  if (!written) co_return false;
  session_.renew();
  const bool ended = co_await write_end(stream_, chunked);
  co_return ended&& form.keep_alive;
}

/// @returns null at the end
template <class Stream>
net::awaitable<typename LiveWriter<Stream>::Piece> LiveWriter<Stream>::next_piece(
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

}  // namespace tangram::http
