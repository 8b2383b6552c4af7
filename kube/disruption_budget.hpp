#pragma once

#include "base/result.hpp"
#include "model/node_state.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::kube {

using model::Labels;

/// A metav1.LabelSelector: all of its terms must hold.
struct LabelSelector {
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist, kUnknown };
  struct Term {
    std::string key;
    Operator op = Operator::kIn;
    std::vector<std::string> values;
  };
  std::vector<Term> terms;  ///< matchLabels too, each as "In" one value

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

  /// kube-scheduler's rule (preemption.filterPodsWithPDBViolation): an empty selector covers
  /// nothing, and a pod whose eviction is under way does not count again.
  [[nodiscard]] bool covers(std::string_view pod_ns, std::string_view pod_name,
                            const Labels& labels) const;
};

/// @returns kInvalidArgument, with the path of what is wrong
Result<DisruptionBudget> decode_disruption_budget(std::string text);

}  // namespace tangram::kube
