#pragma once

#include "base/result.hpp"
#include "model/node_state.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::kube {

using model::Labels;

/// A metav1.LabelSelector: all of its terms must hold.
///
/// Who may write a budget chooses how large its selector is: 2 MB of JSON have 700,000 empty
/// values, which take 45 MB here. Selectors that people and controllers write are far below these
/// limits.
struct LabelSelector {
  /// Terms are about different labels, as a rule, and honest pods have less than 100 labels.
  static constexpr std::size_t kMostTerms = 64;
  /// Of all terms together: as many as label values that a person can list. They take 30 KB.
  static constexpr std::size_t kMostValues = 256;
  /// The longest key of a label: a prefix of 253 characters, a slash and 63 characters. A value has
  /// 63 at most, but budgets from before that was checked may have longer ones.
  static constexpr std::size_t kLongestText = 317;

  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist, kUnknown };
  struct Term {
    std::string key;
    Operator op = Operator::kIn;
    std::vector<std::string> values;
  };
  std::vector<Term> terms;  ///< matchLabels too, each as "In" one value
  bool too_large = false;   ///< past a limit: has no terms here, and may match anything

  /// True for every set of labels if there are no terms; false if an operator is unknown.
  [[nodiscard]] bool matches(const Labels& labels) const;
};

/// A policy/v1 PodDisruptionBudget, as far as choosing victims needs it.
struct DisruptionBudget {
  std::string uid;
  std::string ns;
  std::string name;
  LabelSelector selector;
  int allowed = 0;                               ///< status.disruptionsAllowed
  std::set<std::string, std::less<>> disrupted;  ///< status.disruptedPods, by pod name

  /// The API server evicts no pod of a budget with more (MaxDisruptedPodSize in
  /// pkg/registry/core/pod/storage/eviction.go). Further ones are left out, so they are covered.
  static constexpr std::size_t kMostDisrupted = 2'000;

  /// kube-scheduler's rule (preemption.filterPodsWithPDBViolation): an empty selector covers
  /// nothing, and a pod whose eviction is under way does not count again.
  ///
  /// A selector that is too large covers all pods of the namespace. This is the safe side: a
  /// preemption spares pods that a budget covers, and prefers victims that none covers. Budgets are
  /// used for nothing else here; of evictions the API server decides.
  [[nodiscard]] bool covers(std::string_view pod_ns, std::string_view pod_name,
                            const Labels& labels) const;
};

/// @returns kInvalidArgument, with the path of what is wrong
Result<DisruptionBudget> decode_disruption_budget(std::string text);

}  // namespace tangram::kube
