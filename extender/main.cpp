// tangram-extender: wiring only.

#include "base/clock.hpp"
#include "base/descriptors.hpp"
#include "base/file.hpp"
#include "base/logging.hpp"
#include "base/signals.hpp"
#include "config/config.hpp"
#include "extender/app.hpp"
#include "extender/setup/certificates_command.hpp"
#include "extender/setup/grant_key_command.hpp"
#include "extender/setup/renewal.hpp"
#include "kube/local/api.hpp"
#include "kube/rest/rest_api.hpp"
#include "kube/rest/rest_config.hpp"
#include "tangram_version.hpp"

#include <CLI/CLI.hpp>
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <csignal>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <thread>

namespace {

using namespace tangram;

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

struct Options {
  std::string config_file;
  std::vector<std::string> overrides;
  bool check_config = false;
};

Result<config::Config> read_config(const Options& options) {
  if (options.config_file.empty()) {
    return config::load_config("", "(no configuration file)", options.overrides);
  }
  auto text = read_file(options.config_file);
  if (!text) return text.error();
  return config::load_config(*text, options.config_file, options.overrides);
}

Result<std::unique_ptr<kube::KubeApi>> open_local(const config::Config::Kube& settings,
                                                  const Clock& clock) {
  auto api = std::make_unique<kube::LocalApi>(clock);
  auto text = read_file(settings.cluster_file);
  if (!text) return text.error();
  auto loaded = api->load_yaml(*text);
  if (!loaded) {
    return fail(loaded.error().code, settings.cluster_file + ": " + loaded.error().message);
  }
  spdlog::info("cluster in memory: {} objects from {}", *loaded, settings.cluster_file);
  return api;
}

Result<kube::RestConfig> find_server(const config::Config::Kube& settings) {
  if (settings.source == config::KubeSource::kInCluster) return kube::in_cluster_config();
  const auto file = kube::find_kubeconfig(settings.kubeconfig);
  if (!file) return file.error();
  return kube::read_kubeconfig(*file, settings.context);
}

Result<std::unique_ptr<kube::KubeApi>> open_cluster(const config::Config::Kube& settings,
                                                    const Clock& clock) {
  if (settings.source == config::KubeSource::kLocal) return open_local(settings, clock);
  const auto server = find_server(settings);
  if (!server) return server.error();
  kube::RestOptions options;
  options.user_agent = std::string("tangram-extender/") + kVersion;
  options.qps = settings.qps;
  options.burst = settings.burst;
  auto api = kube::RestApi::create(*server, std::move(options), clock);
  if (!api) return api.error();
  spdlog::info("API server: {}", server->server);
  return std::unique_ptr<kube::KubeApi>(std::move(*api));
}

std::function<double()> random() {
  auto engine = std::make_shared<std::mt19937_64>(std::random_device{}());
  return [engine] { return std::uniform_real_distribution<double>(0, 1)(*engine); };
}

/// Empty if this does not run in a pod, or on no cluster.
std::string own_namespace(const config::Config& config) {
  if (config.kube.source == config::KubeSource::kLocal) return "";
  if (!config.leader_election.ns.empty()) return config.leader_election.ns;
  if (auto ns = process_environment("POD_NAMESPACE"); !ns.empty()) return ns;
  const auto own = kube::account_namespace();
  return own ? *own : "";
}

/// Who this is among the replicas. The identity ends in chance: a container that starts again
/// must not take its earlier life's Lease for its own.
std::optional<extender::Replica> this_replica(const config::Config& config) {
  const auto& settings = config.leader_election;
  if (!settings.enabled || config.kube.source == config::KubeSource::kLocal) return std::nullopt;
  extender::Replica replica;
  if (auto ns = own_namespace(config); !ns.empty()) replica.ns = std::move(ns);
  replica.pod = process_environment("POD_NAME");
  std::random_device random;
  replica.identity =
      fmt::format("{}_{:08x}{:08x}", replica.pod.empty() ? "tangram-extender" : replica.pod,
                  random(), random());
  return replica;
}

/// The pod's name, or the host's: whom to ask for the log.
kube::EventReporter reporter() {
  kube::EventReporter reporter;
  reporter.instance = process_environment("POD_NAME");
  if (!reporter.instance.empty()) return reporter;
  std::array<char, HOST_NAME_MAX + 1> host{};
  reporter.instance = gethostname(host.data(), HOST_NAME_MAX) == 0 ? host.data() : "unknown";
  return reporter;
}

/// Beside the server's connections: those of webhook and metrics, newcomers that are being turned
/// away, files, and what goes to the API server.
constexpr std::size_t kOtherDescriptors = 700;

void make_room_for_connections(const config::Config& config) {
  const std::size_t may = raise_descriptor_limit();
  const auto wanted = static_cast<std::size_t>(config.server.max_connections) + kOtherDescriptors;
  if (may >= wanted) return;
  spdlog::warn(
      "this process may open {} descriptors and may need {}: where they run out, the API "
      "server cannot be reached; raise the limit (ulimit -Hn), or lower "
      "server.max_connections",
      may, wanted);
}

std::string where_it_listens(const config::Config& config, const extender::App& app) {
  const auto place = [](const Endpoint& endpoint, std::uint16_t port) {
    return to_string(Endpoint{endpoint.address, port});
  };
  std::string text = place(config.server.listen, app.port());
  text += config.tls.certificate.empty() ? " (plain HTTP)"
          : config.tls.client_ca.empty() ? " (TLS)"
                                         : " (TLS, verbs for verified clients)";
  if (config.webhook.listen) {
    text += ", webhook on " + place(*config.webhook.listen, app.webhook_port()) + " (TLS)";
  }
  if (config.metrics.listen) {
    const bool tokens = config.metrics.authentication == config::MetricsAuthentication::kToken;
    text += ", metrics on " + place(*config.metrics.listen, app.metrics_port()) +
            (tokens ? " (TLS, for tokens)" : " (plain HTTP)");
  }
  return text;
}

Result<void> serve(const config::Config& config) {
  const sigset_t signals = block_stop_signals();
  make_room_for_connections(config);
  const SystemClock clock;
  auto api = open_cluster(config.kube, clock);
  if (!api) return api.error();
  auto app = extender::App::create(config, {.api = **api,
                                            .clock = clock,
                                            .replica = this_replica(config),
                                            .random = random(),
                                            .reporter = reporter(),
                                            .ns = own_namespace(config)});
  if (!app) return app.error();
  spdlog::info("tangram-extender {} listens on {}", kVersion, where_it_listens(config, **app));
  int signal = 0;
  sigwait(&signals, &signal);
  spdlog::info("signal {}: answering what is under way, then stopping", signal);
  (*app)->stop();
  return {};
}

/// Buffers of 1 MiB and more go back to the system when they are freed. Otherwise the limit above
/// which they do grows to 32 MiB with those that are freed, and the heap of each thread keeps as
/// much: after floods of large reviews to 64 threads 580 MiB, and 124 so. Ordinary requests have no
/// such buffers.
void give_back_large_buffers() {
  constexpr int kLarge = 1 << 20;
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread runs yet
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kLarge);
  // NOLINTEND(concurrency-mt-unsafe)
}

int run(const Options& options) {
  const auto config = read_config(options);
  if (!config) {
    std::cerr << config.error().message << "\n";
    return kBadUsage;
  }
  if (options.check_config) {
    std::cout << "the configuration is valid\n";
    return 0;
  }
  configure_logging(config->log.level, config->log.format);
  give_back_large_buffers();
  if (auto served = serve(*config); !served) {
    report_failure("tangram-extender", served.error().message);
    return kFailed;
  }
  return 0;
}

/// What a command made has to say.
int print(const Result<std::string>& made) {
  if (!made) {
    std::cerr << "tangram-extender: " << made.error().message << "\n";
    return made.error().code == Errc::kInvalidArgument ? kBadUsage : kFailed;
  }
  std::cout << *made;
  return 0;
}

struct CertificateOptions {
  extender::CertificatesOrder trial;
  std::optional<int> days;
  bool renew = false;
  extender::RenewalOrder renewal;
  int settle_s = static_cast<int>(std::chrono::seconds(extender::kSettling).count());
  std::string kubeconfig;
};

Result<std::string> renew(const CertificateOptions& options) {
  config::Config::Kube kube;
  kube.kubeconfig = options.kubeconfig;
  if (!options.kubeconfig.empty()) kube.source = config::KubeSource::kKubeconfig;
  const SystemClock clock;
  const auto api = open_cluster(kube, clock);
  if (!api) return api.error();
  auto order = options.renewal;
  order.days = options.days.value_or(order.days);
  order.settling = std::chrono::seconds(options.settle_s);
  return extender::renew_certificates(
      order, {.api = **api, .clock = clock, .pause = [](std::chrono::milliseconds time) {
                std::this_thread::sleep_for(time);
              }});
}

Result<std::string> make_certificates(const CertificateOptions& options) {
  if (options.renew) return renew(options);
  auto order = options.trial;
  order.days = options.days.value_or(order.days);
  return extender::make_certificates(order, SystemClock());
}

/// Certificates for a trial, as files.
void add_trial_options(CLI::App& command, CLI::Option* dir, extender::CertificatesOrder& order) {
  command
      .add_option("--host", order.hosts,
                  "DNS name or IP address by which clients call the server, beside those of the\n"
                  "Services in deploy/scheduler and localhost; may be repeated")
      ->take_all()
      ->needs(dir);
  command
      .add_flag("--keep-ca-key", order.keep_ca_key,
                "Write the CA's key too, to issue more in its name")
      ->needs(dir);
}

/// Certificates in a cluster.
void add_renewal_options(CLI::App& command, CLI::Option* renew, CertificateOptions& options) {
  auto& order = options.renewal;
  const auto add = [&](const char* name, auto& into, const char* what) {
    return command.add_option(name, into, what)->capture_default_str()->needs(renew);
  };
  add("--namespace", order.ns, "The Secrets' namespace, and that of the Services");
  add("--secret", order.server_secret, "Secret of the server and the webhook");
  add("--scheduler-secret", order.scheduler_secret, "Secret of kube-scheduler");
  add("--registration", order.registrations,
      "Webhook configuration whose caBundle is written, such as\n"
      "mutatingwebhookconfigurations/00-tangram; may be repeated")
      ->take_all();
  add("--restart", order.restart,
      "kube-scheduler's Deployment: it reads its authorities only at start");
  add("--settle", options.settle_s,
      "Seconds until kubelets and API servers have read what was written");
  add("--kubeconfig", options.kubeconfig, "Where the cluster is; without it, the pod's own");
  command
      .add_flag("--only-missing", order.only_missing,
                "Create Secrets that are missing, and do nothing else")
      ->needs(renew);
}

CLI::App* add_certificates(CLI::App& cli, CertificateOptions& options) {
  CLI::App* const command = cli.add_subcommand(
      "certificates",
      "Make a CA, a certificate for the server and one for kube-scheduler, and forget the CA's "
      "key.\n"
      "With --dir: files for a trial, and what to do with them; nothing is overwritten.\n"
      "With --renew: Secrets of a cluster, where a third of their validity has passed.");
  auto* const where = command->add_option_group("where");
  auto* const dir = where->add_option("--dir", options.trial.folder, "Folder for the files");
  auto* const renew =
      where->add_flag("--renew", options.renew, "Renew the certificates of a cluster");
  where->require_option(1);
  command->add_option("--days", options.days, "How long they are valid; 365, with --renew 30");
  add_trial_options(*command, dir, options.trial);
  add_renewal_options(*command, renew, options);
  return command;
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App cli(
      "Answers kube-scheduler's extender protocol (filter, prioritize, bind, preempt) and keeps\n"
      "the ledger of every GPU card.\n\n"
      "Try it without a cluster:\n"
      "  tangram-extender --set kube.source=local --set "
      "kube.cluster_file=deploy/demo/cluster.yaml\n"
      "  curl -s localhost:9898/api/v1/cluster | jq .\n");
  cli.add_option("-c,--config", options.config_file,
                 "YAML file; every setting with default and bounds: config/tangram.yaml");
  cli.add_option("--set", options.overrides, "section.key=value, over the file; may be repeated")
      ->take_all();
  cli.add_flag("--check-config", options.check_config,
               "Read the configuration, say what is wrong, end");
  std::string key_folder;
  CLI::App* const grant_key = cli.add_subcommand(
      "grant-key", "Makes a key that grants are signed with, and says what to do with it");
  grant_key->add_option("--out", key_folder, "A folder, for grant.key and grant.pub")->required();
  cli.set_version_flag("--version", std::string("tangram-extender ") + kVersion);
  CertificateOptions certificates;
  const CLI::App* const make = add_certificates(cli, certificates);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? 0 : kBadUsage;
  }
  if (*make) return print(make_certificates(certificates));
  if (*grant_key) return print(extender::make_grant_key(key_folder));
  return run(options);
} catch (const std::exception& error) {
  report_failure("tangram-extender", error.what());
  return kFailed;
}
