#pragma once

#include "base/result.hpp"
#include "http/body.hpp"
#include "http/body_budget.hpp"
#include "http/types.hpp"

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>

#include <optional>
#include <string>

/// The rules of HTTP that need no I/O. Internal to the server.
namespace tangram::extender {

namespace http = boost::beast::http;

/// How the answer to one request must look, whatever the handler says.
struct ReplyForm {
  unsigned version = 11;  ///< 10 or 11, as the library counts
  bool head = false;      ///< no body, but the length it would have
  bool keep_alive = false;
  bool accepts_gzip = false;
};

/// A request as the parser makes it.
using HttpMessage = http::request<CountedBody>;

[[nodiscard]] ReplyForm reply_form(const HttpMessage& request);

/// Checks what the parser does not, and takes the message apart.
/// @returns kInvalidArgument, to be answered with 400 and the end of the connection.
Result<HttpRequest> decode_request(HttpMessage message);

/// True if the client waits for "100 Continue" before it sends the body.
[[nodiscard]] bool wants_continue(const HttpMessage& head);

/// The answer to a request that could not be read: 400, 413, 431 or 503. Nothing if
/// the connection broke, so that there is nobody to answer.
[[nodiscard]] std::optional<HttpResponse> refusal(const boost::system::error_code& error,
                                                  const HttpOptions& options);

/// 503 for a connection above the limit.
[[nodiscard]] std::optional<HttpResponse> too_many_connections();

/// 503 where max_bodies_bytes are held already.
[[nodiscard]] HttpResponse too_many_bodies();

/// Status line and header fields of `response`, but for the body's length or coding.
void set_head(http::response_header<>& head, const HttpResponse& response);

/// Calls the handler; what it throws is logged, and answered by its Responder.
void call_handler(const HttpHandler& handler, HttpRequest request, Responder responder);

/// Makes the next piece of a body; it is empty at the end.
/// @returns false if the producer threw, which is logged.
[[nodiscard]] bool next_piece(BodyPieces& pieces, std::string& piece);

}  // namespace tangram::extender
