#include "node/kubelet/allocate_response.hpp"

#include "base/number.hpp"

#include <array>
#include <utility>

namespace tangram::node {
namespace {

constexpr std::string_view kSlotPrefix = "slot-";
constexpr std::string_view kAnnotation = "cdi.k8s.io/tangram";

constexpr std::array<std::string_view, 3> kPathNames{"cdi-devices", "cdi-annotation", "env"};

std::optional<std::string> unqualified(std::string_view text) {
  const std::string prefix = qualified_name("");
  if (!text.starts_with(prefix) || text == prefix) return std::nullopt;
  return std::string(text.substr(prefix.size()));
}

}  // namespace

std::string slot_id(int number) { return std::string(kSlotPrefix) + std::to_string(number); }

std::optional<int> slot_number(std::string_view id) {
  if (!id.starts_with(kSlotPrefix)) return std::nullopt;
  id.remove_prefix(kSlotPrefix.size());
  const auto number = parse_number<int>(id);
  return number && *number >= 0 ? number : std::nullopt;
}

std::string qualified_name(std::string_view name) {
  return std::string(kCdiKind) + "=" + std::string(name);
}

std::string_view to_string(NamePath path) { return kPathNames.at(static_cast<std::size_t>(path)); }

std::optional<NamePath> parse_name_path(std::string_view text) {
  for (std::size_t i = 0; i < kPathNames.size(); ++i) {
    if (kPathNames.at(i) == text) return static_cast<NamePath>(i);
  }
  return std::nullopt;
}

AllocateResponse allocate_response(std::string_view name, NamePath path,
                                   const VendorRuntime& runtime) {
  const std::string qualified = qualified_name(name);
  AllocateResponse response;
  response.env[std::string(runtime.variable)] =
      path == NamePath::kEnvironment ? qualified : runtime.no_card;
  if (path == NamePath::kCdiDevices) response.cdi_devices = {qualified};
  if (path == NamePath::kCdiAnnotation) response.annotations[std::string(kAnnotation)] = qualified;
  return response;
}

std::optional<PassedName> name_in(const AllocateResponse& response) {
  for (const std::string& device : response.cdi_devices) {
    if (auto name = unqualified(device)) return PassedName{std::move(*name), NamePath::kCdiDevices};
  }
  for (const auto& [path, values] : {std::pair{NamePath::kCdiAnnotation, &response.annotations},
                                     std::pair{NamePath::kEnvironment, &response.env}}) {
    for (const auto& [key, value] : *values) {
      if (auto name = unqualified(value)) return PassedName{std::move(*name), path};
    }
  }
  return std::nullopt;
}

}  // namespace tangram::node
