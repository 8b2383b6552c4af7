#pragma once

#include "base/clock.hpp"
#include "cluster/shared_ledger.hpp"
#include "kube/objects.hpp"
#include "model/node_state.hpp"

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

/// A place for the pod that a controller makes once one of its pods is evicted.
struct MovePlace {
  std::string mover;       ///< UID of the pod that is evicted
  model::Allocation room;  ///< reserved under a UID of its own: the next pod's is not known yet
  std::string ns;
  kube::Controller controller;
  model::PodDemand demand;  ///< of the next pod
};

/// Places reserved in the ledger for the next pods of pods that move. A pod of the same controller
/// that requests the same takes the place of an evicted one, whichever it is: they are alike.
///
/// Before the eviction a place yields to more important pods, and is lost then. After it, it yields
/// to no pod, for kUntilTaken at most. Whoever owns this calls keep() before `hold` has passed, so
/// that what a process leaves behind ends by itself. Threads: safe.
class MovePlaces {
 public:
  /// From the eviction: the grace period of a StatefulSet's pod, whose next one is made after it,
  /// and a minute for that one.
  static constexpr std::chrono::seconds kUntilTaken{300};

  MovePlaces(cluster::SharedLedger& ledger, const Clock& clock, std::chrono::milliseconds hold)
      : ledger_(ledger), clock_(clock), hold_(hold) {}

  /// Reserves all of them. @returns false if one has no room any more, or its mover has a place:
  /// then none is reserved
  [[nodiscard]] bool reserve(std::vector<MovePlace> places);
  /// The mover is evicted now. @returns false if its place is lost: it ends
  [[nodiscard]] bool evicted(std::string_view mover);
  /// Renews all. @returns false if one was lost whose mover is not evicted
  [[nodiscard]] bool keep();
  /// Has a pod taken the place of an evicted mover, and been bound, as of the last keep()?
  [[nodiscard]] bool is_bound(std::string_view mover) const;
  /// Its place is not needed any more.
  void end(std::string_view mover);
  /// Ends the places of movers that were not evicted.
  void end_unused();

  // By the verbs.

  /// Of the room that others may give up again, this is not to be waited for: it takes minutes.
  void leave_out(std::vector<model::AllocationPtr>& unconfirmed) const;

  /// The place that this pod may take, as its own allocation. @returns nothing if there is none
  [[nodiscard]] std::optional<model::Allocation> place_for(const kube::Pod& pod,
                                                           const model::PodDemand& demand) const;
  /// Turns the place into the pod's own reservation, for `hold`. @returns false if that is not
  /// possible any more
  [[nodiscard]] bool take(const model::Allocation& of_pod, std::chrono::milliseconds hold);

 private:
  struct Kept {
    MovePlace place;
    std::optional<TimePoint> until{};  ///< once the mover is evicted
    std::string taker{};  ///< UID of the pod that holds it in its own name; empty = none
    bool bound = false;   ///< the taker is: nothing is reserved any more
  };
  [[nodiscard]] const Kept* find(std::string_view mover) const;
  [[nodiscard]] const Kept* find_for(const kube::Pod& pod, const model::PodDemand& demand) const;
  [[nodiscard]] bool reserve_again(Kept& kept);
  template <class Ends>
  void end_if(const Ends& ends);
  void release(const Kept& kept);

  cluster::SharedLedger& ledger_;
  const Clock& clock_;
  const std::chrono::milliseconds hold_;  ///< of a reservation
  mutable std::mutex mutex_;              ///< before the ledger's
  std::vector<Kept> kept_;                ///< of one plan: a handful
};

}  // namespace tangram::extender
