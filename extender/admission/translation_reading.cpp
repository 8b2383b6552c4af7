#include "extender/admission/translation_reading.hpp"

#include "base/number.hpp"
#include "base/quantity.hpp"
#include "base/quote.hpp"

namespace tangram::extender::translation {

namespace {

/// Nothing if it is no whole number.
std::optional<std::int64_t> whole_quantity(std::string_view text) {
  constexpr KubeQuantity::Nanos kOne = 1'000'000'000;
  const auto quantity = KubeQuantity::parse(text);
  if (!quantity) return std::nullopt;
  const std::int64_t units = quantity->units_ceil();
  if (KubeQuantity(units * kOne) != *quantity) return std::nullopt;
  return units;
}

}  // namespace

std::string resource_text(const kube::ContainerManifest& container, std::string_view name) {
  const std::string* value = container.quantity(name);
  return std::string(name) + " " + quote(value == nullptr ? "" : *value) + " of container " +
         quote(container.name);
}

std::string annotation_text(std::string_view name, std::string_view value) {
  return std::string(name) + " " + quote(value);
}

std::optional<std::int64_t> amount(const kube::ContainerManifest& container, std::string_view name,
                                   std::int64_t least, std::int64_t most, Reading& reading) {
  const std::string* text = container.quantity(name);
  if (text == nullptr) return std::nullopt;
  const auto value = whole_quantity(*text);
  if (!value || *value < least || *value > most) {
    reading.refuse(resource_text(container, name) + " is not a whole number from " +
                   std::to_string(least) + " to " + std::to_string(most) + "; write such a number");
    return std::nullopt;
  }
  const std::string* request = kube::find(container.requests, name);
  if (request != nullptr && whole_quantity(*request) != value) {
    reading.refuse(resource_text(container, name) + " is its limit, and its request is " +
                   quote(*request) + "; write the same for both, or the limit alone");
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t least,
                                         std::int64_t most) {
  const auto value = parse_number<std::int64_t>(text);
  if (!value || *value < least || *value > most) return std::nullopt;
  return value;
}

bool can_hold_cards(const kube::ContainerManifest& container, const std::string& source,
                    Reading& reading) {
  if (container.kind != kube::ContainerKind::kInit) return true;
  reading.refuse(
      source +
      " is for an init container, and those cannot hold a card after they end; do that work "
      "in an app container, or make it a sidecar with restartPolicy: Always");
  return false;
}

}  // namespace tangram::extender::translation
