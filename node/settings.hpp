#pragma once

#include "node/kubelet/allocation.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tangram::node {

/// Everything an operator can set of the agent, by flag or by environment variable. The
/// initialisers are the defaults.
struct Settings {
  std::string node;            ///< name of its Node
  std::string kubeconfig;      ///< empty = the service account of its pod
  std::string cards = "nvml";  ///< or "file:PATH"
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string
      own_cards;  ///< cards that are Tangram's beside another device plugin: UUIDs, or "all"
  std::optional<NamePath> name_path;   ///< nothing = as the node's kubelet and runtime allow
  std::string grant_keys;              ///< public keys of who may issue grants; a file or a folder
  bool require_signed_grants = false;  ///< start nothing without a grant that one of them signed
  int sharers_per_card = 16;
  bool aggregates = true;

  std::string kubelet_dir = "/var/lib/kubelet";
  std::string plugin_dir = "/var/lib/kubelet/device-plugins";  ///< wherever kubelet's root is
  std::string cdi_dir = "/var/run/cdi";
  std::vector<std::string> nvidia_cdi_dirs{"/etc/cdi", "/var/run/cdi"};
  std::string state_dir = "/var/lib/tangram";
  std::string run_dir = "/run/tangram";
  std::string mps_launcher;   ///< put before the command that starts an MPS daemon
  bool mps_multiuser = true;  ///< one MPS server for the processes of all users
  int time_slice = 0;         ///< the driver's class: 0 default, 1 short, 2 medium, 3 long

  std::string listen = "127.0.0.1:9899";  ///< metrics; port 0 = the system picks a free one
  std::chrono::seconds audit_interval{60};
  std::string log_level = "info";
};

/// Reads the command line, then TANGRAM_NODE_… variables for what it does not say.
/// @returns the settings; or how the process must exit, after help, version or what was wrong has
/// been
///          printed
struct ParsedSettings {
  Settings settings;
  std::optional<int> exit;
};
[[nodiscard]] ParsedSettings parse_settings(int argc, const char* const* argv);

}  // namespace tangram::node
