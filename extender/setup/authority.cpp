#include "extender/setup/authority.hpp"

#include "base/quote.hpp"
#include "extender/setup/certificate_text.hpp"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cctype>
#include <chrono>

namespace tangram::extender {
namespace {

using BignumPtr = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;

/// Of a serial number: unguessable, and positive within the 20 bytes that RFC 5280 allows.
constexpr int kSerialBits = 127;

Error cannot(const std::string& what) {
  return fail(Errc::kUnavailable, "OpenSSL cannot make " + what + ": " + http::tls::last_error());
}

bool is_address(const std::string& host) {
  in6_addr parsed{};  // large enough for both families
  return inet_pton(AF_INET, host.c_str(), &parsed) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
}

bool is_dns_name(const std::string& host) {
  constexpr std::size_t kLongest = 253;
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '*';
  };
  return !host.empty() && host.size() <= kLongest && std::all_of(host.begin(), host.end(), allowed);
}

/// "DNS:a,IP:10.0.0.1", as OpenSSL reads it.
Result<std::string> alternative_names(const std::vector<std::string>& hosts) {
  std::string names;
  for (const auto& host : hosts) {
    const bool address = is_address(host);
    if (!address && !is_dns_name(host)) {
      return fail(Errc::kInvalidArgument, quote(host) +
                                              " is no host; write a DNS name or an IP address, "
                                              "such as tangram.example.com or 10.96.0.42");
    }
    names.append(names.empty() ? "" : ",").append(address ? "IP:" : "DNS:").append(host);
  }
  return names;
}

bool set_serial(X509* certificate) {
  const BignumPtr number(BN_new());
  return number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_times(X509* certificate, const Validity& validity) {
  const auto seconds = [](WallTime time) { return std::chrono::system_clock::to_time_t(time); };
  return ASN1_TIME_set(X509_getm_notBefore(certificate), seconds(validity.from)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), seconds(validity.to)) != nullptr;
}

bool set_subject(X509* certificate, const std::string& name) {
  const auto* const text = reinterpret_cast<const unsigned char*>(name.data());
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, text,
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

struct Extension {
  int kind;
  std::string value;  ///< in the language of openssl.cnf
};

bool add_extensions(X509* certificate, X509* issuer, const std::vector<Extension>& extensions) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  return std::all_of(extensions.begin(), extensions.end(), [&](const Extension& wanted) {
    const ExtensionPtr made(
        X509V3_EXT_conf_nid(nullptr, &context, wanted.kind, wanted.value.c_str()));
    return made && X509_add_ext(certificate, made.get(), -1) == 1;
  });
}

/// @param issuer  null = it signs itself
Result<Identity> make_identity(const std::string& name, const Validity& validity,
                               const std::vector<Extension>& extensions, const Identity* issuer) {
  Identity made{http::tls::KeyPtr(EVP_EC_gen("P-256")), http::tls::CertificatePtr(X509_new())};
  if (!made.key || !made.certificate) return cannot("a key");
  X509* const own = made.certificate.get();
  const Identity& signer = issuer == nullptr ? made : *issuer;
  const bool complete =
      X509_set_version(own, X509_VERSION_3) == 1 && set_serial(own) && set_times(own, validity) &&
      X509_set_pubkey(own, made.key.get()) == 1 && set_subject(own, name) &&
      X509_set_issuer_name(own, X509_get_subject_name(signer.certificate.get())) == 1 &&
      add_extensions(own, signer.certificate.get(), extensions) &&
      X509_sign(own, signer.key.get(), EVP_sha256()) > 0;
  if (!complete) return cannot("a certificate for " + quote(name));
  return made;
}

Result<CertificateAndKey> texts_of(const Identity& identity) {
  auto certificate = pem_of(*identity.certificate);
  if (!certificate) return certificate.error();
  const http::tls::BioPtr key(BIO_new(BIO_s_secmem()));
  if (PEM_write_bio_PrivateKey(key.get(), identity.key.get(), nullptr, nullptr, 0, nullptr,
                               nullptr) != 1) {
    return cannot("PEM");
  }
  char* bytes = nullptr;
  const auto size = BIO_ctrl(key.get(), BIO_CTRL_INFO, 0, static_cast<void*>(&bytes));
  return CertificateAndKey{std::move(*certificate), {bytes, static_cast<std::size_t>(size)}};
}

}  // namespace

Result<Authority> Authority::create(const std::string& name, Validity validity) {
  ERR_clear_error();
  auto made = make_identity(name, validity,
                            {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                             {NID_key_usage, "critical,keyCertSign,cRLSign"},
                             {NID_subject_key_identifier, "hash"}},
                            nullptr);
  if (!made) return made.error();
  auto own = texts_of(*made);
  if (!own) return own.error();
  return Authority(std::move(*made), std::move(*own));
}

Result<CertificateAndKey> Authority::issue(const Order& order) const {
  ERR_clear_error();
  const auto hosts = alternative_names(order.hosts);
  if (!hosts) return hosts.error();
  const bool server = order.use == Use::kServer;
  std::vector<Extension> extensions{{NID_basic_constraints, "critical,CA:FALSE"},
                                    {NID_key_usage, "critical,digitalSignature"},
                                    {NID_ext_key_usage, server ? "serverAuth" : "clientAuth"},
                                    {NID_subject_key_identifier, "hash"},
                                    {NID_authority_key_identifier, "keyid"}};
  if (!hosts->empty()) extensions.push_back({NID_subject_alt_name, *hosts});
  auto made = make_identity(order.name, order.validity, extensions, &identity_);
  if (!made) return made.error();
  return texts_of(*made);
}

}  // namespace tangram::extender
