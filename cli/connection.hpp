#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/api.hpp"
#include "kube/rest/rest_config.hpp"

#include <memory>
#include <string>

namespace tangram::cli {

/// Which API server, as the flags say it; what they leave empty is found as kubectl finds it.
struct Target {
  std::string kubeconfig = {};
  std::string context = {};
  std::string server = {};  ///< "http://127.0.0.1:8001" of `kubectl proxy`, instead of a kubeconfig
};

/// A cluster that can be asked.
struct Connection {
  std::unique_ptr<kube::KubeApi> api;
  std::string server;  ///< its URL, for messages
  std::string ns;      ///< of pods that are named without one; never empty
};

/// Reads the kubeconfig; in a pod without one, its service account. Talks to nobody.
/// @param clock  outlives the connection
/// @returns kNotFound, kInvalidArgument  what is wrong, and which flag mends it
Result<Connection> connect(const Target& target, const kube::Environment& environment,
                           const Clock& clock);

/// Where an extender is, by its own URL.
struct ExtenderTarget {
  std::string url = {};      ///< "https://localhost:9898" of `kubectl port-forward`
  std::string ca_file = {};  ///< PEM; empty = the system's authorities
  bool insecure = false;     ///< believe any certificate
};
/// @returns kNotFound, kInvalidArgument, as above
Result<std::unique_ptr<kube::KubeApi>> connect(const ExtenderTarget& target, const Clock& clock);

}  // namespace tangram::cli
