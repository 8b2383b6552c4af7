#include "node/container/runtime_check.hpp"

#include "base/quote.hpp"

namespace tangram::node {

Result<void> check_runtime(const RuntimeConfig& config, NamePath path, bool names_class,
                           const VendorRuntime& vendor) {
  if (path != NamePath::kEnvironment) {
    if (config.cdi.value_or(true)) return {};
    return fail(Errc::kUnavailable,
                "CDI is off in the node's container runtime, and the container would start without "
                "its card: set enable_cdi = true in containerd's configuration, under "
                "[plugins.\"io.containerd.cri.v1.runtime\"], in containerd 1.7 under "
                "[plugins.\"io.containerd.grpc.v1.cri\"], and restart containerd");
  }
  if (names_class || !config.default_program || vendor.program.empty()) return {};
  if (config.default_program->find(vendor.program) != std::string::npos) return {};
  return fail(Errc::kUnavailable,
              "the agent passes the card in " + std::string(vendor.variable) +
                  " (--device-ids-by=env), which only " + std::string(vendor.program) +
                  " reads, but the node's default runtime is " + quote(*config.default_program) +
                  ", and the pod names no RuntimeClass; make " + std::string(vendor.program) +
                  " the default, name its RuntimeClass in the pod, or set enable_cdi = true in "
                  "containerd's configuration and leave --device-ids-by out");
}

}  // namespace tangram::node
