#include "extender/admission/visible_devices.hpp"

#include "base/quantity.hpp"
#include "base/quote.hpp"
#include "model/annotations.hpp"

#include <algorithm>

namespace tangram::extender {

namespace {

bool matches(std::string_view resource, std::string_view pattern) {
  if (!pattern.ends_with('*')) return resource == pattern;
  pattern.remove_suffix(1);
  return resource.starts_with(pattern);
}

bool is_zero(const std::string& quantity) {
  const auto read = KubeQuantity::parse(quantity);
  return read && *read == KubeQuantity(0);
}

/// Shows no card.
bool harmless(std::string_view value) {
  return value.empty() || value == kNoDevices || value == "none";
}

}  // namespace

const kube::StringMap::value_type* other_cards(const kube::ContainerManifest& container,
                                               const std::vector<std::string>& card_resources) {
  const auto is_card = [&](const kube::StringMap::value_type& resource) {
    return std::any_of(card_resources.begin(), card_resources.end(),
                       [&](const auto& pattern) { return matches(resource.first, pattern); });
  };
  for (const kube::StringMap* list : {&container.limits, &container.requests}) {
    for (const auto& resource : *list) {
      if (is_card(resource) && !is_zero(resource.second)) return &resource;
    }
  }
  return nullptr;
}

bool wants_no_devices(const kube::ContainerManifest& container,
                      const std::vector<std::string>& card_resources, bool placed) {
  return std::none_of(container.env.begin(), container.env.end(), sets_visible_devices) &&
         (placed || other_cards(container, card_resources) == nullptr);
}

bool is_exposed(const kube::ContainerManifest& container,
                const std::vector<std::string>& card_resources, bool placed) {
  const std::string* slots = container.quantity(model::kSlotResource);
  const bool has_slot = slots != nullptr && !is_zero(*slots);
  return (placed || !has_slot) && wants_no_devices(container, card_resources, placed);
}

std::optional<std::string> wrong_visible_devices(const kube::ContainerManifest& container,
                                                 bool has_request) {
  for (const kube::Variable& variable : container.env) {
    if (!sets_visible_devices(variable)) continue;
    const auto& value = variable.value;
    if (has_request && value == kNoDevices) continue;
    const std::string what = "container " + quote(container.name) + ": the variable " +
                             std::string(kVisibleDevices) + " " +
                             (value ? quote(*value) : "by valueFrom") + " ";
    if (has_request) {
      return what + "could show the container other cards than it requests; remove it";
    }
    if (!value) return what + R"(cannot be looked into; remove it, or write value: "void")";
    if (harmless(*value)) continue;
    const bool debugs = container.kind == kube::ContainerKind::kEphemeral;
    return what + "would show the container cards that it was not given; remove it" +
           (debugs ? ", since containers for debugging cannot have a card"
                   : R"(, and request a share, as in tangram.dev/gpu-fraction: "0.5")");
  }
  return std::nullopt;
}

}  // namespace tangram::extender
