#include "node/maintenance.hpp"

#include "base/sleeper.hpp"
#include "node/container/claims.hpp"

#include <chrono>
#include <utility>

namespace tangram::node {
namespace {

constexpr std::chrono::milliseconds kInterval{5'000};

}  // namespace

void Maintenance::run(const std::stop_token& stop) {
  other_owners_ = parts_.other_plugins.in_use();
  await_pods(stop);
  while (!stop.stop_requested()) {
    const bool knew_pods = parts_.pods.synced();
    parts_.enforcers.maintain(shared_cards(parts_.starter.claims()));
    if (knew_pods) keep_limits();
    // A lost card stays published while it is granted.
    if (parts_.pods.knows_all_grants()) {
      parts_.watcher.forget_lost(granted_cards(parts_.pods.all()));
    }
    relist_pods();
    look_at_other_owners();
    if (knew_pods) {
      sleep_until_stopped(kInterval, stop);
    } else {
      await_pods(stop);
    }
  }
}

/// Once all pods are known: until then one that is there may have no claim. No container may be
/// admitted in between, for its limits would be removed again.
void Maintenance::keep_limits() {
  const auto lock = parts_.journal.lock_claims();
  parts_.memory_limiters.keep(parts_.starter.claims());
}

/// Until all pods are known, shares that have ended may count, and a container that starts then
/// would find the limits of its card raised by them. But if the API server is away, what shares
/// need is maintained without it.
void Maintenance::await_pods(const std::stop_token& stop) const {
  constexpr std::chrono::milliseconds kLook{100};
  auto left = kInterval;
  for (; left > kLook && !parts_.pods.synced() && !stop.stop_requested(); left -= kLook) {
    sleep_until_stopped(kLook, stop);
  }
}

void Maintenance::relist_pods() {
  // Other keys may make the grants of waiting pods valid, or invalid.
  if (parts_.grant_keys != nullptr && parts_.grant_keys->look()) parts_.pod_reflector.relist();
  if (parts_.pods.has_room_again()) parts_.pod_reflector.relist_unless_asked();
}

/// Kubelet's checkpoint changes without an event of the API server.
void Maintenance::look_at_other_owners() {
  auto now = parts_.other_plugins.in_use();
  if (now != other_owners_) parts_.owners_changed();
  other_owners_ = std::move(now);
}

}  // namespace tangram::node
