#include "http/tls/server_context.hpp"

#include "http/tls/openssl.hpp"

#include <boost/asio/ssl/context.hpp>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <vector>

namespace tangram::http::tls {
namespace {

namespace ssl = boost::asio::ssl;

/// Of TLS 1.2; those of 1.3 are all of this kind. Go, curl and OpenSSL have them since 2015.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

/// OpenSSL's level for 112 bits: RSA keys below 2048 bits and SHA-1 are refused.
constexpr int kSecurityLevel = 2;

/// In the form of ALPN: each name after its length.
constexpr std::array<unsigned char, 9> kHttp11{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

/// A client that offers HTTP/2 beside HTTP/1.1, as Go does, gets the latter; one that offers
/// nothing of ours learns so in the handshake (RFC 7301 3.2).
int choose_protocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* length,
                    const unsigned char* offered, unsigned int size, void* /*unused*/) {
  unsigned char* found = nullptr;
  const int result =
      SSL_select_next_proto(&found, length, kHttp11.data(), kHttp11.size(), offered, size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// Without it OpenSSL would ask the terminal for the password of an encrypted key.
int no_password(char* /*into*/, int /*size*/, int /*writing*/, void* /*unused*/) { return -1; }

/// All certificates of a PEM text, in order. Empty = none, or one of them is damaged.
std::vector<CertificatePtr> read_certificates(const std::string& pem) {
  const BioPtr in = reader_of(pem);
  std::vector<CertificatePtr> all;
  while (X509* const next = PEM_read_bio_X509(in.get(), nullptr, no_password, nullptr)) {
    all.emplace_back(next);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!at_end) all.clear();
  if (at_end && !all.empty()) ERR_clear_error();
  return all;
}

Error wrong(const std::string& what) {
  return fail(Errc::kInvalidArgument, what + " (" + last_error() + ")");
}

void set_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(context, 0);  // whatever openssl.cnf says
  SSL_CTX_set_security_level(context, kSecurityLevel);
  SSL_CTX_set_cipher_list(context, kCiphers);
  // No resumption: kube-scheduler and the API server do not use it, and every connection is
  // judged by the authority in force. Renegotiation lets a client make the server work for nothing.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // idle connections keep no 16 KiB
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
}

Result<void> use_certificate(SSL_CTX* context, const std::vector<CertificatePtr>& chain) {
  if (chain.empty()) return wrong("the certificate is no PEM certificate");
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) {
    return wrong("the certificate cannot be used");
  }
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) {
      return wrong("a certificate of the chain cannot be used");
    }
  }
  return {};
}

Result<void> use_key(SSL_CTX* context, const std::string& pem) {
  const BioPtr in = reader_of(pem);
  const KeyPtr key(PEM_read_bio_PrivateKey(in.get(), nullptr, no_password, nullptr));
  if (!key) return wrong("the key is no unencrypted PEM key");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return wrong("the key does not belong to the certificate");
  }
  return {};
}

Result<void> trust_clients_of(SSL_CTX* context, const std::vector<CertificatePtr>& authorities) {
  if (authorities.empty()) return wrong("the client CA is no PEM certificate");
  constexpr int kNoPurpose = -1;  // X509_check_purpose(3): decodes the extensions, judges nothing
  for (const auto& authority : authorities) {
    // Else the first handshakes would decode them, side by side, and refuse clients over damage
    // that is reported here.
    if (X509_check_purpose(authority.get(), kNoPurpose, 0) != 1 ||
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return wrong("a certificate of the client CA cannot be used");
    }
  }
  // A named authority is trusted, whether it is a root or signed by one.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(context), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  return {};
}

}  // namespace

Result<ServerContext> make_server_context(const ServerTexts& texts) {
  ERR_clear_error();
  const auto made = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const context = made->native_handle();
  set_rules(context);
  const auto chain = read_certificates(texts.certificate);
  if (auto used = use_certificate(context, chain); !used) return used.error();
  if (auto used = use_key(context, texts.key); !used) return used.error();
  if (!texts.client_ca.empty()) {
    auto trusted = trust_clients_of(context, read_certificates(texts.client_ca));
    if (!trusted) return trusted.error();
  }
  const X509* const own = chain.front().get();
  return ServerContext{made, wall_time(X509_get0_notBefore(own)),
                       wall_time(X509_get0_notAfter(own))};
}

}  // namespace tangram::http::tls
