#pragma once

#include "base/result.hpp"
#include "model/grant.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tangram::model {

/// Why a node's agent did not apply a revision of a grant.
enum class ResizeRefusal {
  kInUse,         ///< the containers use more than it grants
  kNoRoom,        ///< the card has no room for it beside other containers
  kCannotChange,  ///< the means that limits the containers cannot change a running process
  kOtherGrant,    ///< it is no revision of what they were started by, or not vouched for as that is
  kUnknown,       ///< a newer agent's reason; no agent gives it itself
};
/// Those that agents give.
inline constexpr std::array<std::string_view, 4> kResizeRefusalNames{
    "in-use", "no-room", "cannot-change", "other-grant"};
[[nodiscard]] constexpr std::string_view to_string(ResizeRefusal why) {
  return why == ResizeRefusal::kUnknown ? "unknown"
                                        : kResizeRefusalNames.at(static_cast<std::size_t>(why));
}

/// The amounts that containers are held to: by the container's name, and by card.
using HeldAmounts =
    std::map<std::string, std::map<std::string, CardAmounts, std::less<>>, std::less<>>;

/// How far a node's agent has come with the revisions of a pod's grant.
struct ResizeAnswer {
  /// The latest revision that all containers of the pod are held to, also those that start later.
  int applied = 0;
  int refused = 0;                        ///< a later one; 0 = none
  std::optional<ResizeRefusal> why = {};  ///< of the refused one
  /// Of the containers that have started, whatever the pod's grant says by now: an earlier revision
  /// may have been put back. Empty = not published: by an older agent, or for want of space.
  HeldAmounts held = {};
  friend bool operator==(const ResizeAnswer&, const ResizeAnswer&) = default;
};

/// The annotation kResizesAnnotation of a node: the pods of the node, by UID, whose grant has been
/// revised. Only the node's agent writes it.
using ResizeAnswers = std::map<std::string, ResizeAnswer, std::less<>>;

/// A node runs 110 pods as kubelet ships, and 1,000 at most by what its documentation supports; a
/// pod takes 80 bytes here without what it is held to, and 140 more for each card of a container.
inline constexpr std::size_t kMaxResizeAnswers = 2'000;
/// Two thirds of the 256 KiB that all annotations of a node may have together.
inline constexpr std::size_t kMaxResizesBytes = 170'000;

/// Leaves out what pods are held to, from the last pod on, while the annotation's text would be
/// longer than kMaxResizesBytes. Without that, a pod holds what its grant says.
/// @param as_granted  pods whose grant says the same: their amounts are left out first
void keep_to_size(ResizeAnswers& answers, const std::set<std::string, std::less<>>& as_granted);

[[nodiscard]] std::string encode_resizes(const ResizeAnswers& answers);
/// A reason that is not known becomes kUnknown: the rest of what a newer agent says counts.
/// @returns kInvalidArgument if it is not JSON, a member is missing or out of range, there are too
///          many pods, containers or cards, or the version is newer than this program knows
Result<ResizeAnswers> decode_resizes(std::string text);

}  // namespace tangram::model
