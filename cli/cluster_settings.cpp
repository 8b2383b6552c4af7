#include "cli/cluster_settings.hpp"

#include "base/json_members.hpp"
#include "cli/api_reading.hpp"
#include "cli/json_path.hpp"
#include "kube/url.hpp"

#include <boost/algorithm/string/replace.hpp>

#include <map>
#include <utility>

namespace tangram::cli {

namespace {

ClusterSettings defaults(const std::string& why) {
  return {.assumed = "the defaults of policy and isolation are assumed: " + why, .problem = why};
}

/// The same where the extender may require signatures.
ClusterSettings unknown(const std::string& why) {
  ClusterSettings settings = defaults(why);
  settings.unchecked = why;
  return settings;
}

Reading read_config_map(kube::KubeApi& api, const std::string& ns, const std::string& name) {
  return try_get(api, "/api/v1/namespaces/" + kube::percent_encode(ns) + "/configmaps/" + name);
}

Result<std::map<std::string, std::string>> data_of(std::string config_map) {
  std::map<std::string, std::string> data;
  static const json::Outline kOutline{.members = {{"data"}}};
  json::Reader in(config_map, kOutline);
  json::read_members(in, "data", data);
  if (auto done = in.finish(); !done) return done.error();
  return data;
}

void read_keys(kube::KubeApi& api, const std::string& ns, ClusterSettings& settings) {
  const std::string name = "ConfigMap " + ns + "/" + kGrantKeysName;
  Reading read = read_config_map(api, ns, kGrantKeysName);
  if (!read.found()) {
    settings.unchecked = read.outcome == Reading::Outcome::kMissing ? "there is no " + name
                                                                    : name + ": " + read.problem;
    return;
  }
  const auto data = data_of(std::move(read.text));
  auto keys = data ? kube::GrantKeys::of(name, *data) : data.error();
  if (keys) {
    settings.keys = std::move(*keys);
  } else {
    settings.unchecked = keys.error().message;
  }
}

}  // namespace

model::SignatureCheck ClusterSettings::check() const {
  if (!keys) return model::signatures_not_checked();
  return kube::signature_check(*keys, config && config->grants.required);
}

ClusterSettings read_cluster_settings(kube::KubeApi& api, const std::string& system_namespace) {
  const std::string name = "ConfigMap " + system_namespace + "/" + kExtenderName;
  const Reading read = read_config_map(api, system_namespace, kExtenderName);
  if (read.outcome == Reading::Outcome::kMissing) return defaults("there is no " + name);
  if (!read.found()) return unknown(name + ": " + read.problem);
  if (value_at(read.text, {"data", kConfigKey}).empty()) {
    return unknown(name + " has no " + kConfigKey);
  }
  auto config = config::load_config(unescaped_at(read.text, {"data", kConfigKey}), kConfigKey, {});
  if (!config) {  // each mistake stands on a line of its own
    return unknown(name + ": " + boost::replace_all_copy(config.error().message, "\n", "; "));
  }
  ClusterSettings settings;
  settings.policy.default_policy = config->scheduler.policy;
  settings.policy.requests = config->scheduler.requests();
  settings.policy.options.bestfit_cpu = config->bestfit.cpu;
  settings.policy.options.bestfit_gpu = config->bestfit.gpu;
  settings.config = std::move(*config);
  if (!settings.config->grants.public_keys.empty()) read_keys(api, system_namespace, settings);
  return settings;
}

}  // namespace tangram::cli
