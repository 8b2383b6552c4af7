#include "extender/admission/validate.hpp"

#include "base/quote.hpp"
#include "extender/admission/grant_rules.hpp"
#include "extender/admission/limits.hpp"
#include "extender/admission/mutate.hpp"
#include "extender/admission/pod_rules.hpp"
#include "extender/admission/visible_devices.hpp"
#include "model/resize_keys.hpp"

namespace tangram::extender {

namespace {

using Operation = AdmissionRequest::Operation;
using Subject = AdmissionRequest::Subject;
using Why = AdmissionResponse::Why;

/// "tangram.dev/gpu-fraction, ... and tangram.dev/gpu-compute-limit".
std::string resize_names() {
  std::string names;
  for (const std::string_view key : model::kResizeKeys) {
    if (!names.empty()) names += key == model::kResizeKeys.back() ? " and " : ", ";
    names += model::full_name(key);
  }
  return names;
}

AdmissionResponse answer_of(const kube::PodManifest& pod, const model::Mistakes& mistakes) {
  return mistakes.any() ? refuse(pod.name, mistakes.message()) : AdmissionResponse{};
}

AdmissionResponse check_new_pod(const AdmissionRequest& request, const AdmissionSettings& settings,
                                const Checks& checks) {
  const kube::PodManifest& pod = *request.pod;
  if (const std::string why = too_large(pod); !why.empty()) return refuse(pod.name, why);
  model::Mistakes mistakes;
  const auto grant = grant_on_new_pod(pod);
  if (grant && request.user != settings.extender_user) mistakes.add(*grant);
  const PodRequest requested = read_pod_request(pod, settings);
  check_request(pod, requested, settings, checks.counted, mistakes);
  if (!settings.allow_visible_devices) check_visible_devices(pod, requested, mistakes);
  check_amounts(pod, settings, mistakes);
  if (checks.hidden) check_hidden(pod, settings, mistakes);
  return answer_of(pod, mistakes);
}

AdmissionResponse check_new_request(const kube::PodManifest& pod, const AdmissionSettings& settings,
                                    const Checks& checks) {
  if (const std::string why = too_large(pod); !why.empty()) return refuse(pod.name, why);
  model::Mistakes mistakes;
  check_request(pod, read_pod_request(pod, settings), settings, checks.counted, mistakes);
  if (!mistakes.any()) return {};
  return refuse(pod.name,
                mistakes.message() +
                    "; the containers of a pod that exists stay as they are, so delete it and "
                    "create it with another request");
}

/// Of a bound pod, whose request changes.
AdmissionResponse check_resize_request(const AdmissionRequest& request,
                                       const ChangedRequests& changes,
                                       const AdmissionSettings& settings, const Checks& checks) {
  const kube::PodManifest& pod = *request.pod;
  const kube::PodManifest& old_pod = *request.old_pod;
  const auto forbid = [&](const std::string& what) {
    return refuse(pod.name, what, Why::kForbidden);
  };
  if (!changes.fixed.empty()) {
    return forbid(changes.fixed + ": once a pod is bound, here to node " +
                  quote_if_needed(old_pod.node.empty() ? pod.node : old_pod.node) + ", only " +
                  resize_names() +
                  " can change, which resizes it; delete it and create it with the new request");
  }
  if (request.subject != Subject::kPod) {
    return forbid(changes.all + ": a resize is requested of the pod itself, not of a part of it");
  }
  if (!old_pod.annotations.contains(model::kGrantAnnotation)) {
    return forbid(
        changes.all +
        ": the pod was bound without a grant of cards, so it cannot be resized; delete it "
        "and create it with the new request");
  }
  if (const std::string why = too_large(pod); !why.empty()) return refuse(pod.name, why);
  model::Mistakes mistakes;
  AdmissionSettings before = settings;
  before.requests.max_burst = 0;  // more may have been allowed when it was created
  check_resize(pod, read_pod_request(pod, settings), read_pod_request(old_pod, before), settings,
               checks.counted, mistakes);
  return answer_of(pod, mistakes);
}

AdmissionResponse check_added_containers(const kube::PodManifest& pod,
                                         const kube::PodManifest& old_pod,
                                         const AdmissionSettings& settings, bool hidden) {
  if (const std::string why = too_large(pod); !why.empty()) return refuse(pod.name, why);
  model::Mistakes mistakes;
  for (const kube::ContainerManifest* container : added_ephemerals(pod, old_pod)) {
    const auto mistake =
        settings.allow_visible_devices ? std::nullopt : wrong_visible_devices(*container, false);
    if (mistake) mistakes.add(*mistake);
    if (hidden) check_hidden(*container, settings, true, mistakes);
  }
  return answer_of(pod, mistakes);
}

AdmissionResponse check_request_change(const AdmissionRequest& request,
                                       const ChangedRequests& changes,
                                       const AdmissionSettings& settings, const Checks& checks) {
  if (changes.all.empty()) return {};
  if (request.pod->node.empty() && request.old_pod->node.empty()) {
    return check_new_request(*request.pod, settings, checks);
  }
  return check_resize_request(request, changes, settings, checks);
}

AdmissionResponse check_change(const AdmissionRequest& request, const AdmissionSettings& settings,
                               const Checks& checks) {
  const kube::PodManifest& pod = *request.pod;
  const kube::PodManifest& old_pod = *request.old_pod;
  // More than a stored pod has, so that what changed is not known.
  for (const kube::PodManifest* each : {&pod, &old_pod}) {
    if (each->more_annotations.entries > 0) return refuse(pod.name, too_large(*each));
  }
  if (request.user == settings.extender_user) {
    const auto wrong = no_revision(pod, old_pod, settings.check);
    return wrong ? refuse(pod.name, *wrong, Why::kForbidden) : AdmissionResponse{};
  }
  if (const auto grant = grant_changed(pod, old_pod)) {
    return refuse(pod.name, *grant, Why::kForbidden);
  }
  auto response = check_request_change(request, changed_requests(pod, old_pod), settings, checks);
  if (!response.refusal.empty() || request.subject != Subject::kEphemeralContainers)
    return response;
  return check_added_containers(pod, old_pod, settings, checks.hidden);
}

}  // namespace

AdmissionResponse validate(const AdmissionRequest& request, const AdmissionSettings& settings,
                           const Checks& checks) {
  if (request.subject == Subject::kBinding) {
    if (request.user == settings.extender_user) return {};
    const auto wrong = tangram_annotation_of_binding(request.binding_annotations);
    return wrong ? refuse(request.binding_name, *wrong, Why::kForbidden) : AdmissionResponse{};
  }
  if (!request.pod) return {};
  if (request.operation == Operation::kUpdate) return check_change(request, settings, checks);
  const bool new_pod = request.operation == Operation::kCreate && request.subject == Subject::kPod;
  return new_pod ? check_new_pod(request, settings, checks) : AdmissionResponse{};
}

}  // namespace tangram::extender
