#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <memory>
#include <string>

namespace boost::asio::ssl {
class context;
}

namespace tangram::http::tls {

/// What a TLS server is made of, all of it PEM.
struct ServerTexts {
  std::string certificate;  ///< its own first, then those that lead to the authority
  std::string key;          ///< of the first; not encrypted
  std::string client_ca;    ///< authorities of client certificates; "" = none is requested
};

struct ServerContext {
  std::shared_ptr<boost::asio::ssl::context> context;
  WallTime valid_from;
  WallTime expires;  ///< of the first certificate
};

/// The rules of every TLS server here: TLS 1.2 or newer, forward secrecy and authenticated
/// ciphers alone, HTTP/1.1 by ALPN, no resumption, no renegotiation.
///
/// With `client_ca` a client may show a certificate, and one that is not vouched for ends the
/// handshake; a client without one is unauthenticated, and each request decides what it may do.
/// @returns kInvalidArgument with what is wrong; no secret stands in the message
Result<ServerContext> make_server_context(const ServerTexts& texts);

}  // namespace tangram::http::tls
