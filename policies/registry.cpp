#include "policies/registry.hpp"

#include "base/quote.hpp"
#include "base/spelling.hpp"
#include "policies/bestfit.hpp"
#include "policies/fragmentation.hpp"
#include "policies/least_waste.hpp"

#include <array>
#include <string>

namespace tangram::policies {

// Policies that only the registry makes have no header.
PolicyPtr make_binpack(const PolicyOptions& options);
PolicyPtr make_spread(const PolicyOptions& options);

namespace {

/// The list of policies. Their names are what name() says.
constexpr std::array<PolicyPtr (*)(const PolicyOptions&), 5> kMakers{
    [](const PolicyOptions& options) -> PolicyPtr {
      return std::make_unique<const LeastWaste>(options.prices, options.waste);
    },
    [](const PolicyOptions& options) -> PolicyPtr {
      return std::make_unique<const Fragmentation>(*options.workload);
    },
    make_binpack,
    [](const PolicyOptions& options) -> PolicyPtr {
      return std::make_unique<const BestFit>(options.bestfit_cpu, options.bestfit_gpu);
    },
    make_spread,
};

}  // namespace

const std::vector<std::string_view>& policy_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    names.reserve(std::size(kMakers));
    for (const auto make : kMakers) names.push_back(make({})->name());
    return names;
  }();
  return kNames;
}

std::string no_such_policy(std::string_view name) {
  return "there is no policy " + quote(name) + "; write one of " + alternatives(policy_names());
}

Result<PolicyPtr> make_policy(std::string_view name, const PolicyOptions& options) {
  for (const auto make : kMakers) {
    if (auto policy = make(options); policy->name() == name) return policy;
  }
  return fail(Errc::kInvalidArgument, no_such_policy(name));
}

PolicySet::PolicySet(const PolicyOptions& options) {
  for (const auto make : kMakers) policies_.push_back(make(options));
}

const Policy* PolicySet::find(std::string_view name) const {
  for (const auto& policy : policies_) {
    if (policy->name() == name) return policy.get();
  }
  return nullptr;
}

}  // namespace tangram::policies
