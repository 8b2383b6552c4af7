#include "extender/admission/limits.hpp"

#include "base/quote.hpp"
#include "extender/admission/limit_range.hpp"
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

/// In any case: misspelt ones are looked for.
bool is_tangrams(std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return name.size() >= model::kPrefix.size() &&
         std::equal(model::kPrefix.begin(), model::kPrefix.end(), name.begin(),
                    [&](char wanted, char c) { return wanted == lower(c); });
}

std::size_t quantities_of(const kube::PodManifest& pod) {
  std::size_t count = pod.more_quantities;
  for (const kube::ContainerManifest& container : pod.containers) {
    count += container.limits.size() + container.requests.size();
  }
  return count;
}

}  // namespace

const kube::ManifestScope& admission_scope() {
  static constexpr kube::ManifestScope kScope{
      .annotation =
          [](std::string_view name) {
            return is_tangrams(name) || may_be_translated(name) || name == kLimitRangerAnnotation;
          },
      .label =
          [](std::string_view name) {
            return std::find(kTranslatedLabels.begin(), kTranslatedLabels.end(), name) !=
                   kTranslatedLabels.end();
          },
      .selector = [](std::string_view name) { return name == model::kGpuLabel; },
      .variable = [](std::string_view name) { return name == kVisibleDevices; },
      .most_containers = kMaxContainers,
      .most_annotations = kMaxAnnotations,
      .most_quantities = kMaxQuantities,
      .most_variables = kMaxVisibleDevices,
  };
  return kScope;
}

std::string too_many_annotations(const kube::PodManifest& pod) {
  if (pod.more_annotations > 0) {
    return wrong(pod.more_annotations, " annotations that Tangram reads", kMaxAnnotations);
  }
  std::size_t requests = 0;
  std::size_t bytes = 0;
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

std::string too_large(const kube::PodManifest& pod) {
  const std::size_t containers = pod.containers.size() + pod.more_containers;
  if (containers > kMaxContainers) return wrong(containers, " containers", kMaxContainers);
  if (pod.more_quantities > 0) {
    return wrong(quantities_of(pod), " limits and requests", kMaxQuantities);
  }
  for (const kube::ContainerManifest& container : pod.containers) {
    const auto read =
        std::count_if(container.env.begin(), container.env.end(), sets_visible_devices);
    const std::size_t entries = static_cast<std::size_t>(read) + container.more_env;
    if (entries <= kMaxVisibleDevices) continue;
    return "container " + quote(container.name) + " sets " + std::string(kVisibleDevices) + " " +
           std::to_string(entries) + " times; write it once";
  }
  return too_many_annotations(pod);
}

}  // namespace tangram::extender
