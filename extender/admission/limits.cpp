#include "extender/admission/limits.hpp"

#include "base/quote.hpp"
#include "extender/admission/pod_request.hpp"
#include "extender/admission/translation.hpp"
#include "extender/admission/visible_devices.hpp"
#include "model/annotations.hpp"

#include <algorithm>

namespace tangram::extender {

namespace {

std::string wrong(std::size_t count, std::string_view what, std::size_t most) {
  return "the pod has " + std::to_string(count) + std::string(what) + "; write at most " +
         std::to_string(most);
}

std::string too_many_annotations(const kube::PodManifest& pod) {
  const std::size_t entries = pod.annotations.size() + pod.more_annotations.entries;
  if (entries > kMaxAnnotations) return wrong(entries, " annotations", kMaxAnnotations);
  std::size_t requests = 0;
  std::size_t bytes = pod.more_annotations.bytes;
  for (const auto& [name, value] : pod.annotations) {
    if (!request_key(name).empty()) ++requests;
    bytes += name.size() + value.size();
  }
  if (requests > kMaxRequestAnnotations) {
    return wrong(requests, " annotations tangram.dev/gpu-...", kMaxRequestAnnotations);
  }
  if (bytes > kMaxAnnotationBytes)
    return wrong(bytes, " bytes of annotations", kMaxAnnotationBytes);
  return {};
}

std::string too_long_resource(const kube::ContainerManifest& container) {
  for (const kube::StringMap* list : {&container.limits, &container.requests}) {
    for (const auto& [name, quantity] : *list) {
      if (name.size() <= kMaxResourceName) continue;
      return "container " + quote(container.name) + " has a resource " + quote(name) + " of " +
             std::to_string(name.size()) + " characters; write at most " +
             std::to_string(kMaxResourceName);
    }
  }
  return {};
}

std::string wrong_container(const kube::ContainerManifest& container) {
  const auto kept = std::count_if(container.env.begin(), container.env.end(), sets_visible_devices);
  const std::size_t entries = static_cast<std::size_t>(kept) + container.more_env;
  if (entries <= kMaxVisibleDevices) return too_long_resource(container);
  return "container " + quote(container.name) + " sets " + std::string(kVisibleDevices) + " " +
         std::to_string(entries) + " times; write it once";
}

}  // namespace

const kube::ManifestScope& admission_scope() {
  static constexpr kube::ManifestScope kScope{
      .label =
          [](std::string_view name) {
            return std::find(kTranslatedLabels.begin(), kTranslatedLabels.end(), name) !=
                   kTranslatedLabels.end();
          },
      .selector = [](std::string_view name) { return name == model::kGpuLabel; },
      .variable = [](std::string_view name) { return name == kVisibleDevices; },
      .most_containers = kMaxContainers,
      .most_annotations = kMaxKnownAnnotations,
      .most_annotation_bytes = kMaxAnnotationBytes,
      .most_resources = kMaxResources,
      .most_tolerated = kMaxTolerated,
      .most_variables = kMaxVisibleDevices,
  };
  return kScope;
}

std::string too_large(const kube::PodManifest& pod) {
  const std::size_t containers = pod.containers.size() + pod.more_containers;
  if (containers > kMaxContainers) return wrong(containers, " containers", kMaxContainers);
  std::size_t resources = pod.more_resources;
  for (const kube::ContainerManifest& container : pod.containers) {
    resources += container.limits.size() + container.requests.size();
    if (auto why = wrong_container(container); !why.empty()) return why;
  }
  if (resources > kMaxResources)
    return wrong(resources, " entries in limits and requests", kMaxResources);
  return too_many_annotations(pod);
}

}  // namespace tangram::extender
