#pragma once

#include "base/result.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

/// The Kubernetes API server as Tangram sees it.
namespace tangram::kube {

enum class Method { kGet, kPost, kPut, kPatch, kDelete };
[[nodiscard]] std::string_view to_string(Method method);

/// One request to the API server.
struct Request {
  Method method = Method::kGet;
  std::string path;  ///< "/api/v1/namespaces/ml/pods/train-0/binding"; segments percent-encoded
  std::map<std::string, std::string> query = {};  ///< not encoded
  std::string body = {};
  std::string content_type = "application/json";
  std::chrono::milliseconds timeout{5'000};  ///< of the whole exchange; a watch's is its stream's
  /// Not delayed by the client's own rate limit: renewals of a lease, which must not queue behind
  /// a burst of binds.
  bool urgent = false;
};

/// What the API server answered. Statuses of 400 and above carry a metav1.Status as body,
/// except 429 from its priority-and-fairness filter, which is plain text.
struct Response {
  int status = 0;
  std::string body = {};
  std::optional<std::chrono::seconds> retry_after = {};
};

/// What a watch delivers: one frame, `{"type":"MODIFIED","object":{...}}`. The text may be parsed
/// in place. Returning false ends the watch.
using WatchFrame = std::function<bool(std::string frame)>;

/// The only way to the API server.
///
/// Implementations: LocalApi (in memory), and a client for a real server. Both give the same
/// answers to the same requests; tests/kube's contract suite holds them to it.
/// Threads: safe; calls block the calling thread and many may be under way at once.
class KubeApi {
 public:
  virtual ~KubeApi() = default;

  /// Sends one request and waits for the answer; any HTTP status is an answer.
  /// @returns kUnavailable  nothing reached the server: safe to send again
  ///          kTimeout      no answer in time, or the connection broke after the request was
  ///                        sent: the outcome is unknown; so is that of a write with an answer
  ///                        that is too long
  ///          kTooLarge     what a GET found is longer than the client takes: of a list, request
  ///                        fewer objects
  virtual Result<Response> call(const Request& request) = 0;

  /// Sends a GET with watch=1 and hands over every frame until the server ends the stream (as it
  /// does every few minutes), `frame` returns false, or stop is requested.
  /// A version that is too old shows as status 410, or as 200 and an ERROR frame with code 410:
  /// list again.
  /// @returns the status and, unless it is 200, the body;
  ///          kUnavailable, kTimeout as above, also when the stream breaks;
  ///          kTooLarge: a frame is longer than the client takes. The same watch would come to the
  ///          same frame: list again
  virtual Result<Response> watch(const Request& request, const WatchFrame& frame,
                                 std::stop_token stop) = 0;
};

}  // namespace tangram::kube
