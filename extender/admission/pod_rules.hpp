#pragma once

#include "extender/admission/pod_request.hpp"
#include "extender/admission/settings.hpp"
#include "kube/pod_manifest.hpp"
#include "model/request_texts.hpp"

#include <string_view>
#include <vector>

namespace tangram::extender {

/// Notes all that is wrong with a pod which mutate() has seen: its request, and what its containers
/// hold for it.
/// @param requested  read_pod_request() of the pod
/// @param counted  see validate()
void check_request(const kube::PodManifest& pod, const PodRequest& requested,
                   const AdmissionSettings& settings, const std::vector<std::string_view>& counted,
                   model::Mistakes& mistakes);

/// Notes all that is wrong with the request to resize a bound pod, whose containers stay as they
/// are: in the counted resources no container may request more than it holds.
/// @param before  read_pod_request() of the pod as it was
void check_resize(const kube::PodManifest& pod, const PodRequest& requested,
                  const PodRequest& before, const AdmissionSettings& settings,
                  const std::vector<std::string_view>& counted, model::Mistakes& mistakes);

/// Notes containers with more of a resource that stands for cards than Kubernetes can add up.
void check_amounts(const kube::PodManifest& pod, const AdmissionSettings& settings,
                   model::Mistakes& mistakes);

/// Notes a container that could see every card of its node.
/// @param placed  see is_exposed()
void check_hidden(const kube::ContainerManifest& container, const AdmissionSettings& settings,
                  bool placed, model::Mistakes& mistakes);
/// The same for all containers of a new pod.
void check_hidden(const kube::PodManifest& pod, const AdmissionSettings& settings,
                  model::Mistakes& mistakes);

/// Notes the variables and annotations that show containers cards that they do not have.
void check_visible_devices(const kube::PodManifest& pod, const PodRequest& requested,
                           model::Mistakes& mistakes);

}  // namespace tangram::extender
