#include "extender/setup/ca_bundle.hpp"

#include "extender/setup/certificate_text.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>

namespace tangram::extender {
namespace {

bool signed_by(X509* authority, X509* certificate) {
  return X509_check_issued(authority, certificate) == X509_V_OK &&
         X509_verify(certificate, X509_get0_pubkey(authority)) == 1;
}

}  // namespace

Result<CaBundle> CaBundle::parse(const std::string& pem) {
  ERR_clear_error();
  const auto in = http::tls::reader_of(pem);
  CaBundle bundle;
  while (const http::tls::CertificatePtr certificate{
      PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)}) {
    auto text = pem_of(*certificate);
    if (!text) return text.error();
    if (!bundle.has(*text)) bundle.certificates_.push_back(std::move(*text));
  }
  // What ends a file of PEM without a mistake in it.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!at_end) return fail(Errc::kInvalidArgument, http::tls::last_error());
  ERR_clear_error();
  return bundle;
}

void CaBundle::add(const CaBundle& other) {
  for (const auto& certificate : other.certificates_) {
    if (!has(certificate)) certificates_.push_back(certificate);
  }
}

CaBundle CaBundle::issuers_of(const std::string& pem) const {
  CaBundle issuers;
  const auto leaf = read_certificate(pem);
  if (!leaf) return issuers;
  for (const auto& text : certificates_) {
    const auto authority = read_certificate(text);
    if (authority && signed_by(authority.get(), leaf.get())) issuers.certificates_.push_back(text);
  }
  ERR_clear_error();
  return issuers;
}

CaBundle CaBundle::common_with(const CaBundle& other) const {
  CaBundle common;
  for (const auto& certificate : certificates_) {
    if (other.has(certificate)) common.certificates_.push_back(certificate);
  }
  return common;
}

bool CaBundle::contains(const CaBundle& other) const {
  return std::all_of(other.certificates_.begin(), other.certificates_.end(),
                     [&](const std::string& certificate) { return has(certificate); });
}

std::string CaBundle::pem() const {
  std::string all;
  for (const auto& certificate : certificates_) all += certificate;
  return all;
}

bool CaBundle::has(const std::string& certificate) const {
  return std::find(certificates_.begin(), certificates_.end(), certificate) != certificates_.end();
}

}  // namespace tangram::extender
