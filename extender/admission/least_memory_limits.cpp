#include "extender/admission/least_memory_limits.hpp"

#include "base/spelling.hpp"
#include "extender/admission/json_patch.hpp"
#include "extender/admission/limits.hpp"
#include "extender/admission/pod_request.hpp"

#include <algorithm>
#include <span>
#include <string>

namespace tangram::extender {

namespace {

using model::MemoryLimits;

bool asks_for_shares(const model::GpuRequest& request) {
  return std::any_of(request.containers.begin(), request.containers.end(),
                     [](const auto& container) { return !container.share.whole(); });
}

/// "library or driver"
std::string at_least(MemoryLimits least) {
  return alternatives(
      std::span(model::kMemoryLimitsNames).subspan(static_cast<std::size_t>(least)));
}

}  // namespace

AdmissionResponse require_memory_limits(const kube::PodManifest& pod,
                                        const AdmissionSettings& settings, MemoryLimits least) {
  if (const std::string why = too_large(pod); !why.empty()) return refuse(pod.name, why);
  const PodRequest requested = read_pod_request(pod, settings);
  if (requested.is_wrong() || !asks_for_shares(*requested.request)) return {};
  const MemoryLimits written = requested.request->memory_limits;
  if (written >= least) return {};
  const std::string name = model::full_name(model::kMemoryLimitsKey);
  if (written != MemoryLimits::kNone) {
    return refuse(pod.name,
                  name + ": " + std::string(to_string(written)) +
                      " is weaker than this namespace requires; write " + at_least(least),
                  AdmissionResponse::Why::kForbidden);
  }
  JsonPatch patch;
  patch.edit_map("/metadata/annotations", pod.annotations, {{name, std::string(to_string(least))}});
  AdmissionResponse answer;
  answer.patch = patch.text();
  return answer;
}

}  // namespace tangram::extender
