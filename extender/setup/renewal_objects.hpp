#pragma once

#include "extender/setup/authority.hpp"
#include "extender/setup/ca_bundle.hpp"
#include "kube/api.hpp"
#include "kube/json_doc.hpp"

#include <cstdint>
#include <string>

/// The objects that certificates are renewed in. Each write names the version that was read last:
/// if anybody else wrote the object meanwhile, it fails with kConflict and nothing changes.
///
/// All calls return kNotFound for an object that is not there, kConflict as above,
/// kInvalidArgument for another refusal, kUnavailable and kTimeout as KubeApi does.
namespace tangram::extender {

/// A Secret with ca.crt, tls.crt and tls.key.
struct TlsSecret {
  std::string path;
  std::string version;
  CaBundle authorities;
  std::string certificate;  ///< PEM; "" = there is none
};
Result<TlsSecret> read_secret(kube::KubeApi& api, const std::string& path);
Result<void> create_secret(kube::KubeApi& api, const std::string& path, const CaBundle& authorities,
                           const CertificateAndKey& certificate);
/// @param certificate  null = it stays
Result<void> write_secret(kube::KubeApi& api, TlsSecret& secret, const CaBundle& authorities,
                          const CertificateAndKey* certificate);

/// A webhook configuration: by its caBundle the API server verifies the webhook.
struct Registration {
  std::string path;
  kube::JsonDoc object;
  CaBundle authorities;         ///< of all its webhooks
  CaBundle common_authorities;  ///< those that each of its webhooks has
};
Result<Registration> read_registration(kube::KubeApi& api, const std::string& path);
Result<void> write_registration(kube::KubeApi& api, Registration& registration,
                                const CaBundle& authorities);

/// Whether a Deployment's pods all are of its latest template and available.
Result<bool> is_rolled_out(kube::KubeApi& api, const std::string& path);
/// Replaces a Deployment's pods if they were started under another mark, an annotation of theirs.
/// @returns whether they are being replaced
Result<bool> restart(kube::KubeApi& api, const std::string& path, const std::string& mark);

}  // namespace tangram::extender
