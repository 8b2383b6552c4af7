#pragma once

#include "extender/http_types.hpp"

#include <boost/system/error_code.hpp>

#include <memory>

using SSL = struct ssl_st;  // OpenSSL's own declaration, without its headers

/// What a TLS handshake says about the client.
namespace tangram::extender::tls {

/// @returns null if the client showed no certificate, or the server did not ask for one
[[nodiscard]] std::shared_ptr<const TlsClient> verified_client(SSL* connection);

/// True if the handshake failed because the client spoke plain HTTP.
[[nodiscard]] bool was_plain_http(const boost::system::error_code& error);

}  // namespace tangram::extender::tls
