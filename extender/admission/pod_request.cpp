#include "extender/admission/pod_request.hpp"

#include "base/quantity.hpp"
#include "model/grant.hpp"

#include <algorithm>

namespace tangram::extender {

namespace {

std::int64_t slots_of(const kube::ContainerManifest& container) {
  const std::string* written = container.quantity(model::kSlotResource);
  if (written == nullptr) return 0;
  const auto quantity = KubeQuantity::parse(*written);
  return quantity ? quantity->units_ceil() : 0;
}

/// By place, not by name: names are not yet known to be different.
void find_requesters(PodRequest& requested) {
  for (const model::ContainerRequest& part : requested.request->containers) {
    const auto named = std::find_if(requested.infos.begin(), requested.infos.end(),
                                    [&](const auto& info) { return info.name == part.container; });
    requested.requesters.push_back(
        requested.containers[static_cast<std::size_t>(named - requested.infos.begin())]);
  }
}

}  // namespace

std::string_view request_key(std::string_view annotation) {
  if (annotation == model::kGrantAnnotation) return {};
  const std::string_view key = model::key_of(annotation);
  return key.starts_with(model::kRequestPrefix) ? key : std::string_view();
}

bool same_quantity(const std::string& a, const std::string& b) {
  const auto first = KubeQuantity::parse(a);
  const auto second = KubeQuantity::parse(b);
  return first && second ? *first == *second : a == b;
}

const model::ContainerRequest* PodRequest::of(const kube::ContainerManifest& container) const {
  const auto found = std::find(requesters.begin(), requesters.end(), &container);
  if (found == requesters.end()) return nullptr;
  return &request->containers[static_cast<std::size_t>(found - requesters.begin())];
}

PodRequest read_pod_request(const kube::PodManifest& pod, const AdmissionSettings& settings) {
  PodRequest requested{.request = model::GpuRequest{}};
  requested.translation = translate(pod, settings.other_systems, settings.requests.max_burst);
  requested.annotations = kube::own_annotations(pod.annotations);
  requested.annotations.merge(kube::own_annotations(requested.translation.annotations));
  // In the order of kube::Pod::containers.
  kube::visit_started(pod.containers, [&](const kube::ContainerManifest& container) {
    requested.containers.push_back(&container);
    requested.infos.push_back({.name = container.name,
                               .slots = slots_of(container),
                               .ordinary_init = container.kind == kube::ContainerKind::kInit});
  });
  requested.request =
      model::parse_request(requested.annotations, requested.infos, settings.requests);
  if (requested.request) find_requesters(requested);
  return requested;
}

}  // namespace tangram::extender
