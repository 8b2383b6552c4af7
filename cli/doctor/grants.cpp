#include "cli/doctor/checks.hpp"
#include "cli/format.hpp"
#include "model/grant_reading.hpp"

namespace tangram::cli {

void check_grants(const Examination& examination, const Cluster& cluster,
                  const ClusterSettings& settings) {
  constexpr const char* kSubject = "grants";
  if (!settings.unchecked.empty()) {
    return examination.warn(kSubject, "signatures were not checked: " + settings.unchecked,
                            "the extender's ConfigMap and the public keys, ConfigMap " +
                                std::string(kGrantKeysName) +
                                ", must exist and be readable: docs/signing.md, and the "
                                "ClusterRole " +
                                kDoctorRole + " of deploy/cli/rbac.yaml");
  }
  if (!settings.keys || settings.config->grants.signing_key.empty()) return;
  std::size_t granted = 0;
  std::vector<std::string> unsigned_ones;
  for (const GpuPod& gpu : cluster.pods()) {
    if (gpu.recorded.allocation.containers.empty()) continue;
    ++granted;
    if (!model::is_known_key(gpu.recorded.grant_key)) {
      unsigned_ones.push_back(gpu.pod.full_name());
    }
  }
  if (unsigned_ones.empty()) {
    return examination.ok(kSubject, counted(granted, "grant") + ", signed by known keys");
  }
  examination.warn(kSubject,
                   std::to_string(unsigned_ones.size()) + " of " + std::to_string(granted) +
                       " are not signed by a known key: " + some_of(unsigned_ones),
                   "they count all the same; if the extender signed already when these pods were "
                   "bound, somebody else wrote the grants: delete the pods and create them again, "
                   "and see docs/signing.md");
}

}  // namespace tangram::cli
