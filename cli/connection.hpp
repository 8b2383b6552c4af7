#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/api.hpp"
#include "kube/rest/rest_config.hpp"

#include <memory>
#include <string>

namespace tangram::cli {

/// Which API server, from the flags; empty ones are found as kubectl finds them.
struct Target {
  std::string kubeconfig = {};
  std::string context = {};
  std::string server = {};  ///< "http://127.0.0.1:8001" of `kubectl proxy`, instead of a kubeconfig
};

/// For a command that is printed: " --context 'a b'"; "" if none is given.
[[nodiscard]] std::string flags_of(const Target& target);

/// A connection to a cluster.
struct Connection {
  std::unique_ptr<kube::KubeApi> api;
  std::string server;  ///< its URL, for messages
  std::string ns;      ///< the default of pods; never empty
};

/// Reads the kubeconfig, or without one the service account of this pod. Sends no request.
/// @param clock  outlives the connection
/// @returns kNotFound, kInvalidArgument  what is wrong, and which flag helps
Result<Connection> connect(const Target& target, const Environment& environment,
                           const Clock& clock);

/// An extender's own URL.
struct ExtenderTarget {
  std::string url = {};      ///< "https://localhost:9898" of `kubectl port-forward`
  std::string ca_file = {};  ///< PEM; empty = the system's CAs
  bool insecure = false;     ///< accept any certificate
};
/// @returns kNotFound, kInvalidArgument
Result<std::unique_ptr<kube::KubeApi>> connect(const ExtenderTarget& target, const Clock& clock);

}  // namespace tangram::cli
