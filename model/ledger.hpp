#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "model/node_state.hpp"
#include "model/snapshot.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tangram::model {

enum class Phase {
  kReserved,   ///< room set aside for a pod that was offered the node; nothing is written anywhere
  kAssumed,    ///< its bind is under way
  kUnknown,    ///< its bind was sent, and nobody knows whether it took effect or still will
  kConfirmed,  ///< bound
};

/// The ledger: which pod holds which slice of which card, on every node.
///
///              .---------- expires ---------> (none)
///     hold-> Held
///              '--assume--> Assumed --confirm--> Confirmed --release--> (none)
///     (none) -----assume--->  |  |  ^                ^
///                       doubt |  |  | assume again   |
///                             v  |  |                |
///                           Unsure -----confirm------+
///     Assumed, Unsure --forget, release--> (none);  any --observe--> Confirmed
///
/// Keyed by pod UID, so a pod that was deleted and made again under its name is another pod.
/// What the API server shows (observe) is the truth and replaces what was assumed, even where it
/// over-grants a card. A booking that the API server's watch has not shown yet has a deadline;
/// when it passes, overdue() names the pod, and the caller reads it and then confirms or
/// releases. Nothing that was sent is ever released for being late alone; what is merely held is.
///
/// Any refused operation leaves the ledger as they were.
/// Threads: not safe; extender::Books is its only user.
class Ledger {
 public:
  using Uids = std::set<std::string, std::less<>>;

  explicit Ledger(const Clock& clock) : clock_(&clock) {}

  /// Sets what a node has. What its pods hold stays, on cards that are gone too: they count
  /// again if the card comes back.
  void put_node(NodeInventory inventory);

  /// The Node object is gone. Its pods hold what they hold until they end themselves.
  void remove_node(std::string_view name);

  /// Sets room aside for a pod that is offered a node, in place of what was held for it before.
  /// Ends when the pod is assumed, with release() or forget(), or after `ttl` (> 0).
  /// @returns kNotFound, kStale  as assume(); the earlier hold stays
  ///          kConflict  its bind is under way, or it is bound
  Result<void> reserve(Allocation allocation, std::chrono::milliseconds ttl);

  /// Drops what is held for the pod, and nothing else. Safe to repeat.
  void release_reservation(std::string_view pod_uid);

  /// Books a pod that is about to be bound, in place of what was held for it. A pod whose
  /// outcome is unsure is booked again only as it was: the first bind may still take effect.
  ///
  /// @param ttl  how long until overdue() names the pod, unless the watch shows it bound; > 0
  /// @returns kNotFound  the node is unknown or has left the cluster
  ///          kConflict  this pod holds a place already
  ///          kStale     a card is gone or has no room any more: decide again
  Result<void> assume(Allocation allocation, std::chrono::milliseconds ttl);

  /// The pod's bind was sent, and nobody knows what came of it: keeps the booking.
  /// @param until  when overdue() names the pod
  void outcome_unknown(std::string_view pod_uid, TimePoint until);

  /// The pod seems to have ended: if its bind is in doubt, overdue() names it at once.
  void expedite(std::string_view pod_uid);

  /// The API server said that the pod is bound.
  /// @returns kNotFound if the pod is not booked: it ended meanwhile, and stays ended
  Result<void> confirm(std::string_view pod_uid);

  /// The watch shows the pod bound, holding this. Safe to repeat.
  void observe(AllocationPtr allocation);
  void observe(Allocation allocation) {
    observe(std::make_shared<const Allocation>(std::move(allocation)));
  }

  /// The pod ended. Safe to repeat. @returns whether it held anything
  bool release(std::string_view pod_uid);

  /// The pod's bind failed: drops what was assumed. What the watch has shown stays, because then
  /// somebody else bound the pod. Safe to repeat. @returns whether anything was dropped
  bool forget(std::string_view pod_uid);

  /// A full list of the API server's bound pods has been observed: what was observed before and
  /// is not in it has ended unseen, and is released. What was confirmed and is not in it either
  /// ended or was bound since the list was made: it is overdue at once.
  /// @param listed  was this UID in the list?
  /// @returns what was released, by pod UID
  std::vector<AllocationPtr> retain_observed(
      const std::function<bool(const std::string& uid)>& listed);

  struct Overdue {
    AllocationPtr allocation;
    Phase phase = Phase::kAssumed;
    TimePoint deadline{};  ///< the next one
  };
  /// Bookings whose deadline has passed, `most` of them; each is named again after another ttl.
  /// Ends what was held for too long, too.
  std::vector<Overdue> overdue(std::size_t most);
  /// Is the pod still exactly as overdue() named it? Whoever asked about it took a while.
  [[nodiscard]] bool is_unchanged(const Overdue& late) const;

  /// Ends what was held for too long.
  void expire_reservations();

  struct Entry {
    AllocationPtr allocation;
    Phase phase = Phase::kAssumed;
    bool observed = false;  ///< the watch has shown it
    TimePoint deadline{};   ///< unless observed
    std::chrono::milliseconds ttl{};
  };
  /// @returns null if the pod holds nothing; valid until the next change
  [[nodiscard]] const Entry* find(std::string_view pod_uid) const;

  /// What is held, assumed or unsure: room that may come back without any pod ending.
  [[nodiscard]] std::vector<AllocationPtr> unconfirmed() const;
  /// Pods that are unsure: kube-scheduler may not know of them.
  [[nodiscard]] Uids unknown_outcomes() const;

  [[nodiscard]] std::size_t reserved_count() const { return reserved_.size(); }
  /// Pods whose bind is under way or unsure.
  [[nodiscard]] std::size_t assumed_count() const { return assumed_.size(); }
  /// Without those that are merely held.
  [[nodiscard]] std::size_t pod_count() const { return entries_.size() - reserved_.size(); }

  /// The ledger as they stand. Nodes that did not change are shared with earlier snapshots.
  [[nodiscard]] std::shared_ptr<const ClusterSnapshot> snapshot();

 private:
  struct UidHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view uid) const {
      return std::hash<std::string_view>{}(uid);
    }
  };
  using Entries = std::unordered_map<std::string, Entry, UidHash, std::equal_to<>>;

  void add(Entry entry);
  void erase(Entries::iterator entry);
  void set_phase(Entry& entry, Phase phase);
  void set_deadline(Entry& entry, TimePoint deadline);
  Result<void> book(Allocation allocation, Phase phase, std::chrono::milliseconds ttl);
  /// The pods in that phase; null for those that are settled.
  [[nodiscard]] Uids* list_of(Phase phase);

  const Clock* clock_;
  NodeTable nodes_;
  Entries entries_;
  std::multimap<TimePoint, std::string> deadlines_;  ///< may name pods that are no longer late
  Uids reserved_;
  Uids assumed_;  ///< kAssumed and kUnsure
};

}  // namespace tangram::model
