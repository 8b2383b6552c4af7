#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/api.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tangram::extender {

/// Until a written Secret or webhook configuration is in force everywhere. kubelet looks at a pod's
/// Secrets every 60 to 90 s and the extender at its files every 5 s. A kubelet that cannot reach
/// the API server for longer has lost its node's readiness by then, and its pods their Service.
inline constexpr std::chrono::minutes kSettling{3};

/// The longest that can be ordered: what takes longer does not settle.
inline constexpr std::chrono::hours kLongestSettling{1};

/// The options of `tangram-extender certificates --renew`.
struct RenewalOrder {
  std::string ns = "tangram-system";
  std::string server_secret = "tangram-tls";
  std::string scheduler_secret = "tangram-scheduler-tls";
  /// Webhook configurations, as "mutatingwebhookconfigurations/00-tangram".
  std::vector<std::string> registrations = {};
  /// The Deployment of kube-scheduler, which reads its authorities only at start; "" = none.
  std::string restart = {};
  int days = 30;              ///< how long new certificates are valid
  bool only_missing = false;  ///< create Secrets that are missing, and do nothing else
  /// How long to wait until a written Secret or webhook configuration is in force everywhere.
  std::chrono::seconds settling = kSettling;
};

/// Where the certificates are renewed, and how time passes there.
struct RenewalPlace {
  kube::KubeApi& api;
  const Clock& clock;
  std::function<void(std::chrono::milliseconds)> pause;
};

/// Renews the certificates of server and kube-scheduler where a third of their validity has passed,
/// under a new authority whose key is in this process's memory alone. Repairs what does not trust
/// the authority in force.
///
/// A certificate is replaced only after all its verifiers trust the new authority, and they trust
/// the former one until the next renewal. So whatever certificate is in force verifies at every
/// moment, and also if this ends between any two writes: the next call continues. Two calls at a
/// time do no harm, since a write fails if another process wrote the object meanwhile.
/// @returns what was done, for people; kInvalidArgument for an impossible order or an object that
///          cannot be read, kNotFound if a Secret is missing, kConflict if another process wrote
///          meanwhile, kUnavailable and kTimeout if the API server did not answer, or the restart
///          took too long: call again
Result<std::string> renew_certificates(const RenewalOrder& order, const RenewalPlace& place);

}  // namespace tangram::extender
