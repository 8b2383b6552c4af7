#include "extender/admission/asked.hpp"

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

/// A request for nothing, or why the pod is not looked into.
Result<model::GpuRequest> too_large(const kube::PodManifest& pod) {
  const auto wrong = [](std::size_t count, std::string_view what, std::size_t most) {
    return fail(Errc::kInvalidArgument, "the pod has " + std::to_string(count) + std::string(what) +
                                            "; write at most " + std::to_string(most));
  };
  if (pod.containers.size() > kMaxContainers) {
    return wrong(pod.containers.size(), " containers", kMaxContainers);
  }
  const auto requests =
      std::count_if(pod.annotations.begin(), pod.annotations.end(),
                    [](const auto& annotation) { return !request_key(annotation.first).empty(); });
  if (static_cast<std::size_t>(requests) > kMaxRequestAnnotations) {
    return wrong(static_cast<std::size_t>(requests), " annotations tangram.dev/gpu-...",
                 kMaxRequestAnnotations);
  }
  return model::GpuRequest{};
}

/// By place, not by name: names are not yet known to be different.
void find_askers(Asked& asked) {
  for (const model::ContainerRequest& part : asked.request->containers) {
    const auto named = std::find_if(asked.infos.begin(), asked.infos.end(),
                                    [&](const auto& info) { return info.name == part.container; });
    asked.askers.push_back(asked.containers[static_cast<std::size_t>(named - asked.infos.begin())]);
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

const model::ContainerRequest* Asked::of(const kube::ContainerManifest& container) const {
  const auto found = std::find(askers.begin(), askers.end(), &container);
  if (found == askers.end()) return nullptr;
  return &request->containers[static_cast<std::size_t>(found - askers.begin())];
}

Asked read_asked(const kube::PodManifest& pod, const AdmissionSettings& settings) {
  Asked asked{.translation = {},
              .annotations = {},
              .containers = {},
              .infos = {},
              .request = too_large(pod),
              .askers = {}};
  if (!asked.request) return asked;
  asked.translation = translate(pod, settings.foreign);
  asked.annotations = kube::own_annotations(pod.annotations);
  asked.annotations.merge(kube::own_annotations(asked.translation.annotations));
  // In the order of kube::Pod::containers.
  kube::visit_started(pod.containers, [&](const kube::ContainerManifest& container) {
    asked.containers.push_back(&container);
    asked.infos.push_back({.name = container.name,
                           .slots = slots_of(container),
                           .ordinary_init = container.kind == kube::ContainerKind::kInit});
  });
  asked.request = model::parse_request(asked.annotations, asked.infos, settings.default_isolation);
  if (asked.request) find_askers(asked);
  return asked;
}

}  // namespace tangram::extender
