#include "extender/admission/limits.hpp"

#include "base/quote.hpp"
#include "extender/admission/pod_request.hpp"
#include "extender/admission/visible_devices.hpp"

#include <algorithm>

namespace tangram::extender {

namespace {

std::string wrong(std::size_t count, std::string_view what, std::size_t most) {
  return "the pod has " + std::to_string(count) + std::string(what) + "; write at most " +
         std::to_string(most);
}

std::string too_many_annotations(const kube::StringMap& annotations) {
  if (annotations.size() > kMaxAnnotations)
    return wrong(annotations.size(), " annotations", kMaxAnnotations);
  std::size_t requests = 0;
  std::size_t bytes = 0;
  for (const auto& [name, value] : annotations) {
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

}  // namespace

std::string too_large(const kube::PodManifest& pod) {
  const std::size_t containers = pod.containers.size() + pod.more_containers;
  if (containers > kMaxContainers) return wrong(containers, " containers", kMaxContainers);
  std::size_t resources = 0;
  for (const kube::ContainerManifest& container : pod.containers) {
    resources += container.limits.size() + container.requests.size();
    const auto entries = static_cast<std::size_t>(
        std::count_if(container.env.begin(), container.env.end(), sets_visible_devices));
    if (entries <= kMaxVisibleDevices) continue;
    return "container " + quote(container.name) + " sets " + std::string(kVisibleDevices) + " " +
           std::to_string(entries) + " times; write it once";
  }
  if (resources > kMaxResources)
    return wrong(resources, " entries in limits and requests", kMaxResources);
  return too_many_annotations(pod.annotations);
}

}  // namespace tangram::extender
