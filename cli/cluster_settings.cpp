#include "cli/cluster_settings.hpp"

#include "cli/api_reading.hpp"
#include "cli/json_path.hpp"
#include "config/config.hpp"
#include "kube/url.hpp"

namespace tangram::cli {

namespace {

ClusterSettings defaults(const std::string& why) {
  return {.policy = {}, .assumed = "the defaults of policy and isolation are assumed: " + why};
}

}  // namespace

ClusterSettings read_cluster_settings(kube::KubeApi& api, const std::string& system_namespace) {
  const std::string name = system_namespace + "/" + kExtenderName;
  const Reading read = try_get(api, "/api/v1/namespaces/" + kube::percent_encode(system_namespace) +
                                        "/configmaps/" + kExtenderName);
  if (read.outcome == Reading::Outcome::kMissing) return defaults("there is no ConfigMap " + name);
  if (!read.found()) return defaults("ConfigMap " + name + ": " + read.problem);
  if (value_at(read.text, {"data", kConfigKey}).empty()) {
    return defaults("ConfigMap " + name + " has no " + kConfigKey);
  }
  const auto config =
      config::load_config(unescaped_at(read.text, {"data", kConfigKey}), kConfigKey, {});
  if (!config) return defaults("ConfigMap " + name + ": " + config.error().message);
  ClusterSettings settings;
  settings.policy.default_policy = config->scheduler.policy;
  settings.policy.default_isolation = config->scheduler.default_isolation;
  settings.policy.options.bestfit_cpu = config->bestfit.cpu;
  settings.policy.options.bestfit_gpu = config->bestfit.gpu;
  return settings;
}

}  // namespace tangram::cli
