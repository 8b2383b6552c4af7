#include "extender/admission/validate.hpp"

#include "base/quote.hpp"
#include "extender/admission/grant_rules.hpp"
#include "extender/admission/mutate.hpp"
#include "extender/admission/pod_rules.hpp"
#include "extender/admission/visible_devices.hpp"

namespace tangram::extender {

namespace {

using Operation = AdmissionRequest::Operation;
using Subject = AdmissionRequest::Subject;
using Why = AdmissionAnswer::Why;

AdmissionAnswer refuse(std::string_view pod, std::string_view what, Why why) {
  AdmissionAnswer answer;
  answer.refusal = "pod " + (pod.empty() ? "without a name" : quote_if_needed(pod)) + ": ";
  answer.refusal += what;
  answer.why = why;
  return answer;
}

AdmissionAnswer answer_of(const kube::PodManifest& pod, const model::Mistakes& mistakes) {
  return mistakes.any() ? refuse(pod.name, mistakes.message(), Why::kMistake) : AdmissionAnswer{};
}

AdmissionAnswer judge_new(const AdmissionRequest& request, const AdmissionSettings& settings,
                          const std::vector<std::string_view>& counted) {
  const kube::PodManifest& pod = *request.pod;
  model::Mistakes mistakes;
  const auto grant = grant_on_new_pod(pod);
  if (grant && request.user != settings.extender_user) mistakes.add(*grant);
  const Asked asked = read_asked(pod, settings);
  check_request(pod, asked, settings, counted, mistakes);
  if (!settings.allow_visible_devices) check_visible_devices(pod, asked, mistakes);
  return answer_of(pod, mistakes);
}

AdmissionAnswer judge_new_request(const kube::PodManifest& pod, const AdmissionSettings& settings,
                                  const std::vector<std::string_view>& counted) {
  model::Mistakes mistakes;
  check_request(pod, read_asked(pod, settings), settings, counted, mistakes);
  if (!mistakes.any()) return {};
  return refuse(pod.name,
                mistakes.message() +
                    "; the containers of a pod that exists stay as they are, so delete it and "
                    "create it with another request",
                Why::kMistake);
}

AdmissionAnswer judge_added_containers(const kube::PodManifest& pod,
                                       const kube::PodManifest& old_pod,
                                       const AdmissionSettings& settings) {
  if (settings.allow_visible_devices) return {};
  model::Mistakes mistakes;
  for (const kube::ContainerManifest* container : added_ephemerals(pod, old_pod)) {
    if (const auto mistake = wrong_visible_devices(*container, false)) mistakes.add(*mistake);
  }
  return answer_of(pod, mistakes);
}

AdmissionAnswer judge_change(const AdmissionRequest& request, const AdmissionSettings& settings,
                             const std::vector<std::string_view>& counted) {
  const kube::PodManifest& pod = *request.pod;
  const kube::PodManifest& old_pod = *request.old_pod;
  const auto grant = grant_changed(pod, old_pod);
  if (grant && request.user != settings.extender_user) {
    return refuse(pod.name, *grant, Why::kForbidden);
  }
  const std::string changes = changed_requests(pod, old_pod);
  const std::string& node = old_pod.node.empty() ? pod.node : old_pod.node;
  if (!changes.empty() && !node.empty()) {
    return refuse(pod.name,
                  changes + ": what a pod asks for cannot change once it is bound, here to node " +
                      quote_if_needed(node) + "; delete it and create it with the new request",
                  Why::kForbidden);
  }
  if (!changes.empty()) return judge_new_request(pod, settings, counted);
  if (request.subject != Subject::kEphemeralContainers) return {};
  return judge_added_containers(pod, old_pod, settings);
}

}  // namespace

AdmissionAnswer validate(const AdmissionRequest& request, const AdmissionSettings& settings,
                         const std::vector<std::string_view>& counted) {
  if (request.subject == Subject::kBinding) {
    if (request.user == settings.extender_user) return {};
    const auto wrong = binding_speaks_for_tangram(request.binding_annotations);
    return wrong ? refuse(request.binding_name, *wrong, Why::kForbidden) : AdmissionAnswer{};
  }
  if (!request.pod) return {};
  if (request.operation == Operation::kUpdate) return judge_change(request, settings, counted);
  const bool new_pod = request.operation == Operation::kCreate && request.subject == Subject::kPod;
  return new_pod ? judge_new(request, settings, counted) : AdmissionAnswer{};
}

}  // namespace tangram::extender
