#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"

#include <string>

/// Where an API server is and how to show who we are.
namespace tangram::kube {

/// A text that is given as it is, or lies in a file that others may replace at any time. At most
/// one of the two is set; neither = there is none.
struct TextOrFile {
  std::string text;
  std::string file;
  [[nodiscard]] bool is_set() const { return !text.empty() || !file.empty(); }
};

/// A plain value; RestApi::create() checks it.
struct RestConfig {
  std::string server;             ///< "https://10.0.0.1:6443", a path may follow
  TextOrFile ca;                  ///< PEM; none = the system's authorities
  TextOrFile client_certificate;  ///< PEM, with its chain
  TextOrFile client_key;          ///< PEM
  TextOrFile token;               ///< sent as "Authorization: Bearer ..."
  std::string tls_server_name;    ///< the name in the server's certificate, if not the URL's
  bool insecure_skip_tls_verify = false;
  std::string ns = {};  ///< the context's namespace, for people's requests; empty = it names none
};

/// The service account of the pod that this process runs in.
/// @param root  where its files are mounted, with a slash at the end
/// @returns kNotFound if this is no pod, or one without a service account
[[nodiscard]] Result<RestConfig> in_cluster_config(
    const Environment& environment = process_environment, const std::string& root = "/");

/// The namespace of this pod's service account. @returns kNotFound outside of a pod
[[nodiscard]] Result<std::string> account_namespace(const std::string& root = "/");

/// Where the kubeconfig is: `path`, else $KUBECONFIG, else ~/.kube/config.
/// @returns kInvalidArgument if $KUBECONFIG names several files: they are not merged
///          kNotFound        if there is neither it nor $HOME
[[nodiscard]] Result<std::string> find_kubeconfig(
    const std::string& path, const Environment& environment = process_environment);

/// One context of a kubeconfig file; "" = its current-context. Paths in it start at its folder.
///
/// What a plain client cannot honour is refused rather than passed over: exec plugins, auth
/// providers, user name and password, impersonation, proxies.
/// @returns kNotFound if the file cannot be read
///          kInvalidArgument, with the file and what to write instead
[[nodiscard]] Result<RestConfig> read_kubeconfig(const std::string& path,
                                                 const std::string& context = "");

}  // namespace tangram::kube
