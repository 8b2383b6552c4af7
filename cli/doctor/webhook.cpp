#include "base/base64.hpp"
#include "cli/certificates.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/json_path.hpp"
#include "cli/words.hpp"

#include <map>
#include <string_view>

namespace tangram::cli {

namespace {

constexpr const char* kSubject = "webhook";
constexpr const char* kService = "tangram-webhook";
constexpr const char* kNext =
    "kubectl apply the file of deploy/webhook with the CA in it: deploy/webhook/README.md";

/// Configurations that call Tangram's webhook, with the authorities that they trust it by.
struct Registrations {
  std::map<std::string, std::string> ca_by_name;  ///< base64; "" = the system's
  bool mutating = false;
  bool validating = false;
};

/// @returns false if they could not be seen
bool find_registrations(const Installation& installation, const std::string& kind, bool& there,
                        Registrations& found, Report& report) {
  const Reading read = look(
      installation.api, "/apis/admissionregistration.k8s.io/v1/" + kind + "webhookconfigurations");
  if (!read.found()) {
    add_unseen(report, kSubject, read);
    return false;
  }
  for_each_at(read.text, {"items"}, [&](std::string_view configuration) {
    for_each_at(configuration, {"webhooks"}, [&](std::string_view webhook) {
      if (text_at(webhook, {"clientConfig", "service", "name"}) != kService ||
          text_at(webhook, {"clientConfig", "service", "namespace"}) !=
              installation.system_namespace) {
        return;
      }
      there = true;
      found.ca_by_name[kind + " " + text_at(configuration, {"metadata", "name"})] =
          text_at(webhook, {"clientConfig", "caBundle"});
    });
  });
  return true;
}

void check_authorities(const Installation& installation, const Registrations& found,
                       Report& report) {
  for (const auto& [name, bundle] : found.ca_by_name) {
    if (bundle.empty()) {
      report.push_back({Level::kFail, kSubject, name + " has no caBundle", kNext});
      continue;
    }
    const auto pem = base64_decode(bundle);
    const auto expires =
        pem ? last_expiry(*pem) : Result<WallTime>(fail(Errc::kInvalidArgument, "is no base64"));
    if (!expires) {
      report.push_back(
          {Level::kFail, kSubject, "caBundle of " + name + ": " + expires.error().message, kNext});
      continue;
    }
    check_expiry(installation,
                 {.subject = kSubject,
                  .finding = "the CA in " + name,
                  .next = "put a certificate of a new one into the Secret tangram-tls, and it into "
                          "the configurations: deploy/webhook/README.md"},
                 *expires, report);
  }
}

}  // namespace

void check_webhook(const Installation& installation, Report& report) {
  Registrations found;
  if (!find_registrations(installation, "mutating", found.mutating, found, report) ||
      !find_registrations(installation, "validating", found.validating, found, report)) {
    return;
  }
  if (!found.mutating && !found.validating) {
    report.push_back({Level::kWarn, kSubject, "no configuration calls it",
                      "pods must bring tangram.dev/gpu-slot themselves, and mistakes show late; "
                      "install it: deploy/webhook/README.md"});
    return;
  }
  if (!found.mutating || !found.validating) {
    report.push_back({Level::kFail, kSubject,
                      std::string("there is no ") + (found.mutating ? "validating" : "mutating") +
                          " configuration",
                      kNext});
  }
  check_authorities(installation, found, report);
  const auto ready = ready_endpoints(installation, kService, report);
  if (!ready) return;
  report.push_back({*ready == 0 ? Level::kFail : Level::kOk, kSubject,
                    "its Service has " + counted(*ready, "ready endpoint"),
                    *ready == 0 ? "GPU pods are refused meanwhile (failurePolicy: Fail); see the "
                                  "lines of the extender"
                                : ""});
}

}  // namespace tangram::cli
