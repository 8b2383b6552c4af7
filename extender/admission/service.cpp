#include "extender/admission/service.hpp"

#include "extender/admission/mutate.hpp"
#include "extender/admission/review.hpp"
#include "extender/admission/validate.hpp"

#include <utility>

namespace tangram::extender {

namespace {

using Operation = AdmissionRequest::Operation;
using Subject = AdmissionRequest::Subject;

AdmissionResponse mutated(const AdmissionRequest& request, const AdmissionSettings& settings) {
  const bool create = request.operation == Operation::kCreate;
  Mutation mutation;
  if (request.pod && request.subject == Subject::kPod && create) {
    mutation = mutate(*request.pod, settings);
  } else if (request.old_pod && request.subject == Subject::kEphemeralContainers) {
    mutation = mutate_ephemeral(*request.pod, *request.old_pod, settings);
  }
  AdmissionResponse answer;
  answer.patch = std::move(mutation.patch);
  answer.warnings = std::move(mutation.warnings);
  return answer;
}

AdmissionOutcome outcome_of(const AdmissionResponse& answer) {
  if (!answer.refusal.empty()) return AdmissionOutcome::kRefused;
  return answer.patch.empty() ? AdmissionOutcome::kAllowed : AdmissionOutcome::kPatched;
}

}  // namespace

std::string_view to_string(AdmissionCall call) {
  return call == AdmissionCall::kMutate ? "mutate" : "validate";
}

std::string_view to_string(AdmissionOutcome outcome) {
  switch (outcome) {
    case AdmissionOutcome::kAllowed:
      return "allowed";
    case AdmissionOutcome::kPatched:
      return "patched";
    case AdmissionOutcome::kRefused:
      return "refused";
    case AdmissionOutcome::kUnreadable:
      return "unreadable";
  }
  return "unknown";
}

AdmissionService::AdmissionService(AdmissionSettings settings, const Clock& clock,
                                   std::function<void(const Done&)> done)
    : settings_(std::move(settings)), clock_(clock), done_(std::move(done)) {}

template <class Handle>
http::Response AdmissionService::answer(AdmissionCall call, std::string body,
                                        const Handle& handle) const {
  const TimePoint start = clock_.now();
  http::Response response;
  AdmissionOutcome outcome = AdmissionOutcome::kUnreadable;
  if (const auto request = decode_review(std::move(body)); !request) {
    response =
        http::text_response(400, "no AdmissionReview that can be read: " + request.error().message);
  } else {
    const AdmissionResponse answered = handle(*request);
    outcome = outcome_of(answered);
    response = http::json_response(encode_review(request->uid, answered));
  }
  if (done_) done_({.call = call, .outcome = outcome, .took = clock_.now() - start});
  return response;
}

http::Response AdmissionService::mutate(std::string body) const {
  return answer(AdmissionCall::kMutate, std::move(body),
                [&](const AdmissionRequest& request) { return mutated(request, settings_); });
}

http::Response AdmissionService::validate(std::string body,
                                          const std::vector<std::string_view>& counted) const {
  return answer(AdmissionCall::kValidate, std::move(body), [&](const AdmissionRequest& request) {
    return extender::validate(request, settings_, counted);
  });
}

}  // namespace tangram::extender
