#include "policies/registry.hpp"

#include "policies/bestfit.hpp"
#include "policies/binpack.hpp"
#include "policies/fragmentation.hpp"
#include "policies/least_waste.hpp"
#include "policies/spread.hpp"

#include <array>
#include <string>

namespace tangram::policies {

namespace {

using Made = std::unique_ptr<const Policy>;

struct Maker {
  std::string_view name;
  Made (*make)(const PolicyOptions& options);
};

constexpr std::array<Maker, 5> kMakers{{
    {"least-waste",
     [](const PolicyOptions& options) -> Made {
       return std::make_unique<const LeastWaste>(options.prices, options.waste);
     }},
    {"fragmentation",
     [](const PolicyOptions& options) -> Made {
       return std::make_unique<const Fragmentation>(*options.workload);
     }},
    {"binpack", [](const PolicyOptions&) -> Made { return std::make_unique<const Binpack>(); }},
    {"bestfit",
     [](const PolicyOptions& options) -> Made {
       return std::make_unique<const BestFit>(options.bestfit_cpu, options.bestfit_gpu);
     }},
    {"spread", [](const PolicyOptions&) -> Made { return std::make_unique<const Spread>(); }},
}};

std::string all_names() {
  std::string names;
  for (const std::string_view name : policy_names()) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

}  // namespace

const std::vector<std::string_view>& policy_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    names.reserve(kMakers.size());
    for (const Maker& maker : kMakers) names.push_back(maker.name);
    return names;
  }();
  return kNames;
}

Result<std::unique_ptr<const Policy>> make_policy(std::string_view name,
                                                  const PolicyOptions& options) {
  for (const Maker& maker : kMakers) {
    if (maker.name == name) return maker.make(options);
  }
  return fail(Errc::kInvalidArgument,
              "there is no policy \"" + std::string(name) + "\"; write one of: " + all_names());
}

PolicySet::PolicySet(const PolicyOptions& options) {
  for (const Maker& maker : kMakers) policies_.push_back(maker.make(options));
}

const Policy* PolicySet::find(std::string_view name) const {
  for (const auto& policy : policies_) {
    if (policy->name() == name) return policy.get();
  }
  return nullptr;
}

}  // namespace tangram::policies
