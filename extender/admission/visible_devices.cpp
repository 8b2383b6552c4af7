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

bool is_some(const std::string& quantity) {
  const auto read = KubeQuantity::parse(quantity);
  return read && !read->is_zero();
}

bool is_too_much(const std::string& quantity) {
  const auto read = KubeQuantity::parse(quantity);
  return !read || read->units_ceil() > kMostOfAResource;
}

template <class Patterns>
bool matches_one_of(std::string_view resource, const Patterns& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& pattern) { return matches(resource, pattern); });
}

/// The first resource of such a name and quantity; null if there is none.
template <class Wanted>
const kube::StringMap::value_type* first_of(const kube::ContainerManifest& container,
                                            bool (*such)(const std::string& quantity),
                                            const Wanted& wanted) {
  for (const kube::StringMap* list : {&container.limits, &container.requests}) {
    for (const auto& resource : *list) {
      if (wanted(resource.first) && such(resource.second)) return &resource;
    }
  }
  return nullptr;
}

/// Does it stand for a card by itself?
bool is_card(std::string_view name, const std::vector<std::string>& card_resources) {
  return name == model::kSlotResource ||
         (matches_one_of(name, card_resources) && !matches_one_of(name, kAmountResources));
}

bool holds_card(const kube::ContainerManifest& container,
                const std::vector<std::string>& card_resources) {
  return first_of(container, is_some, [&](const std::string& name) {
           return is_card(name, card_resources);
         }) != nullptr;
}

/// Shows no card.
bool harmless(std::string_view value) {
  return value.empty() || value == kNoDevices || value == "none";
}

/// @returns nothing if the entry shows no card that the container may not see
std::optional<std::string_view> problem_of(const std::optional<std::string>& value,
                                           kube::ContainerKind kind, bool has_request) {
  if (has_request) {
    if (value == kNoDevices) return std::nullopt;
    return "could show the container other cards than it requests; remove it";
  }
  if (!value) return R"(cannot be looked into; remove it, or write value: "void")";
  if (harmless(*value)) return std::nullopt;
  if (kind == kube::ContainerKind::kEphemeral) {
    return "would show the container cards that it was not given; remove it, since containers for "
           "debugging cannot have a card";
  }
  return "would show the container cards that it was not given; remove it, and request a share, as "
         R"(in tangram.dev/gpu-fraction: "0.5")";
}

}  // namespace

const kube::StringMap::value_type* other_cards(const kube::ContainerManifest& container,
                                               const std::vector<std::string>& card_resources) {
  return first_of(container, is_some,
                  [&](const std::string& name) { return matches_one_of(name, card_resources); });
}

const kube::StringMap::value_type* too_many_cards(const kube::ContainerManifest& container,
                                                  const std::vector<std::string>& card_resources) {
  return first_of(container, is_too_much,
                  [&](const std::string& name) { return is_card(name, card_resources); });
}

const kube::StringMap::value_type* named_devices(const kube::StringMap& annotations) {
  constexpr std::string_view kDomain = "nvidia.cdi.k8s.io";
  constexpr std::string_view kManagement = "management.nvidia.com/gpu";
  const auto names_any = [&](const kube::StringMap::value_type& annotation) {
    std::string_view key = annotation.first;
    if (!key.starts_with(kDomain)) return false;
    key.remove_prefix(kDomain.size());
    // The plugin gives nothing at all in other namespaces if one device is of that kind.
    return (key.empty() || key.front() == '/') &&
           annotation.second.find(kManagement) == std::string::npos;
  };
  const auto found = std::find_if(annotations.begin(), annotations.end(), names_any);
  return found == annotations.end() ? nullptr : &*found;
}

bool wants_no_devices(const kube::ContainerManifest& container,
                      const std::vector<std::string>& card_resources, bool placed) {
  return std::none_of(container.env.begin(), container.env.end(), sets_visible_devices) &&
         (placed || other_cards(container, card_resources) == nullptr);
}

bool is_exposed(const kube::ContainerManifest& container,
                const std::vector<std::string>& card_resources, bool placed) {
  return std::none_of(container.env.begin(), container.env.end(), sets_visible_devices) &&
         (placed || !holds_card(container, card_resources));
}

std::optional<std::string> wrong_visible_devices(const kube::ContainerManifest& container,
                                                 bool has_request) {
  for (const kube::Variable& variable : container.env) {
    if (!sets_visible_devices(variable)) continue;
    const auto& value = variable.value;
    const auto problem = problem_of(value, container.kind, has_request);
    if (!problem) continue;
    return "container " + quote(container.name) + ": the variable " + std::string(kVisibleDevices) +
           " " + (value ? quote(*value) : "by valueFrom") + " " + std::string(*problem);
  }
  return std::nullopt;
}

}  // namespace tangram::extender
