#pragma once

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::model {

/// Why a node's agent did not apply a revision of a grant.
enum class ResizeRefusal {
  kInUse,         ///< the containers use more than it grants
  kNoRoom,        ///< the card has no room for it beside other containers
  kCannotChange,  ///< the means that limits the containers cannot change a running process
};
inline constexpr std::array<std::string_view, 3> kResizeRefusalNames{"in-use", "no-room",
                                                                     "cannot-change"};
[[nodiscard]] constexpr std::string_view to_string(ResizeRefusal why) {
  return kResizeRefusalNames.at(static_cast<std::size_t>(why));
}

/// How far a node's agent has come with the revisions of a pod's grant.
struct ResizeAnswer {
  /// The latest revision that all containers of the pod are held to, also those that start later.
  int applied = 0;
  int refused = 0;                   ///< a later one; 0 = none
  std::optional<ResizeRefusal> why;  ///< of the refused one
  friend bool operator==(const ResizeAnswer&, const ResizeAnswer&) = default;
};

/// The annotation kResizesAnnotation of a node: the pods of the node, by UID, whose grant has been
/// revised. Only the node's agent writes it.
using ResizeAnswers = std::map<std::string, ResizeAnswer, std::less<>>;

/// A node runs 110 pods as kubelet ships, and 1,000 at most by what its documentation supports; a
/// pod takes 80 bytes here, and all annotations of a node may have 256 KiB.
inline constexpr std::size_t kMaxResizeAnswers = 2'000;

[[nodiscard]] std::string encode_resizes(const ResizeAnswers& answers);
/// @returns kInvalidArgument if it is not JSON, a member is missing or out of range, a reason is
///          not known, there are too many pods, or the version is newer than this program knows
Result<ResizeAnswers> decode_resizes(std::string text);

}  // namespace tangram::model
