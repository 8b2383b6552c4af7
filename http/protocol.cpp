#include "http/protocol.hpp"

#include "http/target.hpp"

#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <spdlog/spdlog.h>

#include <exception>
#include <string>
#include <utility>

namespace tangram::http {
namespace {

namespace beast = boost::beast;

constexpr std::chrono::seconds kRetryAfter{1};

/// A body whose length the parser cannot know would be read as the next request.
bool has_unreadable_coding(const Message& message) {
  return message.count(beast_http::field::transfer_encoding) > 0 && !message.chunked();
}

/// RFC 7230 5.4: exactly one Host from HTTP/1.1 on.
bool lacks_host(const Message& message) {
  return message.version() >= 11 && message.count(beast_http::field::host) != 1;
}

std::vector<Header> copy_headers(const Message& message) {
  std::vector<Header> headers;
  for (const auto& field : message) {
    headers.push_back({std::string(field.name_string()), std::string(field.value())});
  }
  return headers;
}

Response bad_request(const std::string& why) { return text_response(400, "bad request: " + why); }

}  // namespace

ReplyForm reply_form(const Message& request) {
  return {.version = request.version(),
          .head = request.method() == beast_http::verb::head,
          .keep_alive = request.keep_alive(),
          .accepts_gzip = accepts_gzip(request[beast_http::field::accept_encoding])};
}

Result<Request> decode_request(Message message) {
  if (lacks_host(message)) return fail(Errc::kInvalidArgument, "send exactly one Host header");
  if (has_unreadable_coding(message)) {
    return fail(Errc::kInvalidArgument, "the only Transfer-Encoding taken is chunked");
  }
  auto target = parse_target(message.target());
  if (!target) return target.error();
  Request request;
  request.method = std::string(message.method_string());
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  request.headers = copy_headers(message);
  request.body = std::move(message.body().text);
  return request;
}

bool wants_continue(const Message& head) {
  return head.version() >= 11 && beast::iequals(head[beast_http::field::expect], "100-continue");
}

std::optional<Response> refusal(const boost::system::error_code& error, const Options& options) {
  if (error == beast_http::error::body_limit) {
    return text_response(413, "the request body is larger than the " +
                                  std::to_string(options.max_body_bytes) +
                                  " bytes this server takes");
  }
  if (error == beast_http::error::header_limit || error == beast_http::error::buffer_overflow) {
    return text_response(431, "the request header is larger than the " +
                                  std::to_string(options.max_header_bytes) +
                                  " bytes this server takes");
  }
  if (error == no_room_for_body()) return too_many_bodies();
  const bool broken =
      error == beast_http::error::end_of_stream || error == beast_http::error::partial_message;
  const auto& protocol = beast_http::make_error_code(beast_http::error::bad_method).category();
  if (broken || error.category() != protocol) return std::nullopt;
  return bad_request("this is not HTTP/1.1 (" + error.message() + ")");
}

std::optional<Response> too_many_connections() {
  return retry_response(kRetryAfter, "the server has as many connections as it takes; retry later");
}

Response too_many_bodies() {
  return retry_response(kRetryAfter,
                        "the server holds as many requests and answers as it takes; retry later");
}

void set_head(beast_http::response_header<>& head, const Response& response) {
  head.result(static_cast<unsigned>(response.status));
  if (!response.content_type.empty())
    head.set(beast_http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) head.insert(name, value);
  if (response.gzip) head.set(beast_http::field::vary, "Accept-Encoding");
}

PiecesHead pieces_head(const Response& response, const ReplyForm& form, bool compressed) {
  PiecesHead head;
  head.version(form.version);
  set_head(head.base(), response);
  if (compressed) head.set(beast_http::field::content_encoding, "gzip");
  if (form.chunked()) head.chunked(true);
  head.keep_alive(form.keep_alive);
  return head;
}

void call_handler(const Handler& handler, Request request, Responder responder) {
  const std::string what = request.method + " " + request.path;
  try {
    handler(std::move(request), std::move(responder));
  } catch (const std::exception& error) {
    spdlog::error("the handler of {} failed: {}", what, error.what());
  } catch (...) {
    spdlog::error("the handler of {} failed with an unknown exception", what);
  }
}

bool next_piece(BodyPieces& pieces, std::string& piece) {
  try {
    pieces.next(piece);
    return true;
  } catch (const std::exception& error) {
    spdlog::error("the producer of a response body failed: {}", error.what());
  } catch (...) {
    spdlog::error("the producer of a response body failed with an unknown exception");
  }
  return false;
}

}  // namespace tangram::http
