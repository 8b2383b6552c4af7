#pragma once

#include "base/result.hpp"
#include "bench/demo/audit.hpp"
#include "bench/demo/refusals.hpp"
#include "bench/demo/workload.hpp"
#include "bench/extender_client.hpp"
#include "kube/api.hpp"
#include "kube/objects.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tangram::bench::demo {

/// Acts as the users and kube-scheduler of a small cluster, round by round: pods end, pods arrive,
/// waiting pods are tried again. Users call the API server. The scheduler checks CPU and memory
/// itself, and then calls the extender over HTTP for every decision.
///
/// Deterministic: the same cluster, kinds, seed and policy give the same placements.
/// Threads: one at a time.
class Driver {
 public:
  struct Parts {
    kube::KubeApi& api;
    ExtenderClient& extender;
    const std::vector<PodKind>& kinds;
  };
  struct Plan {
    std::size_t pods = 0;  ///< that arrive, besides the initial ones
    std::size_t per_round = 3;
    std::uint64_t seed = 1;
  };
  /// The parts outlive it. Reads the cluster; its pods without a node arrive first, and stay.
  static Result<Driver> create(Parts parts, Plan plan);

  /// The first pod of a kind that was placed, or rejected as invalid.
  struct Highlight {
    std::string pod;  ///< "namespace/kind"
    std::string request;
    std::string node;     ///< empty = rejected
    std::string outcome;  ///< the reason, or its allocation: " #3 #4 10.0 GiB 25%"
  };

  struct Counts {
    std::size_t arrived = 0;
    std::size_t running = 0;
    std::size_t waiting = 0;
    std::size_t refused = 0;  ///< as invalid; not tried again
    std::size_t ended = 0;
    std::size_t placed = 0;
    std::size_t placed_after_waiting = 0;
  };

  [[nodiscard]] bool done() const { return counts_.arrived >= plan_.pods + initial_; }
  /// Adds pods to the plan.
  void extend(std::size_t pods) { plan_.pods += pods; }
  /// One round. @returns the highlights of the round, or why the demo cannot continue
  Result<std::vector<Highlight>> run_round();

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::size_t total_pods() const { return plan_.pods + initial_; }
  [[nodiscard]] Audit& audit() { return audit_; }
  /// Granted compute of all cards after each round, 0..1.
  [[nodiscard]] const std::vector<double>& history() const { return history_; }
  /// Of the pods without a node.
  [[nodiscard]] Refusals refusals() const;
  /// The pod with the most cards, and one that waits for room: "namespace/name"; empty = none.
  [[nodiscard]] std::string example_running() const;
  [[nodiscard]] std::string example_waiting() const;

 private:
  struct Room {
    MilliCpu cpu;
    Mebibytes memory;
    bool has_cards = false;
  };
  struct TrackedPod {
    kube::Pod pod;
    std::string json;
    std::string kind;
    std::string request;
    int lifetime = 0;  ///< rounds; 0 = stays
    bool tried = false;
    std::string node;
    std::string sentence;            ///< why it has no node
    bool invalid = false;            ///< the request itself: it is not tried again
    bool others_in_the_way = false;  ///< a node could take it if other pods ended
  };
  using Pods = std::map<std::string, TrackedPod>;  ///< by UID

  Driver(Parts parts, Plan plan);
  Result<void> read_nodes();
  Result<void> read_pods();
  Result<void> end_pods();
  Result<void> let_arrive();
  Result<void> admit(std::string json, std::string kind, std::string request, int lifetime);
  Result<void> schedule(const std::string& uid, std::vector<Highlight>& highlights);
  Result<void> place(TrackedPod& pod, const std::vector<std::string>& nodes);
  Result<void> learn_grant(TrackedPod& pod);
  void release(const TrackedPod& pod);
  void report_first(const TrackedPod& pod, std::vector<Highlight>& highlights);
  [[nodiscard]] std::vector<std::string> nodes_with_cpu(const TrackedPod& pod) const;
  [[nodiscard]] std::string cards_text(const TrackedPod& pod) const;
  /// Waits until the extender's watch shows the pod, or no longer shows it.
  Result<void> wait_until_seen(const kube::Pod& pod, bool there);

  Parts parts_;
  Plan plan_;
  Arrivals arrivals_;
  std::size_t initial_ = 0;
  std::map<std::string, Room> rooms_;  ///< by node
  Pods pods_;
  std::deque<std::string> queue_;                 ///< UIDs of waiting pods, the oldest first
  std::map<int, std::vector<std::string>> ends_;  ///< UIDs by the round in which they end
  std::set<std::string> reported_;
  int round_ = 0;
  bool room_was_freed_ = true;
  Counts counts_;
  Audit audit_;
  std::vector<double> history_;
};

}  // namespace tangram::bench::demo
