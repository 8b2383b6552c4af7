#pragma once

#include "base/clock.hpp"
#include "base/freed.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

/// OpenSSL's objects with owners, and its errors as sentences. Internal to this folder.
namespace tangram::http::tls {

using BioPtr = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Freed<X509_free>>;

/// What went wrong last in this thread, for people; the queue of errors is empty afterwards.
[[nodiscard]] std::string last_error();

/// Reads from `text`, which must outlive it.
[[nodiscard]] BioPtr reader_of(std::string_view text);

/// What an X.509 time means.
[[nodiscard]] WallTime wall_time(const ASN1_TIME* time);

}  // namespace tangram::http::tls
