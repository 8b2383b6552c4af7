#include "node/settings.hpp"

#include <CLI/CLI.hpp>
#include <tangram_version.hpp>

#include <map>
#include <string>

namespace tangram::node {
namespace {

constexpr int kBadUsage = 2;
// NVIDIA documents 48 MPS clients for a card, the smallest limit of all modes.
constexpr int kMostSharers = 48;
constexpr const char* kAuto = "auto";

void add_what(CLI::App& cli, Settings& settings, std::string& name_path) {
  cli.add_option("--node-name", settings.node, "This machine's Node object")
      ->envname("TANGRAM_NODE_NODE_NAME")
      ->required();
  cli.add_option("--kubeconfig", settings.kubeconfig,
                 "How to reach the API server; default: the service account of this pod")
      ->envname("TANGRAM_NODE_KUBECONFIG");
  cli.add_option("--cards", settings.cards,
                 "Where cards come from: nvml, or file:PATH (docs/node.md shows one)")
      ->envname("TANGRAM_NODE_CARDS")
      ->check([](const std::string& text) -> std::string {
        const bool known = text == "nvml" || (text.starts_with("file:") && text.size() > 5);
        return known ? "" : "write nvml or file:PATH";
      });
  cli.add_option("--own-cards", settings.own_cards,
                 "Where another device plugin gives out cards of this node too: the UUIDs of those "
                 "that are Tangram's, comma-separated, or all. Without it none is")
      ->envname("TANGRAM_NODE_OWN_CARDS");
  cli.add_option("--sharers-per-card", settings.sharers_per_card,
                 "Containers that may share a card: so many slots are told to kubelet for each")
      ->envname("TANGRAM_NODE_SHARERS_PER_CARD")
      ->check(CLI::Range(1, kMostSharers));
  cli.add_option("--aggregates", settings.aggregates,
                 "Publish tangram.dev/gpu-milli and gpu-mem-mib in the Node's capacity, so that "
                 "quotas and preemption see GPUs")
      ->envname("TANGRAM_NODE_AGGREGATES");
  cli.add_option("--device-ids-by", name_path,
                 "How the CDI device reaches the runtime: cdi-devices (kubelet 1.29 and newer), "
                 "cdi-annotation (older; containerd 1.7 with enable_cdi), env (NVIDIA's runtime "
                 "alone), or auto")
      ->envname("TANGRAM_NODE_DEVICE_IDS_BY")
      ->check([](const std::string& text) -> std::string {
        return text == kAuto || parse_name_path(text)
                   ? ""
                   : "write auto, cdi-devices, cdi-annotation or env";
      });
}

void add_trust(CLI::App& cli, Settings& settings) {
  CLI::Option* const keys =
      cli.add_option(
             "--grant-keys", settings.grant_keys,
             "Public keys of the extender, in PEM: a file, or a folder of files; read again "
             "when they change (docs/signing.md)")
          ->envname("TANGRAM_NODE_GRANT_KEYS")
          ->check([](const std::string& path) -> std::string {
            return path.empty() ? "is empty; write where the public keys lie, or leave it out" : "";
          });
  cli.add_flag("--require-signed-grants", settings.require_signed_grants,
               "Start no container whose grant none of those keys signed. Not so by default: first "
               "somebody has to make a key, and the extender has to sign")
      ->envname("TANGRAM_NODE_REQUIRE_SIGNED_GRANTS")
      ->needs(keys);
}

void add_where(CLI::App& cli, Settings& settings) {
  cli.add_option("--kubelet-dir", settings.kubelet_dir, "Kubelet's --root-dir")
      ->envname("TANGRAM_NODE_KUBELET_DIR");
  cli.add_option("--plugin-dir", settings.plugin_dir,
                 "Kubelet's folder of device plugins, the same whatever its root is")
      ->envname("TANGRAM_NODE_PLUGIN_DIR");
  cli.add_option("--cdi-dir", settings.cdi_dir, "Where CDI specs of containers are written")
      ->envname("TANGRAM_NODE_CDI_DIR");
  cli.add_option("--nvidia-cdi-dirs", settings.nvidia_cdi_dirs,
                 "Where NVIDIA's own CDI specs may be, comma-separated")
      ->envname("TANGRAM_NODE_NVIDIA_CDI_DIRS")
      ->delimiter(',');
  cli.add_option("--state-dir", settings.state_dir, "The agent's journal; survives reboots")
      ->envname("TANGRAM_NODE_STATE_DIR");
  cli.add_option("--run-dir", settings.run_dir, "Pipes of MPS daemons; mounted into containers")
      ->envname("TANGRAM_NODE_RUN_DIR");
  cli.add_option("--nvml-library", settings.nvml_library, "NVIDIA's management library")
      ->envname("TANGRAM_NODE_NVML_LIBRARY");
  cli.add_option(
         "--mps-launcher", settings.mps_launcher,
         "Put before the command that starts an MPS daemon, so that it outlives the agent's "
         "container: nsenter --target 1 --mount -- systemd-run --scope --quiet --collect --")
      ->envname("TANGRAM_NODE_MPS_LAUNCHER");
  cli.add_option("--mps-multiuser", settings.mps_multiuser,
                 "One MPS server for the processes of all users; a driver that does not know "
                 "-multiuser-server needs false, and pods that share a card one runAsUser")
      ->envname("TANGRAM_NODE_MPS_MULTIUSER");
  cli.add_option("--time-slice", settings.time_slice,
                 "Turns under gpu-isolation time-slice: 0 the driver's default, 1 short, 2 medium, "
                 "3 long")
      ->envname("TANGRAM_NODE_TIME_SLICE")
      ->check(CLI::Range(0, 3));
  cli.add_option("--listen", settings.listen, "ADDRESS:PORT of GET /metrics, plain HTTP")
      ->envname("TANGRAM_NODE_LISTEN");
}

void add_how(CLI::App& cli, Settings& settings, int& audit_seconds) {
  cli.add_option("--audit-interval", audit_seconds,
                 "Seconds from one comparison of grants, slots, specs and processes to the next")
      ->envname("TANGRAM_NODE_AUDIT_INTERVAL")
      ->check(CLI::Range(1, 3600));
  cli.add_option("--log-level", settings.log_level, "trace, debug, info, warn or error")
      ->envname("TANGRAM_NODE_LOG_LEVEL")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error"}));
}

}  // namespace

ParsedSettings parse_settings(int argc, const char* const* argv) {
  ParsedSettings parsed;
  Settings& settings = parsed.settings;
  std::string name_path = kAuto;
  auto audit_seconds = static_cast<int>(settings.audit_interval.count());
  CLI::App cli(
      "Reports this node's GPU cards, and makes every container see its share of its card.\n\n"
      "Runs on every GPU node, as root; deploy/node holds the DaemonSet. Every flag can also be "
      "set\n"
      "in the environment, --node-name as TANGRAM_NODE_NODE_NAME.\n");
  cli.option_defaults()->always_capture_default();
  cli.set_version_flag("--version", std::string("tangram-node ") + kVersion);
  add_what(cli, settings, name_path);
  add_trust(cli, settings);
  add_where(cli, settings);
  add_how(cli, settings, audit_seconds);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.exit = cli.exit(error) == 0 ? 0 : kBadUsage;
  }
  settings.name_path = parse_name_path(name_path);
  settings.audit_interval = std::chrono::seconds(audit_seconds);
  return parsed;
}

}  // namespace tangram::node
