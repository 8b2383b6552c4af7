#include "cli/api_reading.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/format.hpp"
#include "cli/json_path.hpp"
#include "cli/webhook.hpp"

#include <string_view>
#include <vector>

namespace tangram::cli {

namespace {

constexpr const char* kSubject = "hidden cards";
constexpr const char* kLabel = "tangram.dev/admission=enabled";
constexpr const char* kPolicy = "tangram-hidden-cards";
constexpr const char* kApi = "/apis/admissionregistration.k8s.io/v1/";
/// ValidatingAdmissionPolicy v1.
constexpr int kPoliciesMinor = 30;

/// The namespaces with the label, without those that no registration and no policy selects.
std::vector<std::string> labelled(const Examination& examination, const std::string& namespaces) {
  std::vector<std::string> names;
  for_each_at(namespaces, {"items"}, [&](std::string_view ns) {
    const std::string name = text_at(ns, {"metadata", "name"});
    const bool exempt = name == "kube-system" || name == examination.installation.system_namespace;
    if (!exempt) names.push_back(name);
  });
  return names;
}

/// Whether a validating webhook checks the outcome there, and its failure is a rejection.
bool is_closed(const std::string& registrations, const std::string& system_namespace) {
  bool closed = false;
  for_each_at(registrations, {"items"}, [&](std::string_view configuration) {
    for_each_at(configuration, {"webhooks"}, [&](std::string_view webhook) {
      const bool ours =
          text_at(webhook, {"clientConfig", "service", "name"}) == kWebhookService &&
          text_at(webhook, {"clientConfig", "service", "namespace"}) == system_namespace &&
          text_at(webhook, {"clientConfig", "service", "path"}) == "/admission/validate/hidden";
      closed = closed || (ours && text_at(webhook, {"failurePolicy"}) == "Fail");
    });
  });
  return closed;
}

bool denies(const std::string& binding) {
  bool denies = false;
  for_each_at(binding, {"spec", "validationActions"},
              [&](std::string_view action) { denies = denies || action == "\"Deny\""; });
  return denies;
}

/// @returns whether it checks the outcome; if not, the report says so
bool check_policy(const Examination& examination, const std::string& label) {
  const Check missing{Level::kWarn, kSubject,
                      label + ", but no policy " + kPolicy + " with a binding that denies",
                      "without it the cards are not hidden once the webhook's registrations are "
                      "deleted; kubectl apply -f deploy/webhook/policies.yaml, or set the chart's "
                      "policies.enabled"};
  kube::KubeApi& api = examination.installation.api;
  for (const char* kind : {"validatingadmissionpolicies/", "validatingadmissionpolicybindings/"}) {
    const Reading read = try_get(api, std::string(kApi) + kind + kPolicy);
    if (!read.found()) {
      examination.no_object(read, missing);
      return false;
    }
    const bool binding = std::string_view(kind) == "validatingadmissionpolicybindings/";
    if (binding ? denies(read.text) : text_at(read.text, {"spec", "failurePolicy"}) == "Fail") {
      continue;
    }
    examination.add(missing);
    return false;
  }
  return true;
}

}  // namespace

void check_hidden_cards(const Examination& examination, int minor) {
  kube::KubeApi& api = examination.installation.api;
  const Reading namespaces = try_get(api, "/api/v1/namespaces", {{"labelSelector", kLabel}});
  if (!namespaces.found()) return examination.unreadable(kSubject, namespaces);
  const std::vector<std::string> names = labelled(examination, namespaces.text);
  if (names.empty()) return;
  const Reading webhooks = read_webhooks(api, "validating");
  if (!webhooks.found()) return examination.unreadable(kSubject, webhooks);
  const std::string label = "the label " + std::string(kLabel) + " is on " + some_of(names);
  const bool closed = is_closed(webhooks.text, examination.installation.system_namespace);
  if (!closed) {
    examination.fail(kSubject,
                     label +
                         ", but no webhook with failurePolicy: Fail checks that the pods there "
                         "see no card",
                     "kubectl apply webhook.yaml, or webhook-by-label.yaml before Kubernetes 1.28, "
                     "with the CA in it: deploy/webhook/README.md");
  }
  const bool checked = minor < kPoliciesMinor || check_policy(examination, label);
  if (closed && checked) examination.ok(kSubject, label + ", and is enforced");
}

}  // namespace tangram::cli
