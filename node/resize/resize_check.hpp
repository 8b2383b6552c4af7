#pragma once

#include "model/grant_reading.hpp"
#include "node/audit/memory_check.hpp"
#include "node/container/claims.hpp"
#include "node/container/journal.hpp"
#include "node/container/memory_limiters.hpp"
#include "node/pods/local_pods.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a later revision of a grant changes for a running container. Pure functions.
namespace tangram::node {

/// One card of a container, before and after.
struct CardChange {
  model::GrantedCard now;     ///< by the claim
  model::GrantedCard wanted;  ///< by the later grant
  /// How the memory of the started container is limited; nothing = not known.
  std::optional<model::MemoryLimits> means;
  bool changeable = false;  ///< those means can change the limit while the container runs

  [[nodiscard]] bool lowers_memory() const { return wanted.memory_limit < now.memory_limit; }
  /// The limit of the running container is to be set.
  [[nodiscard]] bool sets_memory() const {
    return changeable && wanted.memory_limit != now.memory_limit;
  }
};

/// One allocation in the journal whose container a later revision of its pod's grant changes.
struct Resize {
  std::string allocation;
  Claim claim;      ///< as in the journal
  LocalPodPtr pod;  ///< with the later grant
  model::ContainerGrant wanted;
  std::vector<CardChange> cards;
  bool started = false;  ///< the container was prepared to the end once: it may run

  [[nodiscard]] model::Isolation isolation() const { return pod->grant->isolation; }
};

/// Cards of one container, by the means that limits their memory.
using CardsByMeans = std::map<model::MemoryLimits, std::vector<model::GrantedCard>>;

/// The cards of a started container whose memory limit can be changed while it runs, with the
/// limits in the journal.
[[nodiscard]] CardsByMeans changeable_cards(const JournalEntry& entry);
/// Those whose memory limit becomes smaller while the container runs, with the smaller limit.
[[nodiscard]] CardsByMeans lowered_cards(const Resize& resize);

/// Whether a revision is vouched for no weaker than the text that it replaces: if that has a
/// signature, whoever made it, the revision needs one of a known key.
/// @param check  whose signature a text carries; empty = no keys are known, all texts are the same
[[nodiscard]] bool vouched_no_weaker(const std::string& later, const std::string& earlier,
                                     const model::SignatureCheck& check);

/// What the pod's grant changes for a claim in the journal.
/// @returns nothing if it is no later revision of the claim's grant
[[nodiscard]] std::optional<Resize> resize_of(const JournalEntry& entry, const LocalPodPtr& pod);

/// Why the means that limits the container cannot change it while it runs; nothing = it can.
[[nodiscard]] std::optional<std::string> cannot_change(const Resize& resize);

/// Does the container take more of any card?
[[nodiscard]] bool grows(const Resize& resize);

/// The claims as they are once the containers have what is wanted.
[[nodiscard]] std::vector<CardClaim> with_wanted(std::vector<CardClaim> claims,
                                                 const std::vector<Resize>& resizes);

/// "main: 4096 MiB and 250 milli of GPU-1".
[[nodiscard]] std::string describe_wanted(const Resize& resize);

}  // namespace tangram::node
