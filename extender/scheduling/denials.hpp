#pragma once

#include "base/clock.hpp"
#include "cluster/pod_table.hpp"
#include "kube/objects.hpp"
#include "model/ledger.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

/// The answer to kube-scheduler that a pod fits no node. The pod waits for an event now.
struct Denial {
  cluster::PodPtr pod;      ///< as of waiting_pod()
  std::vector<bool> nodes;  ///< those asked about, by NodeIndex
  /// Those asked about that the ledger did not know, kMostUnknown at most.
  std::set<std::string, std::less<>> unknown;
  std::uint64_t version = 0;  ///< of the ledger, in which none of them takes the pod
  /// It is to be tried again soon, and gets no Error because it is nominated.
  bool for_now = false;
  TimePoint at;
  /// Pods that would have been named to be evicted, had the outcome of their bind been known.
  model::Ledger::Uids in_doubt;
};
using DenialPtr = std::shared_ptr<const Denial>;

/// After what answers pods may wait for an event that does not come: the last "does not fit" of
/// each pod, and offers of one node among others, until the pod is asked about again or its bind
/// comes. Threads: safe.
class Denials {
 public:
  /// Pods, of each kind; the oldest is forgotten first. kube-scheduler tries more at one event than
  /// it can bind before the next.
  static constexpr std::size_t kMost = 1'024;
  /// Nodes come one by one, and kube-scheduler asks only about nodes that have slots.
  static constexpr std::size_t kMostUnknown = 64;

  explicit Denials(const Clock& clock) : clock_(clock) {}

  /// @param for_now  as Denial::for_now
  void denied(const kube::Pod& pod, std::span<const std::string_view> names,
              const model::ClusterSnapshot& cluster, bool for_now);
  /// A preemption would have named these pods, but for their binds.
  void in_doubt(std::string_view pod_uid, model::Ledger::Uids pods);
  /// The pod was offered some of the nodes that fit. If its bind has not come by then, something
  /// else has refused them, another extender for instance, and kube-scheduler does not know of the
  /// others.
  void offered(const std::string& pod_uid, TimePoint until);
  /// The pod was offered all nodes, will be tried again by time, or its bind comes.
  void forget(std::string_view pod_uid);

  [[nodiscard]] std::vector<DenialPtr> all() const;  ///< by pod UID
  /// @returns null if there is none
  [[nodiscard]] DenialPtr find(std::string_view pod_uid) const;
  /// Pods whose bind has not come in time.
  [[nodiscard]] std::vector<std::string> offered_in_vain() const;
  /// They are tried again now.
  void forget_offered_in_vain();

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, DenialPtr, std::less<>> by_pod_;
  std::map<std::string, TimePoint, std::less<>> offered_until_;  ///< by pod UID
};

}  // namespace tangram::extender
