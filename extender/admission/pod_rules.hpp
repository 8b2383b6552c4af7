#pragma once

#include "extender/admission/asked.hpp"
#include "extender/admission/settings.hpp"
#include "kube/pod_manifest.hpp"
#include "model/request_texts.hpp"

#include <string_view>
#include <vector>

namespace tangram::extender {

/// Notes all that is wrong with a pod which mutate() has seen: its request, and what its containers
/// hold for it.
/// @param asked  what read_asked() says of the pod
/// @param counted  see validate()
void check_request(const kube::PodManifest& pod, const Asked& asked,
                   const AdmissionSettings& settings, const std::vector<std::string_view>& counted,
                   model::Mistakes& mistakes);

/// Notes the variables that show containers cards which nobody gave them.
void check_visible_devices(const kube::PodManifest& pod, const Asked& asked,
                           model::Mistakes& mistakes);

}  // namespace tangram::extender
