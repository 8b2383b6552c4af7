#pragma once

#include "base/result.hpp"
#include "kube/pod_manifest.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// AdmissionReview v1, the text that passes between the API server and a webhook: the only place
/// that knows its JSON. Source of the types: k8s.io/api/admission/v1/types.go.
namespace tangram::extender {

/// What the API server submits for review.
struct AdmissionRequest {
  enum class Operation : std::uint8_t { kCreate, kUpdate, kDelete, kConnect };
  enum class Subject : std::uint8_t {
    kPod,
    kPodPart,              ///< pods/status, pods/resize: the whole pod, of which a part may change
    kEphemeralContainers,  ///< pods/ephemeralcontainers, likewise
    kBinding,              ///< pods/binding, and bindings, its older form
    kOther,                ///< nothing of Tangram's; its object is not read
  };
  std::string uid;  ///< of the request, to be echoed
  Operation operation = Operation::kCreate;
  Subject subject = Subject::kOther;
  std::string user;  ///< "system:serviceaccount:NAMESPACE:NAME" of a service account
  /// The pod as it is to be; nothing on DELETE and for other subjects.
  std::optional<kube::PodManifest> pod;
  /// The pod as it was; on UPDATE alone.
  std::optional<kube::PodManifest> old_pod;
  /// Of a Binding: its name is the pod's.
  std::string binding_name;
  kube::StringMap binding_annotations;
};

/// A review of an update that Kubernetes can store: 36 MiB, and what stands around the objects. Of
/// 1.5 MiB in etcd, JSON makes 12 at most (it escapes one byte by six), managedFields as much
/// again, and an update has the old object, too.
inline constexpr std::size_t kLargestReview = std::size_t{40} << 20;

/// @returns kInvalidArgument, with what is wrong with the text
Result<AdmissionRequest> decode_review(std::string text);

/// What decode_review() takes at most, beside a text of that size.
[[nodiscard]] std::size_t most_memory_to_read(std::size_t text_bytes);

/// The UID of a review that may be unreadable otherwise, found by quotes and brackets alone: with
/// it, the review can be refused. "" if the text is no AdmissionReview v1 or shows none. Linear,
/// and as short as the API server writes it: what it needs comes before the objects.
[[nodiscard]] std::string_view uid_of_review(std::string_view text);

/// The response to the API server.
struct AdmissionResponse {
  enum class Why : std::uint8_t {
    kMistake,    ///< what was written cannot be: 400 BadRequest
    kForbidden,  ///< it could be, but not by this user or not now: 403 Forbidden
    kBusy,       ///< it was not looked at: 429 TooManyRequests, to be sent again after 1 s
  };
  std::string refusal;  ///< for the pod's author; empty = allowed
  Why why = Why::kMistake;
  std::string patch;                  ///< a JSON list of operations; empty = unchanged
  std::vector<std::string> warnings;  ///< shown by kubectl, whatever the answer is
};

/// "pod NAME: what".
[[nodiscard]] AdmissionResponse refuse(
    std::string_view pod, std::string_view what,
    AdmissionResponse::Why why = AdmissionResponse::Why::kMistake);

/// The AdmissionReview that carries the answer.
[[nodiscard]] std::string encode_review(std::string_view uid, const AdmissionResponse& answer);

}  // namespace tangram::extender
