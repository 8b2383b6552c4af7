#pragma once

#include "base/result.hpp"
#include "cluster/pod_observer.hpp"
#include "cluster/shared_ledger.hpp"
#include "kube/objects.hpp"
#include "policies/arrival_log.hpp"
#include "policies/choice_cache.hpp"
#include "policies/registry.hpp"
#include "policies/workload.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace tangram::cluster {

struct PolicySettings {
  std::string default_policy{policies::kDefaultPolicy};
  model::RequestRules requests;
  policies::PolicyOptions options;  ///< with the workload if it is fixed
  bool learn_workload = true;       ///< false: options.workload stays; prices are still learned
  bool learn_at_once = true;        ///< false: PolicySource::keep_learning() does it
  policies::ArrivalLimits learning;
  int coverage_percent = 95;
};

/// The cluster at this moment, for prices. Called under a lock, so it must not call back.
using ClusterNow = std::function<ClusterPtr()>;

/// The policies made for one workload, with what they remember of the nodes.
struct PoliciesInForce {
  /// Shapes of pods remembered: the busiest published trace has 151. With half as many that came
  /// only once, at 5,000 nodes 54 MiB, or 83 after all nodes have changed at a time.
  static constexpr std::size_t kShapes = 256;

  explicit PoliciesInForce(const policies::PolicyOptions& options)
      : workload(options.workload), prices(options.prices), set(options), cache(kShapes) {}

  std::shared_ptr<const policies::Workload> workload;
  std::shared_ptr<const policies::Prices> prices;
  policies::PolicySet set;
  mutable policies::ChoiceCache cache;  ///< safe from any thread; changes no answer
};

/// A pod's demand with the policy that places it.
struct PodPlan {
  model::PodDemand demand;
  std::shared_ptr<const PoliciesInForce> policies;  ///< keeps `policy` alive
  const policies::Policy* policy = nullptr;
};

/// Reads what pods ask for and hands out the policies in force. Learns from the pods that arrive
/// what the fragmentation policy aims at and the prices of the least-waste policy, when an
/// ArrivalLog says that it is time. What hardly differs from what is in force is not taken over,
/// because every node would have to be scored anew. Threads: safe.
class PolicySource final : public PodObserver {
 public:
  /// Learned workloads this far apart, in percent, are different (see distance_percent()).
  static constexpr int kSameWorkload = 10;

  /// @param cluster  for prices; without it there are none
  explicit PolicySource(PolicySettings settings, ClusterNow cluster = nullptr);

  /// @returns kInvalidArgument: what is wrong with the pod's annotations and what to write
  [[nodiscard]] Result<PodPlan> plan(const kube::Pod& pod) const;

  /// A pod was seen for the first time.
  void arrived(const kube::Pod& pod, const Result<PodPlan>& plan) override;
  /// A list of pods begins or ends: nothing is learned before its end, because the pods of a large
  /// cluster would be learned from more than a hundred times over.
  void listing(bool begins) override;

  /// Learns whenever it is time, until stopped; for settings.learn_at_once = false. Nobody waits
  /// for it: what it learns comes into force once the nodes have been scored anew by it, and
  /// arrived() is not kept waiting while it counts.
  void keep_learning(const std::stop_token& stop);

  /// What the fragmentation policy aims at now.
  [[nodiscard]] std::shared_ptr<const policies::Workload> workload() const;
  /// What the least-waste policy goes by now.
  [[nodiscard]] std::shared_ptr<const policies::Prices> prices() const;

 private:
  [[nodiscard]] bool time_to_learn() const { return due_ && !listing_; }
  /// @returns what has arrived; nothing is due any more
  [[nodiscard]] policies::Arrivals take_due();
  void learn_at_once();
  /// Called by one thread at a time: keep_learning(), or the one that holds learning_.
  void learn(policies::Arrivals latest);
  /// Scores the nodes by the next policies for all shapes that are remembered of these.
  void score_anew(const PoliciesInForce& now, const PoliciesInForce& next) const;

  PolicySettings settings_;
  ClusterNow cluster_;
  Published<PoliciesInForce> in_force_;
  policies::ArrivalWindow window_;  ///< of learn()
  mutable std::mutex learning_;
  std::condition_variable_any time_has_come_;
  // Under learning_, which arrived() takes: keep_learning() computes and copies nothing under it.
  policies::ArrivalLog arrivals_;
  bool listing_ = false;
  bool due_ = false;  ///< it is time to learn, and a list has not ended
};

}  // namespace tangram::cluster
