#include "extender/admission/limit_range.hpp"

#include "model/annotations.hpp"

#include <algorithm>

namespace tangram::extender {

namespace {

constexpr std::string_view kAnnotation = "kubernetes.io/limit-ranger";
constexpr std::string_view kBegin = "LimitRanger plugin set: ";

/// Cuts off what stands before `separator`, or all if there is none.
std::string_view next_part(std::string_view& rest, std::string_view separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + separator.size(), rest.size()));
  return part;
}

}  // namespace

LimitRangeGifts::LimitRangeGifts(const kube::PodManifest& pod) {
  const std::string* written = kube::find(pod.annotations, kAnnotation);
  if (written == nullptr || !written->starts_with(kBegin)) return;
  std::string_view rest = std::string_view(*written).substr(kBegin.size());
  while (!rest.empty()) read(next_part(rest, "; "));
}

/// One of "cpu, tangram.dev/gpu-milli limit for container side".
void LimitRangeGifts::read(std::string_view part) {
  const std::size_t end = part.find(" for ");
  if (end == std::string_view::npos) return;
  const std::string_view container = part.substr(part.rfind(' ') + 1);
  const std::size_t list_end = part.substr(0, end).rfind(' ');  // before "limit" or "request"
  std::string_view list = part.substr(0, list_end);
  const auto& aggregates = model::kAggregateResources;
  while (!list.empty()) {
    const auto* found = std::find(aggregates.begin(), aggregates.end(), next_part(list, ", "));
    if (found != aggregates.end()) gifts_.emplace(container, *found);
  }
}

bool LimitRangeGifts::gave(std::string_view container, std::string_view aggregate) const {
  return gifts_.contains({container, aggregate});
}

}  // namespace tangram::extender
