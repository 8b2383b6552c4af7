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

/// Plays the users and kube-scheduler of a small cluster, round by round: pods end, pods arrive,
/// pods that wait are tried again. Users talk to the API server; the scheduler asks the extender
/// over HTTP for every decision, after its own fit of CPU and memory.
///
/// Deterministic: the same cluster, kinds, seed and policy give the same placements.
/// Threads: one at a time.
class Player {
 public:
  struct Parts {
    kube::KubeApi& api;
    ExtenderClient& extender;
    const std::vector<PodKind>& kinds;
  };
  struct Plan {
    std::size_t pods = 0;  ///< that arrive, besides those that the cluster begins with
    std::size_t per_round = 3;
    std::uint64_t seed = 1;
  };
  /// The parts outlive it. Reads the cluster; its pods without a node arrive first, and stay.
  static Result<Player> create(Parts parts, Plan plan);

  /// What is worth telling: the first of its kind that got a place, or was turned away for good.
  struct Story {
    std::string pod;  ///< "namespace/kind"
    std::string asks;
    std::string node;     ///< empty = turned away
    std::string outcome;  ///< the sentence, or what it got: " #3 #4 10.0 GiB 25%"
  };

  struct Counts {
    std::size_t arrived = 0;
    std::size_t running = 0;
    std::size_t waiting = 0;
    std::size_t refused = 0;  ///< that are wrong in themselves; nobody tries them again
    std::size_t ended = 0;
    std::size_t placed = 0;
    std::size_t placed_after_waiting = 0;
  };

  [[nodiscard]] bool done() const { return counts_.arrived >= plan_.pods + initial_; }
  /// So many more pods arrive than planned.
  void go_on(std::size_t pods) { plan_.pods += pods; }
  /// One round. @returns the stories of the round, or why nothing can go on
  Result<std::vector<Story>> play_round();

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::size_t total_pods() const { return plan_.pods + initial_; }
  [[nodiscard]] Audit& audit() { return audit_; }
  /// Granted compute of all cards after each round, 0..1.
  [[nodiscard]] const std::vector<double>& history() const { return history_; }
  /// Of the pods that have no place now.
  [[nodiscard]] Refusals refusals() const;
  /// The pod with the most cards, and one that waits for room: "namespace/name"; empty = none.
  [[nodiscard]] std::string example_running() const;
  [[nodiscard]] std::string example_waiting() const;

 private:
  struct Room {
    MilliCpu cpu;
    Mebibytes memory;
    std::map<std::string, std::size_t> card_number;  ///< by UUID, as the node lists them
  };
  struct PlayedPod {
    kube::Pod pod;
    std::string json;
    std::string kind;
    std::string asks;
    int lifetime = 0;  ///< rounds; 0 = stays
    bool tried = false;
    std::string node;
    std::string sentence;  ///< why it has no place
    bool wrong = false;    ///< in itself: trying again is of no use
    bool hopeful = false;  ///< a node could take it if others left
  };
  using Pods = std::map<std::string, PlayedPod>;  ///< by UID

  Player(Parts parts, Plan plan);
  Result<void> read_nodes();
  [[nodiscard]] static std::string asks_of(const kube::Pod& pod);
  Result<void> read_pods();
  Result<void> end_pods();
  Result<void> let_arrive();
  Result<void> admit(std::string json, std::string kind, std::string asks, int lifetime);
  Result<void> schedule(const std::string& uid, std::vector<Story>& stories);
  Result<void> place(PlayedPod& pod, const std::vector<std::string>& nodes);
  Result<void> learn_grant(PlayedPod& pod);
  void release(const PlayedPod& pod);
  void tell(const PlayedPod& pod, std::vector<Story>& stories);
  [[nodiscard]] std::vector<std::string> nodes_with_cpu(const PlayedPod& pod) const;
  [[nodiscard]] std::string cards_text(const PlayedPod& pod) const;
  /// Waits until the extender's watch shows the pod, or shows it no more.
  Result<void> wait_until_seen(const kube::Pod& pod, bool there);

  Parts parts_;
  Plan plan_;
  Arrivals arrivals_;
  std::size_t initial_ = 0;
  std::map<std::string, Room> rooms_;  ///< by node
  Pods pods_;
  std::deque<std::string> queue_;  ///< UIDs of pods that wait, the longest-waiting first
  std::map<int, std::vector<std::string>> ends_;  ///< UIDs by the round in which they end
  std::set<std::string> told_;
  int round_ = 0;
  bool room_was_made_ = true;
  Counts counts_;
  Audit audit_;
  std::vector<double> history_;
};

}  // namespace tangram::bench::demo
