#pragma once

#include "http/body.hpp"
#include "http/protocol.hpp"
#include "http/stream.hpp"
#include "http/types.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <memory>
#include <string>
#include <utility>

/// How a response goes out. Internal to the server.
namespace tangram::http {

/// Writes one response: whole, as a head alone, or piece by piece from its producer or its stream.
/// Threads: on the stream's executor.
///
/// `Owner` is the session, which outlives it: renew(), called before each piece, since a large page
/// may take long and a stalled client may not. For a BodyStream: no_deadline(), when there is
/// nothing to write; wake(), which cancels bell_ from any thread; over(), when there is no next
/// piece.
template <class Owner, class Stream>
class Writer {
 public:
  Writer(Owner& owner, Stream& stream) : owner_(owner), stream_(stream) {}

  /// @returns false if the connection broke, or is to end after this
  net::awaitable<bool> write(Response response, ReplyForm form) {
    bool written = false;
    const bool in_pieces = response.producer || response.stream;
    if (in_pieces && !form.chunked()) form.keep_alive = false;  // the end is the body's end
    if (response.stream) {
      written = co_await write_stream(std::move(response), form);
    } else if (response.producer) {
      written = co_await write_pieces(std::move(response), form);
    } else {
      written = co_await write_whole(std::move(response), form);
    }
    co_return written&& form.keep_alive;
  }

 private:
  // Operands of co_await that own memory have names: GCC 12 destroys some temporaries twice.
  // Each says whether the connection held.

  net::awaitable<bool> write_whole(Response response, ReplyForm form) {
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
      PiecesHead head(std::move(message.base()));
      co_return co_await write_head(head);
    }
    boost::system::error_code error;
    co_await beast_http::async_write(stream_, message, into(error));
    co_return !error;
  }

  /// The first piece is made before the head goes out, so that a producer that
  /// fails at once still gives an honest 500.
  net::awaitable<bool> write_pieces(Response response, ReplyForm form) {
    const bool compressed = response.gzip && form.accepts_gzip;
    PiecesHead head = pieces_head(response, form, compressed);
    if (form.head) co_return co_await write_head(head);

    BodyPieces pieces(std::move(response.producer), compressed);
    std::string piece;
    if (!next_piece(pieces, piece)) {
      auto failure = text_response(500, "internal error: the page could not be made");
      co_return co_await write_whole(std::move(failure), form);
    }
    bool written = co_await write_head(head);
    while (written && !piece.empty()) {
      owner_.renew();
      written = co_await write_piece(piece, form.chunked());
      if (written) written = next_piece(pieces, piece);
    }
    if (!written) co_return false;
    co_return co_await write_end(form.chunked());
  }

  /// Until the stream ends or the session is over.
  net::awaitable<bool> write_stream(Response response, ReplyForm form) {
    PiecesHead head = pieces_head(response, form, false);
    bool written = co_await write_head(head);
    if (form.head) co_return written;

    std::shared_ptr<const std::string> piece;
    while (written) {
      piece = co_await take_piece(*response.stream);
      if (!piece) break;
      owner_.renew();
      written = co_await write_piece(*piece, form.chunked());
    }
    if (!written) co_return false;
    owner_.renew();
    co_return co_await write_end(form.chunked());
  }

  /// @returns null at the end
  net::awaitable<std::shared_ptr<const std::string>> take_piece(BodyStream& source) {
    owner_.no_deadline();
    while (!owner_.over()) {
      BodyStream::Step step = source.take_or_wake(owner_.wake());
      if (step.piece || step.ended) co_return step.piece;
      boost::system::error_code ignored;
      co_await owner_.bell_.async_wait(into(ignored));
    }
    co_return nullptr;
  }

  net::awaitable<bool> write_head(PiecesHead& head) {
    boost::system::error_code error;
    beast_http::response_serializer<beast_http::empty_body> serializer(head);
    co_await beast_http::async_write_header(stream_, serializer, into(error));
    co_return !error;
  }

  net::awaitable<bool> write_piece(const std::string& piece, bool chunked) {
    boost::system::error_code error;
    const auto bytes = net::buffer(piece);
    if (chunked) {
      const auto chunk = beast_http::make_chunk(bytes);
      co_await net::async_write(stream_, chunk, into(error));
    } else {
      co_await net::async_write(stream_, bytes, into(error));
    }
    co_return !error;
  }

  /// Without chunks nothing: the body ends with the connection.
  net::awaitable<bool> write_end(bool chunked) {
    boost::system::error_code error;
    const auto last = beast_http::make_chunk_last();
    if (chunked) {
      co_await net::async_write(stream_, last, into(error));
    }
    co_return !error;
  }

  Owner& owner_;
  Stream& stream_;
};

}  // namespace tangram::http
