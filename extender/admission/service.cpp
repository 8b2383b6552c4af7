#include "extender/admission/service.hpp"

#include "base/number.hpp"
#include "extender/admission/least_memory_limits.hpp"
#include "extender/admission/mutate.hpp"
#include "extender/admission/review.hpp"
#include "model/request.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tangram::extender {

namespace {

using Operation = AdmissionRequest::Operation;
using Subject = AdmissionRequest::Subject;

bool is_new_pod(const AdmissionRequest& request) {
  return request.pod && request.subject == Subject::kPod && request.operation == Operation::kCreate;
}

AdmissionResponse mutated(const AdmissionRequest& request, const AdmissionSettings& settings) {
  if (is_new_pod(request)) return mutate(*request.pod, settings);
  if (request.old_pod && request.subject == Subject::kEphemeralContainers) {
    return mutate_ephemeral(*request.pod, *request.old_pod, settings);
  }
  return {};
}

/// A refusal wherever that can be said: an HTTP error would be an admission where the registration
/// has failurePolicy: Ignore.
http::Response unreadable(const std::string& uid, const Error& error) {
  if (uid.empty()) {
    return http::text_response(400, "no AdmissionReview that can be read: " + error.message);
  }
  AdmissionResponse refusal;
  refusal.refusal = "this object cannot be reviewed: " + error.message +
                    "; if it is too large, write fewer containers, variables and annotations";
  return http::json_response(encode_review(uid, refusal));
}

/// A refusal for the same reason, after which the client tries again by itself.
http::Response busy(const std::string& uid) {
  constexpr std::string_view kWhy =
      "other large objects are being reviewed, and there is no memory for one more; try again";
  if (uid.empty()) return http::retry_response(std::chrono::seconds(1), kWhy);
  AdmissionResponse refusal;
  refusal.refusal = kWhy;
  refusal.why = AdmissionResponse::Why::kBusy;
  return http::json_response(encode_review(uid, refusal));
}

http::BodySource source_of(const http::Request& request) {
  return {.origin = request.origin, .verified = request.client != nullptr};
}

AdmissionOutcome outcome_of(const AdmissionResponse& answer) {
  if (!answer.refusal.empty()) return AdmissionOutcome::kRefused;
  return answer.patch.empty() ? AdmissionOutcome::kAllowed : AdmissionOutcome::kPatched;
}

/// "2s": whole seconds, as the API server writes them.
std::chrono::seconds timeout_of(const http::Request& request) {
  const auto found = request.query.find("timeout");
  if (found == request.query.end() || !found->second.ends_with('s')) {
    return AdmissionService::kLongestTimeout;
  }
  const std::string_view digits(found->second.data(), found->second.size() - 1);
  const auto seconds = parse_number<std::uint32_t>(digits);
  if (!seconds) return AdmissionService::kLongestTimeout;
  return std::min(std::chrono::seconds(*seconds), AdmissionService::kLongestTimeout);
}

}  // namespace

std::string_view to_string(AdmissionCall call) {
  return call == AdmissionCall::kMutate ? "mutate" : "validate";
}

std::string_view to_string(AdmissionOutcome outcome) {
  constexpr std::array<std::string_view, kAdmissionOutcomes> kNames{
      "allowed", "patched", "refused", "unreadable", "late", "busy"};
  return kNames.at(static_cast<std::size_t>(outcome));
}

AdmissionService::AdmissionService(AdmissionSettings settings, const Clock& clock,
                                   std::function<void(const Done&)> done)
    : settings_(std::move(settings)), clock_(clock), done_(std::move(done)) {}

template <class Handle>
std::pair<http::Response, AdmissionOutcome> AdmissionService::read_and_answer(
    std::string body, const Handle& handle) const {
  const std::string uid(uid_of_review(body));  // before it is decoded in place
  const auto request = decode_review(std::move(body));
  if (!request) return {unreadable(uid, request.error()), AdmissionOutcome::kUnreadable};
  const AdmissionResponse answered = handle(*request);
  return {http::json_response(encode_review(request->uid, answered)), outcome_of(answered)};
}

template <class Handle>
http::Response AdmissionService::answer(AdmissionCall call, std::string body,
                                        const http::BodySource& source,
                                        const Handle& handle) const {
  const TimePoint start = clock_.now();
  http::BodyShare share(reading_, source);
  const bool small = body.size() <= http::kUncountedBodyBytes;
  auto [response, outcome] =
      small || share.grow(most_memory_to_read(body.size()))
          ? read_and_answer(std::move(body), handle)
          : std::pair(busy(std::string(uid_of_review(body))), AdmissionOutcome::kBusy);
  if (done_) done_({.call = call, .outcome = outcome, .took = clock_.now() - start});
  return std::move(response);
}

http::Response AdmissionService::mutate(std::string body, const http::BodySource& source) const {
  return answer(AdmissionCall::kMutate, std::move(body), source,
                [&](const AdmissionRequest& request) { return mutated(request, settings_); });
}

http::Response AdmissionService::require_memory_limits(std::string body, model::MemoryLimits least,
                                                       const http::BodySource& source) const {
  return answer(
      AdmissionCall::kMutate, std::move(body), source, [&](const AdmissionRequest& request) {
        return is_new_pod(request) ? extender::require_memory_limits(*request.pod, settings_, least)
                                   : AdmissionResponse{};
      });
}

http::Response AdmissionService::validate(std::string body, const Checks& checks,
                                          const http::BodySource& source) const {
  return answer(AdmissionCall::kValidate, std::move(body), source,
                [&](const AdmissionRequest& request) {
                  return extender::validate(request, settings_, checks);
                });
}

std::optional<http::Response> AdmissionService::refuse_late(AdmissionCall call,
                                                            const http::Request& request) const {
  const auto waited = clock_.now() - request.arrived;
  if (waited < timeout_of(request)) return std::nullopt;
  if (done_) done_({.call = call, .outcome = AdmissionOutcome::kLate, .took = {}});
  return http::text_response(503, "the review arrived too slowly: its caller has given up");
}

void add_admission_routes(http::Router& router, const AdmissionService& service) {
  const auto add_mutate = [&](const std::string& below, auto review) {
    router.add("POST", "/admission/mutate" + below,
               [&service, review](http::Request request, http::Responder responder) {
                 auto late = service.refuse_late(AdmissionCall::kMutate, request);
                 if (late) return responder.send(std::move(*late));
                 responder.send(review(std::move(request.body), source_of(request)));
               });
  };
  add_mutate("", [&service](std::string body, const http::BodySource& source) {
    return service.mutate(std::move(body), source);
  });
  for (const std::string_view least : model::kRequirableMemoryLimits) {
    add_mutate("/memory-limits/" + std::string(least),
               [&service, means = model::parse_memory_limits(least).value()](
                   std::string body, const http::BodySource& source) {
                 return service.require_memory_limits(std::move(body), means, source);
               });
  }
  const auto add_validate = [&](const std::string& below, Checks checks) {
    router.add(
        "POST", "/admission/validate" + below,
        [&service, checks = std::move(checks)](http::Request request, http::Responder responder) {
          auto late = service.refuse_late(AdmissionCall::kValidate, request);
          if (late) return responder.send(std::move(*late));
          responder.send(service.validate(std::move(request.body), checks, source_of(request)));
        });
  };
  add_validate("", {});
  add_validate("/hidden", {.hidden = true});
  add_validate("/counted/gpu-milli", {.counted = {model::kMilliResource}});
  add_validate("/counted/gpu-mem-mib", {.counted = {model::kMemoryResource}});
  add_validate("/counted/gpu-milli/gpu-mem-mib",
               {.counted = {model::kMilliResource, model::kMemoryResource}});
}

}  // namespace tangram::extender
