#include "http/tls/peer.hpp"

#include "http/tls/openssl.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <string>

namespace tangram::http::tls {
namespace {

using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;

std::string text_of(const ASN1_STRING* name) {
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, name);
  if (size < 0) return {};
  std::string text(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return text;
}

std::string common_name(const X509* certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  return text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

void add_dns_names(const X509* certificate, std::vector<std::string>& names) {
  const NamesPtr all(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type == GEN_DNS) names.push_back(text_of(name->d.dNSName));
  }
}

}  // namespace

std::shared_ptr<const TlsClient> verified_client(SSL* connection) {
  const X509* const certificate = SSL_get0_peer_certificate(connection);
  const bool requested = (SSL_get_verify_mode(connection) & SSL_VERIFY_PEER) != 0;
  if (certificate == nullptr || !requested || SSL_get_verify_result(connection) != X509_V_OK) {
    return nullptr;
  }
  auto client = std::make_shared<TlsClient>();
  client->expires = wall_time(X509_get0_notAfter(certificate));
  if (auto name = common_name(certificate); !name.empty()) {
    client->names.push_back(std::move(name));
  }
  add_dns_names(certificate, client->names);
  return client;
}

bool is_vouched_for(SSL* connection, boost::asio::ssl::context& context) {
  X509* const certificate = SSL_get0_peer_certificate(connection);
  X509_STORE* const store = SSL_CTX_get_cert_store(context.native_handle());
  const StoreContextPtr check(X509_STORE_CTX_new());
  if (certificate == nullptr || !check ||
      X509_STORE_CTX_init(check.get(), store, certificate, SSL_get_peer_cert_chain(connection)) !=
          1) {
    return false;
  }
  X509_STORE_CTX_set_default(check.get(), "ssl_client");
  const bool vouched = X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  return vouched;
}

std::string explain_failure(SSL* connection, const boost::system::error_code& error) {
  const auto verdict = SSL_get_verify_result(connection);
  if (verdict != X509_V_OK) {
    return std::string("its certificate does not count: ") +
           X509_verify_cert_error_string(verdict) +
           "; give it one that client_ca of this listener vouches for";
  }
  if (was_plain_http(error)) return "it speaks plain HTTP; write https:// there";
  if (error.category() != boost::asio::error::get_ssl_category()) {
    return "it ended the connection or took too long (" + error.message() + ")";
  }
  return "it does not want this server's certificate, or speaks no TLS of 1.2 or newer (" +
         error.message() + ")";
}

bool was_plain_http(const boost::system::error_code& error) {
  return error.category() == boost::asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(error.value())) ==  // NOLINT(google-runtime-int)
             SSL_R_HTTP_REQUEST;
}

}  // namespace tangram::http::tls
