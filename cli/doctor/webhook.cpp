#include "cli/webhook.hpp"

#include "base/base64.hpp"
#include "base/freed.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/format.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <string_view>

namespace tangram::cli {

namespace {

constexpr const char* kSubject = "webhook";
constexpr const char* kNext =
    "kubectl apply the file of deploy/webhook with the CA in it: deploy/webhook/README.md";

/// As ca_bundles(), with the kind before the name.
/// @returns nothing if the configurations cannot be read; the report says why
std::optional<std::map<std::string, std::string>> find_bundles(const Examination& examination,
                                                               const std::string& kind) {
  const Reading read = read_webhooks(examination.installation.api, kind);
  if (!read.found()) {
    examination.unreadable(kSubject, read);
    return std::nullopt;
  }
  std::map<std::string, std::string> bundles;
  for (auto& [name, bundle] : ca_bundles(read.text, examination.installation.system_namespace)) {
    bundles[std::string(kind).append(" ").append(name)] = std::move(bundle);
  }
  return bundles;
}

void check_authority(const Examination& examination, const std::string& name,
                     const std::string& bundle) {
  if (bundle.empty()) return examination.fail(kSubject, name + " has no caBundle", kNext);
  const auto pem = base64_decode(bundle);
  const auto expires =
      pem ? last_expiry(*pem) : Result<WallTime>(fail(Errc::kInvalidArgument, "is not base64"));
  if (!expires) {
    return examination.fail(kSubject, "caBundle of " + name + ": " + expires.error().message,
                            kNext);
  }
  examination.check_expiry(kSubject, "the CA in " + name, *expires,
                           "put a certificate of a new CA into the Secret tangram-tls, and the CA "
                           "into the configurations: deploy/webhook/README.md");
}

}  // namespace

Result<WallTime> last_expiry(std::string_view pem) {
  const std::unique_ptr<BIO, Freed<BIO_free_all>> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::optional<WallTime> last;
  while (const std::unique_ptr<X509, Freed<X509_free>> certificate{
      PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    std::tm time{};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &time) != 1) continue;
    const WallTime expiry = std::chrono::system_clock::from_time_t(timegm(&time));
    if (!last || expiry > *last) last = expiry;
  }
  ERR_clear_error();  // the end of the text is an error to OpenSSL
  if (last) return *last;
  return fail(Errc::kInvalidArgument, "has no PEM certificate");
}

void check_webhook(const Examination& examination) {
  auto mutating = find_bundles(examination, "mutating");
  if (!mutating) return;
  auto validating = find_bundles(examination, "validating");
  if (!validating) return;
  if (mutating->empty() && validating->empty()) {
    return examination.warn(kSubject, "no webhook configuration refers to it",
                            "without it pods must request tangram.dev/gpu-slot themselves, and "
                            "mistakes are found late; install it: deploy/webhook/README.md");
  }
  if (mutating->empty() || validating->empty()) {
    examination.fail(kSubject,
                     std::string("there is no ") + (mutating->empty() ? "mutating" : "validating") +
                         " configuration",
                     kNext);
  }
  for (const auto* bundles : {&*mutating, &*validating}) {
    for (const auto& [name, bundle] : *bundles) check_authority(examination, name, bundle);
  }
  const auto ready = examination.ready_endpoints(kWebhookService);
  if (!ready) return;
  const std::string text = "its Service has " + counted(*ready, "ready endpoint");
  if (*ready > 0) return examination.ok(kSubject, text);
  examination.fail(
      kSubject, text,
      "GPU pods are rejected meanwhile (failurePolicy: Fail); see the lines of the extender");
}

}  // namespace tangram::cli
