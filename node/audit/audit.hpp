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

/// Memory of one card that the processes of one pod use.
struct PodUse {
  std::string card;
  std::string pod_uid;
  std::uint64_t bytes = 0;
};

/// The four records of the cards' use, at about the same moment.
struct AuditView {
  std::vector<LocalPodPtr> pods;  ///< grants: the API server's record
  std::vector<SlotOwner> owners;  ///< slots: kubelet's checkpoint …
  PodList listed;                 ///< … and its list
  std::vector<JournalEntry> journal;
  std::set<std::string> specs;    ///< names of the CDI specs on disk
  std::vector<PodUse> uses;       ///< processes on the cards
  std::set<std::string> running;  ///< UIDs of pods that have any process
};

/// A difference between the records.
struct Drift {
  enum class Kind : std::uint8_t {
    kSlotWithoutGrant,     ///< a pod has a slot and no valid grant: it cannot start
    kGrantWithoutSlot,     ///< a granted container has no slot: it sees no card
    kProcessWithoutGrant,  ///< a pod uses a card that it was not granted
    kProcessLeft,          ///< a pod that is gone still uses memory of a card
  };
  Kind kind{};
  std::string pod_uid;
  std::string ns;  ///< empty with `pod`: the pod is gone
  std::string pod;
  std::string card;      ///< empty = no certain one
  std::string sentence;  ///< for people, with what to do; no numbers that change
  friend auto operator<=>(const Drift&, const Drift&) = default;
};
inline constexpr std::size_t kDriftKinds = 4;
/// As metrics name it: "slot_without_grant".
[[nodiscard]] std::string_view to_string(Drift::Kind kind);

/// Repairs of the agent's own records.
struct Repairs {
  std::vector<JournalEntry> restore;  ///< their spec must be on disk
  std::set<std::string> forget;       ///< names of entries whose container does not start again
  std::set<std::string> remove;       ///< names of specs that no container uses again
};

struct Audit {
  std::set<Drift> drifts;
  Repairs repairs;
};

/// Compares the records. Pure. A difference may be an event under way: Auditor reports it the
/// second time.
[[nodiscard]] Audit audit(const AuditView& view);

}  // namespace tangram::node
