#include "extender/admission/visible_devices.hpp"

#include "base/quote.hpp"
#include "model/request.hpp"

namespace tangram::extender {

namespace {

bool is_other_gpu(std::string_view resource) {
  if (resource.starts_with(model::kPrefix)) return false;
  if (resource.find('/') == std::string_view::npos) return false;
  const auto holds = [&](std::string_view part) {
    return resource.find(part) != std::string_view::npos;
  };
  return resource.starts_with("nvidia.com/") || holds("gpu") || holds("cuda");
}

/// Shows no card.
bool harmless(std::string_view value) {
  return value.empty() || value == kNoDevices || value == "none";
}

}  // namespace

std::string_view other_gpu_resource(const AdmittedContainer& container) {
  for (const Texts* list : {&container.limits, &container.requests}) {
    for (const auto& [name, quantity] : *list) {
      if (is_other_gpu(name)) return name;
    }
  }
  return {};
}

bool wants_no_devices(const AdmittedContainer& container) {
  return container.visible_devices.empty() && other_gpu_resource(container).empty();
}

std::optional<std::string> wrong_visible_devices(const AdmittedContainer& container, bool asks) {
  for (const auto& value : container.visible_devices) {
    const std::string what = "container " + quote(container.name) + ": the variable " +
                             std::string(kVisibleDevices) + " " +
                             (value ? quote(*value) : "by valueFrom") + " ";
    if (asks) {
      return what + "would hide the card that the container asks for, or show it others; remove it";
    }
    if (!value) return what + R"(cannot be looked into; remove it, or write value: "void")";
    if (harmless(*value)) continue;
    const bool debugs = container.kind == AdmittedContainer::Kind::kEphemeral;
    return what + "would show the container cards that it was not given; remove it" +
           (debugs ? ", since containers for debugging cannot have a card"
                   : R"(, and ask for a share, as in tangram.dev/gpu-fraction: "0.5")");
  }
  return std::nullopt;
}

}  // namespace tangram::extender
