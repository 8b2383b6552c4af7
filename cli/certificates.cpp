#include "cli/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <optional>

namespace tangram::cli {

namespace {

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using CertificatePtr = std::unique_ptr<X509, FreeCertificate>;

std::optional<WallTime> expiry_of(const X509& certificate) {
  std::tm time{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &time) != 1) return std::nullopt;
  return std::chrono::system_clock::from_time_t(timegm(&time));
}

}  // namespace

Result<WallTime> last_expiry(std::string_view pem) {
  const std::unique_ptr<BIO, FreeBio> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::optional<WallTime> last;
  while (
      const CertificatePtr certificate{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    const auto expiry = expiry_of(*certificate);
    if (expiry && (!last || *expiry > *last)) last = expiry;
  }
  ERR_clear_error();  // the end of the text is an error to OpenSSL
  if (last) return *last;
  return fail(Errc::kInvalidArgument, "has no PEM certificate");
}

}  // namespace tangram::cli
