#pragma once

#include "cluster/allocations.hpp"
#include "cluster/policy_source.hpp"
#include "kube/objects.hpp"
#include "model/snapshot.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Pods that came another way than through filter and bind, or cannot come that way: what is
/// wrong with each, and what to write instead.
namespace tangram::cluster {

enum class Finding {
  kRequestInvalid,  ///< waits, and its annotations cannot be read
  kSlotMissing,     ///< waits, and kube-scheduler will never ask about it
  kTooManySlots,    ///< a container with more than one slot
  kGrantInvalid,    ///< a grant that is not JSON, another pod's or node's, or not signed as it must
                    ///< be; also one that counts by a start, if no known key has signed it
  kGrantMissing,    ///< bound, with a slot or a request, and without a grant
  kGrantDiffers,    ///< the grant is not what the annotations ask for, apart from amounts of
                    ///< shares, which can be resized
  kCardMissing,     ///< the grant names a card that the node does not list
  kCardOverGranted  ///< all grants on one of its cards together exceed the card
};
inline constexpr std::size_t kFindings = 8;
inline constexpr std::array<Finding, kFindings> kAllFindings{
    Finding::kRequestInvalid, Finding::kSlotMissing,    Finding::kTooManySlots,
    Finding::kGrantInvalid,   Finding::kGrantMissing,   Finding::kGrantDiffers,
    Finding::kCardMissing,    Finding::kCardOverGranted};
/// "GrantMissing": the reason of the event and the label of tangram_pod_findings.
[[nodiscard]] std::string_view to_string(Finding finding);

struct Note {
  Finding finding;
  std::string sentence;  ///< what is wrong and what to do; the same at every look
  friend bool operator==(const Note&, const Note&) = default;
};

/// Whom a note is about.
struct PodName {
  std::string uid;
  std::string ns;
  std::string name;
};
[[nodiscard]] PodName name_of(const model::Allocation& pod);
[[nodiscard]] PodName name_of(const kube::Pod& pod);
struct NotedPod {
  PodName pod;
  std::vector<Note> notes;
};
using NotedPods = std::map<std::string, NotedPod, std::less<>>;  ///< by UID; none without notes

/// kube-scheduler asks Tangram about a pod only if some container has a slot.
[[nodiscard]] inline bool has_slots(const kube::Pod& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const model::ContainerInfo& info) { return info.slots > 0; });
}
/// Of Finding::kSlotMissing.
[[nodiscard]] std::string slot_missing_sentence(const kube::Pod& pod, std::string_view container);

/// Looks at what the pod itself says. Pure.
/// @param plan      what its annotations ask for, or what is wrong with them
/// @param recorded  of a bound pod: what its grant says
[[nodiscard]] std::vector<Note> examine(const kube::Pod& pod, const Result<PodPlan>& plan,
                                        const Recorded& recorded);

/// Looks at the cards that pods were granted. Pure; skips nodes where all is well.
[[nodiscard]] NotedPods examine_cards(const model::ClusterSnapshot& cluster);

}  // namespace tangram::cluster
