#include "cli/connection.hpp"

#include "cli/format.hpp"
#include "kube/rest/rest_api.hpp"
#include "tangram_version.hpp"

#include <filesystem>
#include <system_error>

namespace tangram::cli {

namespace {

constexpr const char* kDefaultNamespace = "default";

kube::RestOptions rest_options() {
  kube::RestOptions options;
  options.user_agent = std::string("kubectl-tangram/") + kVersion;
  return options;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Error with_remedy(const Error& error) {
  return fail(error.code, error.message +
                              "; give --kubeconfig or --context, or run `kubectl proxy` and give "
                              "--server http://127.0.0.1:8001");
}

/// The service account of this pod, where there is no kubeconfig.
Result<kube::RestConfig> own_account(const Environment& environment) {
  auto config = kube::in_cluster_config(environment);
  if (auto ns = kube::account_namespace(); config && ns) config->ns = std::move(*ns);
  return config;
}

Result<kube::RestConfig> find_server(const Target& target, const Environment& environment) {
  if (!target.server.empty()) {
    kube::RestConfig config;
    config.server = target.server;
    return config;
  }
  const auto path = kube::find_kubeconfig(target.kubeconfig, environment);
  const bool nothing_named = target.kubeconfig.empty() && environment("KUBECONFIG").empty();
  const bool in_pod = !environment("KUBERNETES_SERVICE_HOST").empty();
  if (nothing_named && in_pod && (!path || !is_file(*path))) return own_account(environment);
  if (!path) return with_remedy(path.error());
  auto config = kube::read_kubeconfig(*path, target.context);
  if (!config) return with_remedy(config.error());
  return config;
}

}  // namespace

std::string flags_of(const Target& target) {
  std::string flags;
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) flags.append(" --").append(flag).append(" ") += shell_word(value);
  };
  add("kubeconfig", target.kubeconfig);
  add("context", target.context);
  add("server", target.server);
  return flags;
}

Result<Connection> connect(const Target& target, const Environment& environment,
                           const Clock& clock) {
  auto config = find_server(target, environment);
  if (!config) return config.error();
  auto api = kube::RestApi::create(*config, rest_options(), clock);
  if (!api) return with_remedy(api.error());
  return Connection{.api = std::move(*api),
                    .server = config->server,
                    .ns = config->ns.empty() ? kDefaultNamespace : config->ns};
}

Result<std::unique_ptr<kube::KubeApi>> connect(const ExtenderTarget& target, const Clock& clock) {
  kube::RestConfig config;
  config.server = target.url;
  config.ca.file = target.ca_file;
  config.insecure_skip_tls_verify = target.insecure;
  auto api = kube::RestApi::create(config, rest_options(), clock);
  if (!api) return fail(api.error().code, "--extender: " + api.error().message);
  return std::unique_ptr<kube::KubeApi>(std::move(*api));
}

}  // namespace tangram::cli
