#pragma once

#include "http/client.hpp"
#include "http/server.hpp"
#include "http/types.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

/// What the tests of the HTTP server share.
namespace tangram::extender {

inline HttpOptions local_options() {
  HttpOptions options;
  options.address = "127.0.0.1";
  return options;
}

/// A server on a free port of this machine.
inline std::unique_ptr<HttpServer> serve(HttpHandler handler,
                                         HttpOptions options = local_options()) {
  auto server = HttpServer::create(std::move(options), std::move(handler));
  if (!server) throw std::runtime_error(server.error().message);
  return std::move(*server);
}

inline HttpClient client_of(const HttpServer& server) {
  HttpClient client;
  const auto connected = client.connect("127.0.0.1", server.port());
  if (!connected) throw std::runtime_error(connected.error().message);
  return client;
}

/// Answers "METHOD path|body".
inline void echo(const HttpRequest& request, Responder responder) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body = request.method + " " + request.path + "|" + request.body;
  responder.send(std::move(response));
}

/// The answer, or a reply of status 0 whose body says what went wrong.
inline HttpReply reply_of(Result<HttpReply> reply) {
  if (reply) return std::move(*reply);
  return {.status = 0, .headers = {}, .body = reply.error().message};
}

}  // namespace tangram::extender
