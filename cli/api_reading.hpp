#pragma once

#include "base/result.hpp"
#include "kube/api.hpp"

#include <functional>
#include <map>
#include <string>

/// Reads of the API server, with errors that say what to do.
namespace tangram::cli {

using Query = std::map<std::string, std::string>;

/// How a GET, or a question that is POSTed, went.
struct Reading {
  enum class Outcome {
    kFound,
    kMissing,    ///< 404
    kForbidden,  ///< 403
    kFailed,     ///< anything else, no answer included
  };
  Outcome outcome = Outcome::kFailed;
  int status = 0;       ///< HTTP's; 0 = no answer
  std::string text;     ///< the body; empty unless found
  std::string problem;  ///< "403: ..."; empty if found

  [[nodiscard]] bool found() const { return outcome == Outcome::kFound; }
};

/// For who can go on without.
[[nodiscard]] Reading look(kube::KubeApi& api, const std::string& path, const Query& query = {});
/// The same of a review: an object that is asked by POST and stored nowhere.
[[nodiscard]] Reading ask(kube::KubeApi& api, const std::string& path, const std::string& body);

/// For who cannot.
/// @returns kNotFound     404
///          kConflict     403, with the ClusterRole of deploy/cli/rbac.yaml that allows it
///          kUnavailable  anything else
Result<std::string> get(kube::KubeApi& api, const std::string& path, const Query& query = {});

/// What an answer that is no success means, as get() says it.
/// @param role  the ClusterRole that has the right
[[nodiscard]] Error refused(const kube::Request& request, const kube::Response& response,
                            const std::string& role);

/// Calls `item` with the text of every object, page by page.
/// @returns as get(); kStale: the list changed faster than it could be read
Result<void> list(kube::KubeApi& api, const std::string& path, const Query& query,
                  const std::function<void(std::string object)>& item);

inline constexpr const char* kViewerRole = "tangram-viewer";
inline constexpr const char* kCordonRole = "tangram-card-operator";
inline constexpr const char* kDoctorRole = "tangram-doctor";

}  // namespace tangram::cli
