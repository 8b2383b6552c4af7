#pragma once

#include "node/kubelet/allocate_response.hpp"
#include "node/metrics_listener.hpp"
#include "node/vendor/vendor.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tangram::node {

/// Every setting of the agent, by flag or by environment variable. The initialisers are the
/// defaults.
struct Settings {
  std::string node;           ///< name of its Node
  std::string kubeconfig;     ///< empty = the service account of its pod
  std::string pool_settings;  ///< folder of pool_settings.hpp; empty = none
  std::string card_file;      ///< the cards; empty = those that the vendor's driver shows
  std::shared_ptr<const Vendor> vendor;  ///< of the cards
  std::string own_cards;  ///< Tangram's cards beside another device plugin: UUIDs, or "all"
  std::optional<NamePath> name_path;   ///< nothing = as the node's kubelet and runtime allow
  std::string grant_keys;              ///< trusted public keys for grants: a file or a folder
  bool require_signed_grants = false;  ///< start only with a grant that one of them signed
  int sharers_per_card = 16;
  bool aggregates = true;
  bool gpu_labels = false;  ///< write the vendor's labels of cards, where no other writer does
  /// The strongest means of memory limits to be used; nothing = the strongest that there is.
  std::optional<model::MemoryLimits> memory_limits;
  bool time_lease = true;  ///< of cards that are shared by time-slice
  /// Containers may start where only the vendor's runtime can give them their cards.
  bool cards_by_runtime = false;

  std::string kubelet_dir = "/var/lib/kubelet";
  std::string plugin_dir = "/var/lib/kubelet/device-plugins";  ///< the same for every kubelet_dir
  std::string cdi_dir = "/var/run/cdi";
  std::string state_dir = "/var/lib/tangram";
  std::string runtime_socket = "/run/containerd/containerd.sock";  ///< empty = none

  MetricsSettings metrics;
  std::chrono::seconds audit_interval{60};
  bool terminate_over_limit = false;  ///< not only report containers above their memory limit
  std::string log_level = "info";
  std::string log_format = "text";
};

/// The settings, or the exit code after help, version or an error was printed.
struct ParsedSettings {
  Settings settings;
  std::optional<int> exit;
};

/// Reads the command line, then TANGRAM_NODE_… variables for flags that it does not contain.
/// @param pool  arguments that come before both: pool_arguments()
[[nodiscard]] ParsedSettings parse_settings(int argc, const char* const* argv,
                                            const std::vector<std::string>& pool = {});

}  // namespace tangram::node
