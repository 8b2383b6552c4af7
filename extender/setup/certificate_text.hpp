#pragma once

#include "base/result.hpp"
#include "extender/setup/authority.hpp"
#include "http/tls/openssl.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Certificates as PEM, and the names in Tangram's own.
namespace tangram::extender {

/// @returns kUnavailable if OpenSSL cannot, for want of memory
Result<std::string> pem_of(X509& certificate);

/// The first certificate of a text. @returns null if there is none
[[nodiscard]] http::tls::CertificatePtr read_certificate(std::string_view pem);

/// @param certificate  not null
[[nodiscard]] Validity validity_of(const X509& certificate);

/// From now on, and a little earlier: another machine's clock may be behind this one's.
[[nodiscard]] Validity valid_for_days(int days, const Clock& clock);

/// kube-scheduler's own name in a cluster, so that tls.client_names can be the same with a
/// certificate of the cluster's CA.
inline constexpr const char* kSchedulerName = "system:kube-scheduler";
inline constexpr const char* kServerName = "tangram-extender";

/// Names of the server's Services in a namespace, and this machine's.
[[nodiscard]] std::vector<std::string> server_hosts(const std::string& ns);

}  // namespace tangram::extender
