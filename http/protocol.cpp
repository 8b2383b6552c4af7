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

namespace tangram::extender {
namespace {

namespace beast = boost::beast;
std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

/// A body whose length the parser cannot know would be read as the next request.
bool has_unreadable_coding(const HttpMessage& message) {
  return message.count(http::field::transfer_encoding) > 0 && !message.chunked();
}

/// RFC 7230 5.4: exactly one Host from HTTP/1.1 on.
bool lacks_host(const HttpMessage& message) {
  return message.version() >= 11 && message.count(http::field::host) != 1;
}

std::vector<HttpHeader> copy_headers(const HttpMessage& message) {
  std::vector<HttpHeader> headers;
  for (const auto& field : message) {
    headers.push_back({std::string(view(field.name_string())), std::string(view(field.value()))});
  }
  return headers;
}

HttpResponse bad_request(const std::string& why) {
  return text_response(400, "bad request: " + why);
}

HttpResponse come_back(std::string_view sentence) {
  auto response = text_response(503, sentence);
  response.headers.push_back({"Retry-After", "1"});
  return response;
}

}  // namespace

ReplyForm reply_form(const HttpMessage& request) {
  return {.version = request.version(),
          .head = request.method() == http::verb::head,
          .keep_alive = request.keep_alive(),
          .accepts_gzip = accepts_gzip(view(request[http::field::accept_encoding]))};
}

Result<HttpRequest> decode_request(HttpMessage message) {
  if (lacks_host(message)) return fail(Errc::kInvalidArgument, "send exactly one Host header");
  if (has_unreadable_coding(message)) {
    return fail(Errc::kInvalidArgument, "the only Transfer-Encoding taken is chunked");
  }
  auto target = parse_target(view(message.target()));
  if (!target) return target.error();
  HttpRequest request;
  request.method = std::string(view(message.method_string()));
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  request.headers = copy_headers(message);
  request.body = std::move(message.body().text);
  return request;
}

bool wants_continue(const HttpMessage& head) {
  return head.version() >= 11 && beast::iequals(head[http::field::expect], "100-continue");
}

std::optional<HttpResponse> refusal(const boost::system::error_code& error,
                                    const HttpOptions& options) {
  if (error == http::error::body_limit) {
    return text_response(413, "the request body is larger than the " +
                                  std::to_string(options.max_body_bytes) +
                                  " bytes this server takes");
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return text_response(431, "the request header is larger than the " +
                                  std::to_string(options.max_header_bytes) +
                                  " bytes this server takes");
  }
  if (error == no_room_for_body()) return too_many_bodies();
  const bool broken = error == http::error::end_of_stream || error == http::error::partial_message;
  const auto& protocol = http::make_error_code(http::error::bad_method).category();
  if (broken || error.category() != protocol) return std::nullopt;
  return bad_request("this is not HTTP/1.1 (" + error.message() + ")");
}

std::optional<HttpResponse> too_many_connections() {
  return come_back("the server has as many connections as it takes; retry later");
}

HttpResponse too_many_bodies() {
  return come_back("the server holds as many requests and answers as it takes; retry later");
}

void set_head(http::response_header<>& head, const HttpResponse& response) {
  head.result(static_cast<unsigned>(response.status));
  if (!response.content_type.empty()) head.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) head.insert(name, value);
  if (response.gzip) head.set(http::field::vary, "Accept-Encoding");
}

void call_handler(const HttpHandler& handler, HttpRequest request, Responder responder) {
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

}  // namespace tangram::extender
