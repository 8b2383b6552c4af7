#pragma once

#include "node/container/journal.hpp"
#include "node/kubelet/checkpoint.hpp"
#include "node/kubelet/pod_resources.hpp"
#include "node/pods/local_pods.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// Memory that the processes of one pod hold on one card.
struct PodUse {
  std::string card;
  std::string pod_uid;
  std::uint64_t bytes = 0;
};

/// The four records of who has which card, at about the same moment.
struct AuditView {
  std::vector<LocalPodPtr> pods;        ///< grants: what the API server says
  std::vector<SlotOwner> owners;        ///< slots: kubelet's checkpoint …
  PodList listed;                       ///< … and its list
  std::vector<Allocation> allocations;  ///< the journal
  std::set<std::string> specs;          ///< names of the CDI specs on disk
  std::vector<PodUse> uses;             ///< processes on the cards
  std::set<std::string> living;         ///< UIDs of pods that have any process
};

/// A difference between the records.
struct Drift {
  enum class Kind : std::uint8_t {
    kSlotWithoutGrant,     ///< a pod holds a slot and has no valid grant: it cannot start
    kGrantWithoutSlot,     ///< a granted container holds no slot: it sees no card
    kProcessWithoutGrant,  ///< a pod uses a card that it was not granted
    kMemoryOverLimit,      ///< a pod holds more memory of a card than its limit
    kProcessLeft,          ///< a pod that is gone still holds memory of a card
  };
  Kind kind{};
  std::string pod_uid;
  std::string ns;  ///< empty with `pod`: the pod is gone
  std::string pod;
  std::string card;      ///< where one is meant
  std::string sentence;  ///< for people, with what to do; without numbers that change
  friend auto operator<=>(const Drift&, const Drift&) = default;
};
inline constexpr std::size_t kDriftKinds = 5;
/// As metrics name it: "slot_without_grant".
[[nodiscard]] std::string_view to_string(Drift::Kind kind);

/// What can be mended at once, because it is the agent's own.
struct Repairs {
  std::vector<Allocation> restore;  ///< their spec must stand on disk as they say
  std::set<std::string> forget;     ///< allocations that nobody will start again
  std::set<std::string> remove;     ///< specs that nobody will use again
};

struct Audit {
  std::set<Drift> drifts;
  Repairs repairs;
};

/// Compares. Pure. A difference that is seen once may be an event under way; Auditor waits for the
/// second time.
[[nodiscard]] Audit audit(const AuditView& view);

}  // namespace tangram::node
