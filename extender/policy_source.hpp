#pragma once

#include "base/result.hpp"
#include "extender/books.hpp"
#include "kube/objects.hpp"
#include "policies/choice_cache.hpp"
#include "policies/registry.hpp"
#include "policies/workload.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

namespace tangram::extender {

struct PolicySettings {
  std::string default_policy{policies::kDefaultPolicy};
  model::Isolation default_isolation = model::Isolation::kMps;
  policies::PolicyOptions options;    ///< with the workload if it is fixed
  bool learn_workload = true;         ///< false: options.workload stays
  std::size_t window_pods = 20'000;   ///< pods remembered for the workload
  std::size_t relearn_every = 1'000;  ///< pods between two rebuilds, once there are that many
  int coverage_percent = 95;
};

/// The policies made for one workload, with what they remember of the nodes.
struct PoliciesInForce {
  /// Shapes of pods remembered; 200 cover the busiest published trace (151), and at 5,000 nodes
  /// take 80 MiB at most.
  static constexpr std::size_t kShapes = 200;

  explicit PoliciesInForce(const policies::PolicyOptions& options)
      : workload(options.workload), set(options), cache(kShapes) {}

  std::shared_ptr<const policies::Workload> workload;
  policies::PolicySet set;
  mutable policies::ChoiceCache cache;  ///< safe from any thread; changes no answer
};

/// A pod's demand with the policy that places it.
struct PodPlan {
  model::PodDemand demand;
  std::shared_ptr<const PoliciesInForce> policies;  ///< keeps `policy` alive
  const policies::Policy* policy = nullptr;
};

/// Reads what pods ask for and hands out the policies in force. Learns the workload that the
/// fragmentation policy aims at from the pods that arrive: rebuilt at 25, 50, 100, ... pods, then
/// every `relearn_every`. Threads: safe.
class PolicySource {
 public:
  explicit PolicySource(PolicySettings settings);

  /// @returns kInvalidArgument: what is wrong with the pod's annotations and what to write
  [[nodiscard]] Result<PodPlan> plan(const kube::Pod& pod) const;

  /// A pod was seen for the first time.
  void arrived(const kube::Pod& pod);

  /// What the fragmentation policy aims at now.
  [[nodiscard]] std::shared_ptr<const policies::Workload> workload() const;

 private:
  void relearn();

  PolicySettings settings_;
  Published<PoliciesInForce> in_force_;
  mutable std::mutex learning_;
  std::deque<model::PodDemand> window_;  ///< under learning_
  std::size_t arrivals_ = 0;             ///< under learning_
  std::size_t next_relearn_ = 25;        ///< under learning_
};

}  // namespace tangram::extender
