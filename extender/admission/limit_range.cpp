#include "extender/admission/limit_range.hpp"

#include <algorithm>

namespace tangram::extender {

namespace {

constexpr std::string_view kAnnotation = "kubernetes.io/limit-ranger";
constexpr std::string_view kBegin = "LimitRanger plugin set: ";
constexpr std::string_view kBetween = "; ";

/// One of "cpu, tangram.dev/gpu-milli limit for container side".
bool names(std::string_view part, std::string_view resource, std::string_view container) {
  const std::size_t end = part.find(" for ");
  if (end == std::string_view::npos) return false;
  const std::string_view whom = part.substr(end);
  if (whom.substr(whom.rfind(' ') + 1) != container) return false;
  const std::size_t list_end = part.substr(0, end).rfind(' ');  // before "limit" or "request"
  std::string_view list = part.substr(0, list_end);
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(", "));
    if (name == resource) return true;
    list.remove_prefix(std::min(name.size() + 2, list.size()));
  }
  return false;
}

}  // namespace

bool limit_range_gave(const kube::PodManifest& pod, const kube::ContainerManifest& container,
                      std::string_view resource) {
  const auto found = pod.annotations.find(kAnnotation);
  if (found == pod.annotations.end() || !found->second.starts_with(kBegin)) return false;
  std::string_view rest = found->second;
  rest.remove_prefix(kBegin.size());
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(kBetween));
    if (names(part, resource, container.name)) return true;
    rest.remove_prefix(std::min(part.size() + kBetween.size(), rest.size()));
  }
  return false;
}

}  // namespace tangram::extender
