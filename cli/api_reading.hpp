#pragma once

#include "base/result.hpp"
#include "kube/api.hpp"

#include <functional>
#include <map>
#include <string>

/// Reads of the API server, with errors that say what to do.
namespace tangram::cli {

using Query = std::map<std::string, std::string>;

/// The outcome of a GET, or of a review that is POSTed.
struct Reading {
  enum class Outcome {
    kFound,
    kMissing,    ///< 404
    kForbidden,  ///< 403
    kFailed,     ///< anything else, also no reply
  };
  Outcome outcome = Outcome::kFailed;
  int status = 0;       ///< of HTTP; 0 = no reply
  std::string text;     ///< the body; empty unless found
  std::string problem;  ///< "403: ..."; empty if found

  [[nodiscard]] bool found() const { return outcome == Outcome::kFound; }
};

/// For callers that can go on without the object.
[[nodiscard]] Reading try_get(kube::KubeApi& api, const std::string& path, const Query& query = {});
/// The same for a review: an object that is POSTed and not stored.
[[nodiscard]] Reading try_post(kube::KubeApi& api, const std::string& path,
                               const std::string& body);

/// The error of a response that is no success, for callers that need the object.
/// @param role  the ClusterRole that has the right
/// @returns kNotFound     404
///          kConflict     403, with the ClusterRole of deploy/cli/rbac.yaml that allows it
///          kUnavailable  anything else
[[nodiscard]] Error refused(const kube::Request& request, const kube::Response& response,
                            const std::string& role);

/// Calls `item` with the text of every object, page by page.
/// @returns kUnavailable without a response, else as refused(); kStale: the list changed faster
/// than it could be read
Result<void> list(kube::KubeApi& api, const std::string& path, const Query& query,
                  const std::function<void(std::string object)>& item);

inline constexpr const char* kViewerRole = "tangram-viewer";
inline constexpr const char* kCordonRole = "tangram-card-operator";
inline constexpr const char* kMoverRole = "tangram-pod-mover";
inline constexpr const char* kResizerRole = "tangram-pod-resizer";
inline constexpr const char* kDoctorRole = "tangram-doctor";

}  // namespace tangram::cli
