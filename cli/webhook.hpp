#pragma once

#include "kube/api.hpp"
#include "kube/objects.hpp"

#include <map>
#include <string>

/// Tangram's admission webhook: whether the API server calls it, and what it does to pods.
namespace tangram::cli {

struct Reading;  // cli/api_reading.hpp

inline constexpr const char* kWebhookService = "tangram-webhook";

/// GETs the webhook configurations of the cluster.
/// @param kind  "mutating" or "validating"
[[nodiscard]] Reading read_webhooks(kube::KubeApi& api, const std::string& kind);
/// The CA bundles, in base64, of the webhooks that call Tangram, by the name of their
/// configuration.
/// @param configurations  the text of read_webhooks()
[[nodiscard]] std::map<std::string, std::string> ca_bundles(const std::string& configurations,
                                                            const std::string& system_namespace);

/// Whether new pods pass the mutating webhook. Which namespaces and pods it selects is not looked
/// at.
enum class Webhook {
  kInstalled,
  kMissing,
  kUnknown,  ///< the configurations cannot be read
};
struct FoundWebhook {
  Webhook webhook = Webhook::kUnknown;
  std::string problem;  ///< why it is unknown
};
[[nodiscard]] FoundWebhook find_webhook(kube::KubeApi& api, const std::string& system_namespace);

/// Gives each container that requests cards a slot, as the webhook does. A pod whose request cannot
/// be read stays as it is.
void add_slots(kube::Pod& pod);

}  // namespace tangram::cli
