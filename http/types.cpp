#include "http/types.hpp"

#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace tangram::http {

std::string_view Request::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const Header& header) {
    return boost::beast::iequals(header.name, name);
  });
  return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

Response json_response(std::string body) {
  Response response;
  response.body = std::move(body);
  return response;
}

Response retry_response(std::chrono::seconds after, std::string_view sentence) {
  auto response = text_response(503, sentence);
  response.headers.push_back({"Retry-After", std::to_string(after.count())});
  return response;
}

Response text_response(int status, std::string_view sentence) {
  Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body.append(sentence).append("\n");
  return response;
}

Responder::Responder(std::function<void(Response)> reply) : reply_(std::move(reply)) {}

Responder::~Responder() { answer_unanswered(); }

Responder::Responder(Responder&& other) noexcept : reply_(std::exchange(other.reply_, nullptr)) {}

Responder& Responder::operator=(Responder&& other) noexcept {
  if (this != &other) {
    answer_unanswered();
    reply_ = std::exchange(other.reply_, nullptr);
  }
  return *this;
}

void Responder::send(Response response) {
  if (const auto reply = std::exchange(reply_, nullptr)) reply(std::move(response));
}

void Responder::answer_unanswered() noexcept {
  if (!reply_) return;
  try {
    send(text_response(500, "internal error: the request was not answered; see the server's log"));
  } catch (const std::exception&) {
    // No memory for the answer: the server cuts the connection when it stops, at the latest.
    reply_ = nullptr;
  }
}

}  // namespace tangram::http
