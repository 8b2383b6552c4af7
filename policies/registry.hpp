#pragma once

#include "base/result.hpp"
#include "policies/least_waste.hpp"
#include "policies/policy.hpp"
#include "policies/workload.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::policies {

using PolicyPtr = std::unique_ptr<const Policy>;

/// What policies need besides the pod and the node.
struct PolicyOptions {
  /// fragmentation: the pods expected. Empty: it scores every place alike.
  std::shared_ptr<const Workload> workload = std::make_shared<const Workload>();
  /// least-waste: what was learned. Empty: a best fit.
  std::shared_ptr<const Prices> prices = std::make_shared<const Prices>();
  WasteWeights waste;  ///< least-waste: for studies; leave it
  /// bestfit: the free CPU and GPU at which a node counts as empty; the published constants,
  /// which are the largest node of the published trace.
  MilliCpu bestfit_cpu{128'000};
  MilliGpu bestfit_gpu{8'000};
};

/// The policy that is used where neither the pod nor the configuration names one.
inline constexpr std::string_view kDefaultPolicy = "least-waste";

/// Every policy's name, for messages, options and help.
[[nodiscard]] const std::vector<std::string_view>& policy_names();
/// The message for a name that no policy has, with those there are.
[[nodiscard]] std::string no_such_policy(std::string_view name);

/// @returns kInvalidArgument, naming the policies there are, if there is none of that name
Result<PolicyPtr> make_policy(std::string_view name, const PolicyOptions& options);

/// All policies, made with the same options. Immutable.
class PolicySet {
 public:
  explicit PolicySet(const PolicyOptions& options);
  /// @returns null if there is none of that name
  [[nodiscard]] const Policy* find(std::string_view name) const;

 private:
  std::vector<PolicyPtr> policies_;
};

}  // namespace tangram::policies
