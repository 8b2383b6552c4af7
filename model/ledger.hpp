#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/string_map.hpp"
#include "model/node_state.hpp"
#include "model/snapshot.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::model {

enum class Phase {
  kReserved,   ///< room set aside for a pod that was offered the node; nothing is written
  kAssumed,    ///< its bind is under way
  kUnknown,    ///< its bind was sent, and the outcome is not known
  kConfirmed,  ///< bound
};

/// Which pod has which slice of which card, on every node. The states of a pod's allocation are
/// those of kube-scheduler's cache:
///
///     (none) --reserve--> Reserved --expire, release--> (none)
///     (none), Reserved --assume--> Assumed --confirm--> Confirmed --release--> (none)
///     Assumed --outcome_unknown--> Unknown --confirm--> Confirmed
///     Unknown --assume again--> Assumed
///     Assumed, Unknown --forget, release--> (none);  any --observe--> Confirmed
///     Confirmed --resize--> Confirmed, with other amounts
///
/// Allocations are keyed by pod UID: a pod that was deleted and created again under its name is
/// another pod. What the API server shows (observe) replaces what was assumed, even where it grants
/// more than a card has. An allocation that the watch has not shown yet has a deadline. When it
/// passes, overdue() names the pod; the caller reads the pod and then confirms or releases. No
/// allocation whose bind was sent is released because its deadline passed; reservations are.
///
/// A refused operation leaves the ledger unchanged.
/// Threads: not safe; cluster::SharedLedger is its only user.
class Ledger {
 public:
  using Uids = std::set<std::string, std::less<>>;

  explicit Ledger(const Clock& clock) : clock_(&clock) {}

  /// Sets a node's inventory. Allocations stay, also on cards that are gone: they count again if
  /// the card comes back.
  void put_node(NodeInventory inventory);

  /// The Node object is gone. Its pods keep their allocations until they end.
  void remove_node(std::string_view name);

  /// Reserves room for a pod that is offered a node, in place of an earlier reservation.
  /// Ends when the pod is assumed, with release() or forget(), or after `ttl` (> 0).
  /// @param displaced  as in assume()
  /// @returns kNotFound, kStale  as assume(); the earlier reservation stays
  ///          kConflict  its bind is under way, or it is bound
  Result<void> reserve(Allocation allocation, std::chrono::milliseconds ttl,
                       const Uids& displaced = {});

  /// Drops the pod's reservation, and nothing else. Safe to repeat.
  void release_reservation(std::string_view pod_uid);

  /// The pod's reservation, if it has one, ends after `ttl` from now: later, or earlier, than it
  /// would have.
  void renew_reservation(std::string_view pod_uid, std::chrono::milliseconds ttl);

  /// Allocates to a pod that is about to be bound, in place of its reservation. A pod whose outcome
  /// is unknown gets only the same allocation again: the first bind may still take effect.
  ///
  /// @param ttl  how long until overdue() names the pod, unless the watch shows it bound; > 0
  /// @param displaced  pods whose reservations on the node end with this: less important ones
  /// @returns kNotFound  the node is unknown or has left the cluster
  ///          kConflict  this pod has an allocation already
  ///          kStale     a card is gone or has no room any more, or a pod to displace has no such
  ///                     reservation any more: decide again
  Result<void> assume(Allocation allocation, std::chrono::milliseconds ttl,
                      const Uids& displaced = {});

  /// The pod's bind was sent, and its outcome is not known: keeps the allocation.
  /// @param until  when overdue() names the pod
  void outcome_unknown(std::string_view pod_uid, TimePoint until);

  /// The pod seems to have ended: if the outcome of its bind is unknown, it is overdue now.
  void expedite(std::string_view pod_uid);

  /// The API server said that the pod is bound.
  /// @param is_signed, issued_at  as the entry's, of the grant that it took; "" = not known. They
  ///                              replace nothing that the watch has shown
  /// @returns kNotFound if the pod has no allocation: it ended meanwhile, and stays ended
  Result<void> confirm(std::string_view pod_uid, bool is_signed = false,
                       std::string issued_at = {});

  /// The watch shows the pod bound with this allocation. Safe to repeat.
  /// @param is_signed, issued_at  as the entry's; kept for find()
  void observe(AllocationPtr allocation, bool is_signed, std::string issued_at);
  void observe(Allocation allocation) {
    observe(std::make_shared<const Allocation>(std::move(allocation)), false, "");
  }
  /// What the watch shows of a pod, as observe() takes it.
  struct Observed {
    AllocationPtr allocation;
    bool is_signed = false;
    std::string issued_at;
  };
  /// observe() for several pods of one node at once, which copies the node only once. Each pod is
  /// named once, and none of them has an allocation yet.
  void observe_new(std::vector<Observed> pods);

  /// The next revision of a bound pod's grant is about to be written: until observe() shows it, or
  /// a later one, or cancel_resize(), the pod holds it. A revision holds the larger of its amounts
  /// and the former ones until the node's agent has applied it (is_settled()).
  /// @param allocation  as observe() will show it
  /// @returns kNotFound  the pod is not bound to that node, or the node is not known
  ///          kConflict  it has this revision already, or one whose write may still be under way
  ///          kStale     a card is gone or has no room
  Result<void> resize(Allocation allocation);

  /// The revision was not and will not be written: the pod holds what it held before. Safe to
  /// repeat, also after observe().
  void cancel_resize(std::string_view pod_uid);

  /// The pod ended. Safe to repeat. @returns whether it had an allocation
  bool release(std::string_view pod_uid);

  /// The pod's bind failed: drops what was assumed. What the watch has shown stays, because then
  /// another client bound the pod. Safe to repeat. @returns whether anything was dropped
  bool forget(std::string_view pod_uid);

  /// A full list of the API server's bound pods has been observed. Releases what was observed
  /// before and is not in the list: those pods ended. What was confirmed but not observed, and is
  /// not in the list, is overdue now: it ended, or was bound after the list was made.
  /// @param listed  was this UID in the list?
  /// @returns what was released, by pod UID
  std::vector<AllocationPtr> retain_observed(
      const std::function<bool(const std::string& uid)>& listed);

  struct Overdue {
    AllocationPtr allocation;
    Phase phase = Phase::kAssumed;
    TimePoint deadline{};  ///< the next one
  };
  /// At most `most` allocations whose deadline has passed; each is named again after another ttl.
  /// Expires reservations, too.
  std::vector<Overdue> overdue(std::size_t most);
  /// Is the allocation unchanged since overdue() named it? Reading the pod takes a while.
  [[nodiscard]] bool is_unchanged(const Overdue& named) const;

  /// Drops reservations whose time has passed. Takes time only for deadlines not seen before.
  void expire_reservations();

  struct Entry {
    AllocationPtr allocation;
    Phase phase = Phase::kAssumed;
    bool observed = false;   ///< the watch has shown it
    bool is_signed = false;  ///< by a known key: the grant that counts
    TimePoint deadline{};    ///< unless observed
    std::chrono::milliseconds ttl{};
    AllocationPtr former = {};   ///< of a resize that the watch has not shown; else null
    std::string issued_at = {};  ///< of the grant that counts; "" = none, or not known yet
  };
  /// @returns null if the pod has no allocation; valid until the next change
  [[nodiscard]] const Entry* find(std::string_view pod_uid) const;

  /// Reserved, assumed or unknown: room that may come back without the end of a pod.
  [[nodiscard]] std::vector<AllocationPtr> unconfirmed() const;
  /// Pods whose bind is under way, or has an unknown outcome.
  [[nodiscard]] const Uids& in_doubt() const { return assumed_; }

  [[nodiscard]] std::size_t reserved_count() const { return reserved_.size(); }
  /// Pods whose bind is under way, or whose outcome is unknown.
  [[nodiscard]] std::size_t assumed_count() const { return assumed_.size(); }
  /// Without reservations.
  [[nodiscard]] std::size_t pod_count() const { return entries_.size() - reserved_.size(); }

  /// The current state. Nodes that did not change are shared with earlier snapshots.
  [[nodiscard]] std::shared_ptr<const ClusterSnapshot> snapshot();

 private:
  using Entries = StringMap<Entry>;

  void add(Entry entry);
  /// Comes after the node was stored with the allocation: what fails before leaves no entry.
  void record(Entry entry);
  void erase(Entries::iterator entry);
  void set_phase(Entry& entry, Phase phase);
  void set_deadline(Entry& entry, TimePoint deadline);
  /// Not if the pod has been released, shown by the watch, or got another one since.
  /// @param entry  may be the end
  [[nodiscard]] bool is_deadline_of(Entries::const_iterator entry, TimePoint deadline) const;
  void replace(Entries::iterator entry, AllocationPtr allocation);
  Result<void> allocate(Allocation allocation, Phase phase, std::chrono::milliseconds ttl,
                        const Uids& displaced);
  [[nodiscard]] bool yields(std::string_view pod_uid, const Allocation& to) const;
  /// The pods in that phase; null for kConfirmed.
  [[nodiscard]] Uids* list_of(Phase phase);

  const Clock* clock_;
  NodeTable nodes_;
  Entries entries_;
  std::multimap<TimePoint, std::string>
      deadlines_;  ///< may name pods that are not overdue any more
  Uids reserved_;
  Uids assumed_;  ///< kAssumed and kUnknown
};

}  // namespace tangram::model
