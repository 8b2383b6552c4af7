#pragma once

#include "tests/testing/raw_server.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>
#include <string>

/// Certificates made on the spot, and a RawServer's connections over TLS.
namespace tangram::testing {

template <auto Free>
struct OpenSslFree {
  template <class Object>
  void operator()(Object* object) const {
    Free(object);
  }
};
using Key = std::shared_ptr<EVP_PKEY>;
using Certificate = std::shared_ptr<X509>;

template <class Write>
std::string pem_text(const Write& write) {
  const std::unique_ptr<BIO, OpenSslFree<BIO_free>> memory(BIO_new(BIO_s_mem()));
  if (write(memory.get()) != 1) throw std::runtime_error("no PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

/// A certificate and its key.
struct Identity {
  Key key;
  Certificate certificate;

  [[nodiscard]] std::string certificate_pem() const {
    return pem_text([&](BIO* out) { return PEM_write_bio_X509(out, certificate.get()); });
  }
  [[nodiscard]] std::string key_pem() const {
    return pem_text([&](BIO* out) {
      return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }
};

inline void add_extension(X509* certificate, int kind, const std::string& value) {
  const std::unique_ptr<X509_EXTENSION, OpenSslFree<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) {
    throw std::runtime_error("no extension " + value);
  }
}

/// @param names  "DNS:api,IP:127.0.0.1"; "" makes an authority
/// @param issuer  null = signs itself
inline Identity make_identity(const std::string& common_name, const std::string& names,
                              const Identity* issuer) {
  Identity made{{EVP_EC_gen("P-256"), EVP_PKEY_free}, {X509_new(), X509_free}};
  X509* const x509 = made.certificate.get();
  X509_set_version(x509, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), issuer == nullptr ? 1 : 2);
  constexpr long kHour = 3600;  // the machine's clock may be a little off
  X509_gmtime_adj(X509_getm_notBefore(x509), -kHour);
  X509_gmtime_adj(X509_getm_notAfter(x509), kHour);
  X509_set_pubkey(x509, made.key.get());
  const auto* name = reinterpret_cast<const unsigned char*>(common_name.c_str());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_UTF8, name, -1, -1, 0);
  const Identity& signer = issuer == nullptr ? made : *issuer;
  X509_set_issuer_name(x509, X509_get_subject_name(signer.certificate.get()));
  if (names.empty()) add_extension(x509, NID_basic_constraints, "critical,CA:TRUE");
  if (!names.empty()) add_extension(x509, NID_subject_alt_name, names);
  if (X509_sign(x509, signer.key.get(), EVP_sha256()) == 0) throw std::runtime_error("not signed");
  return made;
}

/// What a TLS server needs; `clients`, if given, is the authority of the clients it demands.
class TlsServerContext {
 public:
  explicit TlsServerContext(const Identity& own, const Identity* clients = nullptr,
                            int newest = TLS1_3_VERSION)
      : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_use_certificate(context_.get(), own.certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), own.key.get());
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_.get(), newest);
    SSL_CTX_set_security_level(context_.get(), 0);  // so that old versions can be offered
    if (clients == nullptr) return;
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), clients->certificate.get());
  }
  /// For RawServer: connections that begin with a handshake.
  [[nodiscard]] RawServer::MakePeer peers() const;

 private:
  std::unique_ptr<SSL_CTX, OpenSslFree<SSL_CTX_free>> context_;
};

class TlsPeer final : public Peer {
 public:
  TlsPeer(int socket, SSL_CTX* context) : Peer(socket), ssl_(SSL_new(context)) {
    SSL_set_fd(ssl_.get(), socket);
    SSL_set_accept_state(ssl_.get());  // the handshake happens at the first read
  }
  /// The server name that the client sent; "" if none.
  [[nodiscard]] std::string server_name() const {
    const char* name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? "" : name;
  }

 protected:
  ssize_t read_some(char* into, std::size_t size) override {
    return SSL_read(ssl_.get(), into, static_cast<int>(size));
  }
  ssize_t write_some(std::string_view bytes) override {
    return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }

 private:
  std::unique_ptr<SSL, OpenSslFree<SSL_free>> ssl_;
};

inline RawServer::MakePeer TlsServerContext::peers() const {
  return
      [context = context_.get()](int socket) { return std::make_unique<TlsPeer>(socket, context); };
}

}  // namespace tangram::testing
