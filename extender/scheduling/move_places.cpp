#include "extender/scheduling/move_places.hpp"

#include "model/ledger.hpp"

#include <algorithm>
#include <utility>

namespace tangram::extender {

bool MovePlaces::reserve(std::vector<MovePlace> places) {
  const std::scoped_lock lock(mutex_);
  const auto is_kept = [&](const MovePlace& place) { return find(place.mover) != nullptr; };
  if (std::ranges::any_of(places, is_kept)) return false;
  const bool all = ledger_.apply([&](model::Ledger& ledger) {
    const bool reserved = std::ranges::all_of(places, [&](const MovePlace& place) {
      return ledger.reserve(place.room, hold_).has_value();
    });
    if (reserved) return true;
    for (const MovePlace& place : places) ledger.release_reservation(place.room.pod_uid);
    return false;
  });
  if (!all) return false;
  for (MovePlace& place : places) kept_.push_back({.place = std::move(place)});
  return true;
}

template <class Ends>
void MovePlaces::end_if(const Ends& ends) {
  std::erase_if(kept_, [&](const Kept& kept) {
    if (!ends(kept)) return false;
    ledger_.apply(
        [&](model::Ledger& ledger) { ledger.release_reservation(kept.place.room.pod_uid); });
    return true;
  });
}

bool MovePlaces::evicted(std::string_view mover) {
  const std::scoped_lock lock(mutex_);
  const auto kept =
      std::ranges::find(kept_, mover, [](const Kept& one) { return one.place.mover; });
  if (kept == kept_.end()) return false;
  kept->place.room.priority = model::kNoPriority;
  kept->until = clock_.now() + kUntilTaken;
  if (reserve_again(*kept)) return true;
  end_if([&](const Kept& one) { return one.place.mover == mover; });
  return false;
}

bool MovePlaces::keep() {
  const std::scoped_lock lock(mutex_);
  end_if([&](const Kept& kept) { return kept.until && clock_.now() >= *kept.until; });
  bool all = true;
  for (Kept& kept : kept_) all = (reserve_again(kept) || kept.until) && all;
  return all;
}

/// Unless the pod that took it holds it in its own name.
bool MovePlaces::reserve_again(Kept& kept) {
  if (kept.bound) return true;
  return ledger_.apply([&](model::Ledger& ledger) {
    ledger.expire_reservations();
    const auto* taken = kept.taker.empty() ? nullptr : ledger.find(kept.taker);
    kept.bound = taken != nullptr && taken->phase == model::Phase::kConfirmed;
    if (taken != nullptr) {
      const bool here = taken->allocation->node == kept.place.room.node;
      if (here) ledger.renew_reservation(kept.taker, hold_);  // its bind may take its time
      return true;
    }
    kept.taker.clear();
    const auto* own = ledger.find(kept.place.room.pod_uid);
    if (own == nullptr || own->allocation->priority != kept.place.room.priority) {
      return ledger.reserve(kept.place.room, hold_).has_value();
    }
    ledger.renew_reservation(kept.place.room.pod_uid, hold_);
    return true;
  });
}

bool MovePlaces::is_bound(std::string_view mover) const {
  const std::scoped_lock lock(mutex_);
  const Kept* kept = find(mover);
  return kept != nullptr && kept->bound;
}

void MovePlaces::end(std::string_view mover) {
  const std::scoped_lock lock(mutex_);
  end_if([&](const Kept& kept) { return kept.place.mover == mover; });
}

void MovePlaces::end_unused() {
  const std::scoped_lock lock(mutex_);
  end_if([](const Kept& kept) { return !kept.until; });
}

const MovePlaces::Kept* MovePlaces::find(std::string_view mover) const {
  const auto kept =
      std::ranges::find(kept_, mover, [](const Kept& one) { return one.place.mover; });
  return kept == kept_.end() ? nullptr : &*kept;
}

const MovePlaces::Kept* MovePlaces::find_for(const kube::Pod& pod,
                                             const model::PodDemand& demand) const {
  const Kept* free = nullptr;
  for (const Kept& kept : kept_) {
    if (kept.bound) continue;
    if (kept.taker == pod.uid) return &kept;
    const bool alike = kept.until && kept.place.ns == pod.ns &&
                       kept.place.controller == pod.controller && kept.place.demand == demand;
    if (free == nullptr && alike && kept.taker.empty()) free = &kept;
  }
  return free;
}

void MovePlaces::leave_out(std::vector<model::AllocationPtr>& unconfirmed) const {
  const std::scoped_lock lock(mutex_);
  std::erase_if(unconfirmed, [&](const model::AllocationPtr& one) {
    return std::ranges::any_of(
        kept_, [&](const Kept& kept) { return kept.place.room.pod_uid == one->pod_uid; });
  });
}

std::optional<model::Allocation> MovePlaces::place_for(const kube::Pod& pod,
                                                       const model::PodDemand& demand) const {
  const std::scoped_lock lock(mutex_);
  const Kept* kept = pod.controller.kind.empty() ? nullptr : find_for(pod, demand);
  if (kept == nullptr) return std::nullopt;
  model::Allocation place = kept->place.room;
  place.pod_uid = pod.uid;
  place.pod_name = pod.name;
  place.labels = pod.labels;
  place.priority = model::kNoPriority;  // as before: the bind replaces it
  return place;
}

bool MovePlaces::take(const model::Allocation& of_pod, std::chrono::milliseconds hold) {
  const std::scoped_lock lock(mutex_);
  const auto kept = std::ranges::find_if(kept_, [&](const Kept& one) {
    if (one.bound) return false;
    if (one.taker == of_pod.pod_uid) return true;
    return one.taker.empty() && one.until && one.place.ns == of_pod.pod_namespace &&
           one.place.room.containers == of_pod.containers && one.place.room.node == of_pod.node;
  });
  if (kept == kept_.end()) return false;
  const bool taken = ledger_.apply([&](model::Ledger& ledger) {
    ledger.release_reservation(kept->place.room.pod_uid);
    if (ledger.reserve(of_pod, hold)) return true;
    (void)ledger.reserve(kept->place.room, hold_);
    return false;
  });
  if (taken) kept->taker = of_pod.pod_uid;
  return taken;
}

}  // namespace tangram::extender
