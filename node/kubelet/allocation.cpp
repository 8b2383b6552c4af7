#include "node/kubelet/allocation.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace tangram::node {
namespace {

constexpr std::string_view kSlotPrefix = "slot-";
constexpr std::string_view kAnnotation = "cdi.k8s.io/tangram";
constexpr std::string_view kVariable = "NVIDIA_VISIBLE_DEVICES";
constexpr std::string_view kNoCard = "void";

constexpr std::array<std::string_view, 3> kPathNames{"cdi-devices", "cdi-annotation", "env"};

std::optional<std::string> unqualified(std::string_view text) {
  if (text.size() <= kCdiKind.size() + 1 || !text.starts_with(kCdiKind) ||
      text[kCdiKind.size()] != '=') {
    return std::nullopt;
  }
  return std::string(text.substr(kCdiKind.size() + 1));
}

std::optional<std::string> unqualified_in(const std::map<std::string, std::string>& values,
                                          std::string_view key) {
  const auto found = values.find(std::string(key));
  return found == values.end() ? std::nullopt : unqualified(found->second);
}

}  // namespace

std::string slot_id(int number) { return std::string(kSlotPrefix) + std::to_string(number); }

std::optional<int> slot_number(std::string_view id) {
  if (!id.starts_with(kSlotPrefix)) return std::nullopt;
  id.remove_prefix(kSlotPrefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (error != std::errc() || end != id.data() + id.size() || number < 0) return std::nullopt;
  return number;
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

AllocationAnswer answer_with(std::string_view name, NamePath path) {
  const std::string qualified = qualified_name(name);
  AllocationAnswer answer;
  answer.env[std::string(kVariable)] = path == NamePath::kEnvironment ? qualified : kNoCard;
  if (path == NamePath::kCdiDevices) answer.cdi_devices = {qualified};
  if (path == NamePath::kCdiAnnotation) answer.annotations[std::string(kAnnotation)] = qualified;
  return answer;
}

std::optional<PassedName> name_in(const AllocationAnswer& answer) {
  for (const std::string& device : answer.cdi_devices) {
    if (auto name = unqualified(device)) return PassedName{std::move(*name), NamePath::kCdiDevices};
  }
  if (auto name = unqualified_in(answer.annotations, kAnnotation)) {
    return PassedName{std::move(*name), NamePath::kCdiAnnotation};
  }
  if (auto name = unqualified_in(answer.env, kVariable)) {
    return PassedName{std::move(*name), NamePath::kEnvironment};
  }
  return std::nullopt;
}

}  // namespace tangram::node
