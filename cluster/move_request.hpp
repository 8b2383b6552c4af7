#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// How an operator has pods moved. A request is written into one ConfigMap, so Kubernetes' own
/// rights say who may do so. The leading extender reads it there, and writes beside it how far it
/// is. Pure.
namespace tangram::cluster {

/// The ConfigMap, in the extender's namespace, and its keys. Each has a JSON object.
inline constexpr const char* kMoveRequests = "tangram-defrag";
inline constexpr const char* kRequestKey = "request";
inline constexpr const char* kProgressKey = "progress";

struct MoveRequest {
  /// Pods in each list: far more than anybody reads before asking for the moves.
  static constexpr std::size_t kMostPods = 1'000;
  /// The operator waits for the end, and a forgotten request must not move pods later.
  static constexpr std::chrono::hours kLongest{1};

  std::string id;                      ///< new for each request
  WallTime until{};                    ///< no move begins later; whole seconds
  std::vector<std::string> movers{};   ///< UIDs: no other pods move
  std::vector<std::string> waiting{};  ///< UIDs of the pods that they move for
  friend bool operator==(const MoveRequest&, const MoveRequest&) = default;
};

enum class MoveState {
  kRunning,
  kDone,    ///< each waiting pod has had a node
  kStopped  ///< no more moves begin
};
[[nodiscard]] std::string_view to_string(MoveState state);

struct MoveProgress {
  static constexpr std::size_t kLongestMessage = 1'024;  ///< bytes

  std::string id{};  ///< of the request
  MoveState state = MoveState::kRunning;
  std::size_t evicted = 0;  ///< pods
  std::size_t placed = 0;   ///< waiting pods with room
  std::string message{};    ///< why it was stopped
  friend bool operator==(const MoveProgress&, const MoveProgress&) = default;
};

/// {"id", "untilSeconds", "movers": [UID], "waiting": [UID]}; seconds since 1970
[[nodiscard]] std::string to_json(const MoveRequest& request);
/// {"id", "state": "running" | "done" | "stopped", "evicted", "placed", "message"}
[[nodiscard]] std::string to_json(const MoveProgress& progress);

/// @returns kInvalidArgument: what is wrong with it
[[nodiscard]] Result<MoveRequest> read_move_request(std::string text);
[[nodiscard]] Result<MoveProgress> read_move_progress(std::string text);

/// What the ConfigMap has.
struct MoveRequests {
  std::string version{};   ///< resourceVersion
  std::string request{};   ///< as written; "" = none
  std::string progress{};  ///< the same
};
/// @param config_map  the API server's JSON
/// @returns kInvalidArgument
[[nodiscard]] Result<MoveRequests> read_move_requests(std::string config_map);
/// A merge patch of one key.
/// @param version  to fail if it was written meanwhile; "" = in any case
[[nodiscard]] std::string move_request_patch(std::string_view key, std::string_view value,
                                             std::string_view version = "");
/// "/api/v1/namespaces/tangram-system/configmaps/tangram-defrag"
[[nodiscard]] std::string move_requests_path(std::string_view ns);

/// Is the request's work not over, by what its progress says?
[[nodiscard]] bool is_open(const MoveRequest& request, const std::optional<MoveProgress>& progress,
                           WallTime now);

}  // namespace tangram::cluster
