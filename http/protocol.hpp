#pragma once

#include "base/result.hpp"
#include "http/body.hpp"
#include "http/counted_body.hpp"
#include "http/types.hpp"

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>

#include <optional>
#include <string>

/// The rules of HTTP that need no I/O. Internal to the server.
namespace tangram::http {

namespace beast_http = boost::beast::http;

/// How the answer to one request must look, whatever the handler says.
struct ReplyForm {
  unsigned version = 11;  ///< 10 or 11, as the library counts
  bool head = false;      ///< no body, but the length it would have
  bool keep_alive = false;
  bool accepts_gzip = false;

  /// How a body goes out whose length is not known before.
  [[nodiscard]] bool chunked() const { return version >= 11; }
};

/// A request as the parser makes it.
using Message = beast_http::request<CountedBody>;

[[nodiscard]] ReplyForm reply_form(const Message& request);

/// Checks what the parser does not, and takes the message apart.
/// @returns kInvalidArgument, to be answered with 400 and the end of the connection.
Result<Request> decode_request(Message message);

/// True if the client waits for "100 Continue" before it sends the body.
[[nodiscard]] bool wants_continue(const Message& head);

/// The answer to a request that could not be read: 400, 413, 431 or 503. Nothing if
/// the connection broke, so no answer can be sent.
[[nodiscard]] std::optional<Response> refusal(const boost::system::error_code& error,
                                              const Options& options);

/// 503 for a connection above the limit.
[[nodiscard]] std::optional<Response> too_many_connections();

/// 503 where max_bodies_bytes are held already.
[[nodiscard]] Response too_many_bodies();

/// Status line and header fields of `response`, but for the body's length or coding.
void set_head(beast_http::response_header<>& head, const Response& response);

/// Of a response whose body goes out piece by piece.
using PiecesHead = beast_http::response<beast_http::empty_body>;
[[nodiscard]] PiecesHead pieces_head(const Response& response, const ReplyForm& form,
                                     bool compressed);

/// Calls the handler; what it throws is logged, and answered by its Responder.
void call_handler(const Handler& handler, Request request, Responder responder);

/// Makes the next piece of a body; it is empty at the end.
/// @returns false if the producer threw, which is logged.
[[nodiscard]] bool next_piece(BodyPieces& pieces, std::string& piece);

}  // namespace tangram::http
