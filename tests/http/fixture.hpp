#pragma once

#include "http/client.hpp"
#include "http/server.hpp"
#include "http/types.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

/// What the tests of the HTTP server share.
namespace tangram::http {

inline Options local_options() {
  Options options;
  options.address = "127.0.0.1";
  return options;
}

/// A server on a free port of this machine.
inline std::unique_ptr<Server> serve(Handler handler, Options options = local_options()) {
  auto server = Server::create(std::move(options), std::move(handler));
  if (!server) throw std::runtime_error(server.error().message);
  return std::move(*server);
}

inline Client client_of(const Server& server) {
  Client client;
  const auto connected = client.connect("127.0.0.1", server.port());
  if (!connected) throw std::runtime_error(connected.error().message);
  return client;
}

/// Answers "METHOD path|body".
inline void echo(const Request& request, Responder responder) {
  Response response;
  response.content_type = "text/plain";
  response.body = request.method + " " + request.path + "|" + request.body;
  responder.send(std::move(response));
}

/// The answer, or a reply of status 0 whose body says what went wrong.
inline Reply reply_of(Result<Reply> reply) {
  if (reply) return std::move(*reply);
  return {.status = 0, .headers = {}, .body = reply.error().message};
}

}  // namespace tangram::http
