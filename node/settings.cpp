#include "node/settings.hpp"

#include "base/logging.hpp"
#include "node/vendor/vendors.hpp"

#include <CLI/CLI.hpp>
#include <tangram_version.hpp>

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <vector>

namespace tangram::node {
namespace {

constexpr int kBadUsage = 2;
constexpr const char* kAuto = "auto";
constexpr const char* kNone = "none";
constexpr const char* kToken = "token";
constexpr const char* kReport = "report";
constexpr const char* kTerminate = "terminate";
constexpr std::string_view kFile = "file:";

using Vendors = std::vector<std::shared_ptr<Vendor>>;

/// What --cards accepts: "auto or nvml or file:PATH".
std::string card_sources(const Vendors& vendors) {
  std::string text = std::string(kAuto) + " or ";
  for (const auto& vendor : vendors) text += std::string(vendor->facts().source) + " or ";
  return text + "file:PATH";
}

/// The first vendor whose cards this machine has. If it has none, or the host's /sys cannot be
/// read, the first in the list: cards of a file need no vendor, and the agent reports a missing
/// driver.
std::shared_ptr<const Vendor> vendor_of_machine(const Vendors& vendors) {
  const auto found =
      std::ranges::find_if(vendors, [](const auto& vendor) { return vendor->has_cards(); });
  return found == vendors.end() ? vendors.front() : *found;
}

/// @returns null if --cards names neither a vendor nor a file
std::shared_ptr<const Vendor> vendor_of(const Vendors& vendors, std::string_view cards) {
  if (cards == kAuto) return vendor_of_machine(vendors);
  if (cards.starts_with(kFile) && cards.size() > kFile.size()) return vendors.front();
  const auto found = std::find_if(vendors.begin(), vendors.end(), [&](const auto& vendor) {
    return vendor->facts().source == cards;
  });
  return found == vendors.end() ? nullptr : *found;
}

void add_memory_limits(CLI::App& cli, std::string& memory_limits) {
  const auto& names = model::kMemoryLimitsNames;
  std::vector<std::string> values{kAuto};
  values.insert(values.end(), names.rbegin(), names.rend());
  cli.add_option("--memory-limits", memory_limits,
                 "The strongest means by which memory limits of shares are enforced: driver, "
                 "library, mps (only in the isolation mode mps) or none; where a card does not "
                 "offer it, the next weaker one that it offers. auto: the strongest that a card "
                 "offers (docs/node.md)")
      ->check(CLI::IsMember(values));
}

void add_cards(CLI::App& cli, Settings& settings, const Vendors& vendors, std::string& cards) {
  const std::string sources = card_sources(vendors);
  cli.add_option("--cards", cards,
                 "Where cards come from: " + sources +
                     ". auto: the driver of the cards that this machine has, NVIDIA's before "
                     "others (docs/node.md)")
      ->check([&vendors, sources](const std::string& text) -> std::string {
        return vendor_of(vendors, text) ? "" : "write " + sources;
      });
  cli.add_option("--own-cards", settings.own_cards,
                 "Where another device plugin also allocates cards of this node: the UUIDs of "
                 "Tangram's cards, comma-separated, or all. Default: none");
  cli.add_option("--sharers-per-card", settings.sharers_per_card,
                 "Containers that may share a card: the number of slots for each card")
      ->check(CLI::Range(1, model::CardTraits::kDefaultMaxSharers));
  cli.add_option("--aggregates", settings.aggregates,
                 "Publish tangram.dev/gpu-milli and gpu-mem-mib in the Node's capacity, so that "
                 "quotas and preemption see GPUs");
  cli.add_option("--gpu-labels", settings.gpu_labels,
                 "Write NVIDIA's labels of cards, as nvidia.com/gpu.product, where its GPU feature "
                 "discovery does not run. Needs deploy/node/policy-gpu-labels.yaml in place of "
                 "policy.yaml (docs/node.md)");
  cli.add_option(
      "--cards-by-runtime", settings.cards_by_runtime,
      "Start containers also where the agent finds neither a CDI spec nor the driver's files "
      "for their cards: for nodes whose default runtime is NVIDIA's. Under another runtime "
      "they would start without a card");
  cli.add_option("--time-lease", settings.time_lease,
                 "Under gpu-isolation time-slice, hold containers whose memory limits are enforced "
                 "by the library to their shares and limits of compute, too: they launch in turns. "
                 "false: the driver's turns of equal length (docs/node.md)");
}

void add_cluster(CLI::App& cli, Settings& settings, std::string& name_path) {
  cli.add_option("--node-name", settings.node, "This machine's Node object")->required();
  cli.add_option("--kubeconfig", settings.kubeconfig,
                 "How to reach the API server; default: the service account of this pod");
  cli.add_option("--pool-settings", settings.pool_settings,
                 "A folder of files of flags, one for each pool of nodes. The Node's label "
                 "tangram.dev/agent.config names its file, whose flags come before all others "
                 "(docs/node.md). Default: none");
  cli.add_option("--device-ids-by", name_path,
                 "How the CDI device reaches the runtime: cdi-devices (kubelet 1.29 and newer), "
                 "cdi-annotation (older; containerd 1.7 with enable_cdi), env (only the vendor's "
                 "own runtime, in a cluster without Tangram's webhook), or auto: one of the first "
                 "two")
      ->check([](const std::string& text) -> std::string {
        return text == kAuto || parse_name_path(text)
                   ? ""
                   : "write auto, cdi-devices, cdi-annotation or env";
      });
}

void add_signatures(CLI::App& cli, Settings& settings) {
  CLI::Option* const keys =
      cli.add_option("--grant-keys", settings.grant_keys,
                     "Public keys of the extender, in PEM: a file, or a folder of files; read "
                     "again when they change (docs/signing.md)")
          ->check([](const std::string& path) -> std::string {
            return path.empty() ? "is empty; write the path of the public keys, or leave it out"
                                : "";
          });
  cli.add_flag("--require-signed-grants", settings.require_signed_grants,
               "Start containers only with a grant that one of those keys signed. Off by default: "
               "it needs a key with which the extender signs")
      ->needs(keys);
}

void add_folders(CLI::App& cli, Settings& settings) {
  cli.add_option("--kubelet-dir", settings.kubelet_dir, "Kubelet's --root-dir");
  cli.add_option("--plugin-dir", settings.plugin_dir,
                 "Kubelet's folder of device plugins, the same for every --root-dir");
  cli.add_option("--cdi-dir", settings.cdi_dir, "Where CDI specs of containers are written");
  cli.add_option("--state-dir", settings.state_dir, "The agent's journal; survives reboots");
  cli.add_option("--runtime-socket", settings.runtime_socket,
                 "The container runtime's socket, to end containers that were created without "
                 "their device, and to tell a pod's containers apart by their memory; none: "
                 "neither")
      ->check([](const std::string& path) -> std::string {
        return path == kNone || path.starts_with('/') ? "" : "write a path from / on, or none";
      });
}

/// Every vendor's; the values go to Vendor::set_places().
void add_places(CLI::App& cli, HostPlaces& places) {
  cli.add_option("--host-root", places.host_root,
                 "The host's root folder, as this program and the launcher of MPS daemons see it");
  cli.add_option("--run-dir", places.run_dir,
                 "What running containers are held to, and the pipes of MPS daemons; mounted into "
                 "containers");
  cli.add_option("--memory-hook", places.memory_hook,
                 "The program that the container runtime starts for --memory-limits=driver; copied "
                 "to the host");
}

void add_metrics(CLI::App& cli, Settings& settings, std::string& listen, std::string& clients) {
  MetricsSettings& metrics = settings.metrics;
  cli.add_option("--listen", listen,
                 "ADDRESS:PORT of GET /metrics and /healthz; plain HTTP without a certificate")
      ->check([](const std::string& text) -> std::string {
        return parse_endpoint(text) ? "" : "write an IP address and a port, such as 0.0.0.0:9899";
      });
  CLI::Option* const certificate =
      cli.add_option("--metrics-tls-cert", metrics.certificate,
                     "Certificate of that address, with its chain, in PEM: it is served over TLS; "
                     "read again when it changes");
  CLI::Option* const key = cli.add_option("--metrics-tls-key", metrics.key,
                                          "Key of that certificate, in PEM; read again with it");
  certificate->needs(key);
  key->needs(certificate);
  cli.add_option("--metrics-authentication", clients,
                 "Who may read GET /metrics. none: every client. token: who sends a bearer token "
                 "of the cluster whose user may get /metrics; needs --metrics-tls-cert "
                 "(docs/monitoring.md)")
      ->check(CLI::IsMember({kNone, kToken}));
}

/// Tokens are not sent in plain text.
void check_metrics(const MetricsSettings& metrics) {
  if (!metrics.tokens || !metrics.certificate.empty()) return;
  throw CLI::ValidationError("--metrics-authentication",
                             "token needs --metrics-tls-cert and --metrics-tls-key, because "
                             "clients send their tokens there");
}

void add_operation(CLI::App& cli, Settings& settings, int& audit_seconds, std::string& over_limit) {
  cli.add_option("--audit-interval", audit_seconds,
                 "Seconds from one comparison of grants, slots, specs and processes to the next")
      ->check(CLI::Range(1, 3600));
  cli.add_option("--over-limit", over_limit,
                 "What happens if a container uses more memory of a card than its limit, by the "
                 "driver's count. report: an event and metrics. terminate: also, its processes on "
                 "the card are killed; needs --runtime-socket (docs/node.md)")
      ->check(CLI::IsMember({kReport, kTerminate}));
  cli.add_option("--log-level", settings.log_level, "trace, debug, info, warn or error")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error"}));
  cli.add_option("--log-format", settings.log_format,
                 "text, or json: each message as a JSON object on one line")
      ->check(CLI::IsMember(kLogFormatNames));
}

/// Without the runtime, processes of one container could be ended for the memory of another.
void read_over_limit(std::string_view text, Settings& settings) {
  settings.terminate_over_limit = text == kTerminate;
  if (!settings.terminate_over_limit || settings.runtime_socket != kNone) return;
  throw CLI::ValidationError("--over-limit",
                             "terminate needs --runtime-socket, by which the agent tells a pod's "
                             "containers apart");
}

/// --node-name is also TANGRAM_NODE_NODE_NAME, and so on.
void add_variables(CLI::App& cli) {
  for (CLI::Option* option : cli.get_options()) {
    if (option == cli.get_help_ptr() || option == cli.get_version_ptr()) continue;
    std::string variable = "TANGRAM_NODE_";
    for (const char c : option->get_lnames().front()) {
      variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    option->envname(variable);
  }
}

/// "--cdi-dir=/a" and "--cdi-dir" -> "--cdi-dir".
std::string_view flag_of(std::string_view argument) {
  return argument.substr(0, argument.find('='));
}

/// The pool's arguments instead of those with the same flags.
std::vector<const char*> with_pool(std::span<const char* const> given,
                                   const std::vector<std::string>& pool) {
  std::vector<const char*> all;
  bool replaced = false;  // the flag whose value may come next
  for (const std::string_view argument : given) {
    const bool is_flag = argument.starts_with("--");
    if (is_flag) {
      replaced = std::ranges::any_of(
          pool, [&](const std::string& other) { return flag_of(other) == flag_of(argument); });
    }
    if (!replaced) all.push_back(argument.data());
  }
  for (const std::string& argument : pool) all.push_back(argument.c_str());
  return all;
}

}  // namespace

ParsedSettings parse_settings(int argc, const char* const* argv,
                              const std::vector<std::string>& pool) {
  ParsedSettings parsed;
  Settings& settings = parsed.settings;
  const Vendors vendors = make_vendors();
  std::string cards = kAuto;
  HostPlaces places;
  std::string name_path = kAuto;
  std::string memory_limits = kAuto;
  std::string listen = to_string(settings.metrics.listen);
  std::string metrics_clients = kNone;
  std::string over_limit = kReport;
  auto audit_seconds = static_cast<int>(settings.audit_interval.count());
  CLI::App cli(
      "Publishes this node's GPU cards, and gives each container its share of its card.\n\n"
      "Runs on every GPU node, as root; deploy/node has the DaemonSet. Every flag can also be set\n"
      "in the environment: --node-name as TANGRAM_NODE_NODE_NAME.\n");
  cli.option_defaults()->always_capture_default();
  cli.set_version_flag("--version", std::string("tangram-node ") + kVersion);
  add_cluster(cli, settings, name_path);
  add_cards(cli, settings, vendors, cards);
  add_memory_limits(cli, memory_limits);
  add_signatures(cli, settings);
  add_folders(cli, settings);
  add_places(cli, places);
  for (const auto& vendor : vendors) vendor->add_options(cli);
  add_metrics(cli, settings, listen, metrics_clients);
  add_operation(cli, settings, audit_seconds, over_limit);
  add_variables(cli);
  try {
    const auto arguments = with_pool({argv, static_cast<std::size_t>(argc)}, pool);
    cli.parse(static_cast<int>(arguments.size()), arguments.data());
    settings.metrics.tokens = metrics_clients == kToken;
    check_metrics(settings.metrics);
    read_over_limit(over_limit, settings);
  } catch (const CLI::ParseError& error) {
    parsed.exit = cli.exit(error) == 0 ? 0 : kBadUsage;
  }
  for (const auto& vendor : vendors) vendor->set_places(places);
  settings.vendor = vendor_of(vendors, cards);
  if (cards.starts_with(kFile)) settings.card_file = cards.substr(kFile.size());
  settings.name_path = parse_name_path(name_path);
  settings.memory_limits = model::parse_memory_limits(memory_limits);
  settings.metrics.listen = parse_endpoint(listen).value_or(settings.metrics.listen);
  if (settings.runtime_socket == kNone) settings.runtime_socket.clear();
  settings.audit_interval = std::chrono::seconds(audit_seconds);
  return parsed;
}

}  // namespace tangram::node
