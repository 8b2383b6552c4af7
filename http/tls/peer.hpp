#pragma once

#include "http/types.hpp"

#include <boost/system/error_code.hpp>

#include <memory>
#include <string>

using SSL = struct ssl_st;  // OpenSSL's own declaration, without its headers

namespace boost::asio::ssl {
class context;
}

/// What a TLS handshake says about the client.
namespace tangram::http::tls {

/// @returns null if the client showed no certificate, or the server did not request one
[[nodiscard]] std::shared_ptr<const TlsClient> verified_client(SSL* connection);

/// Whether the client's certificate stands up to the authorities of another context, now.
[[nodiscard]] bool is_vouched_for(SSL* connection, boost::asio::ssl::context& context);

/// Why a handshake failed, with what to do about it where that can be known.
[[nodiscard]] std::string explain_failure(SSL* connection, const boost::system::error_code& error);

/// True if the handshake failed because the client spoke plain HTTP.
[[nodiscard]] bool was_plain_http(const boost::system::error_code& error);

}  // namespace tangram::http::tls
