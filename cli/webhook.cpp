#include "cli/webhook.hpp"

#include "cli/api_reading.hpp"
#include "cli/json_path.hpp"
#include "model/request.hpp"

#include <string_view>

namespace tangram::cli {

Reading read_webhooks(kube::KubeApi& api, const std::string& kind) {
  return try_get(api, "/apis/admissionregistration.k8s.io/v1/" + kind + "webhookconfigurations");
}

std::map<std::string, std::string> ca_bundles(const std::string& configurations,
                                              const std::string& system_namespace) {
  std::map<std::string, std::string> bundles;
  for_each_at(configurations, {"items"}, [&](std::string_view configuration) {
    for_each_at(configuration, {"webhooks"}, [&](std::string_view webhook) {
      if (text_at(webhook, {"clientConfig", "service", "name"}) != kWebhookService ||
          text_at(webhook, {"clientConfig", "service", "namespace"}) != system_namespace) {
        return;
      }
      bundles[text_at(configuration, {"metadata", "name"})] =
          text_at(webhook, {"clientConfig", "caBundle"});
    });
  });
  return bundles;
}

FoundWebhook find_webhook(kube::KubeApi& api, const std::string& system_namespace) {
  const Reading read = read_webhooks(api, "mutating");
  // Without that kind of object, as in a server that stands in for one, there are no webhooks.
  if (read.outcome == Reading::Outcome::kMissing) return {Webhook::kMissing, ""};
  if (!read.found()) {
    const bool forbidden = read.outcome == Reading::Outcome::kForbidden;
    return {Webhook::kUnknown, "mutatingwebhookconfigurations: " + read.problem +
                                   (forbidden ? std::string("; ask for the ClusterRole ") +
                                                    kViewerRole + " of deploy/cli/rbac.yaml"
                                              : "")};
  }
  const bool none = ca_bundles(read.text, system_namespace).empty();
  return {none ? Webhook::kMissing : Webhook::kInstalled, ""};
}

void add_slots(kube::Pod& pod) {
  const auto request = model::parse_request(pod.annotations, pod.containers, {});
  if (!request) return;  // planning the pod reports the mistake
  for (const model::ContainerRequest& container : request->containers) {
    for (model::ContainerInfo& info : pod.containers) {
      if (info.name != container.container || info.slots > 0) continue;
      info.slots = 1;
      ++pod.footprint.slots;
    }
  }
}

}  // namespace tangram::cli
