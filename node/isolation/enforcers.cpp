#include "node/isolation/enforcers.hpp"

#include <algorithm>
#include <utility>

namespace tangram::node {

std::unique_ptr<Enforcer> make_none_enforcer(const EnforcerParts& parts);

namespace {

/// The enforcers that need nothing of a vendor; a vendor's own are in Vendor::enforcer(). A further
/// mode: its name in model/isolation.hpp, its .cpp with a function as above, an entry here, and a
/// line in CMakeLists.txt.
constexpr std::array kEnforcers{std::pair{model::Isolation::kNone, &make_none_enforcer}};

}  // namespace

void CardSharers::add(std::string_view allocation, const model::GrantedCard& part) {
  ceiling.memory = std::max(ceiling.memory, part.memory_limit);
  ceiling.compute = std::max(ceiling.compute, part.compute_limit);
  allocations.insert_or_assign(std::string(allocation), part.compute);
}

Enforcers::Enforcers(const EnforcerParts& parts, const Make& make_of_vendor) {
  for (const auto& [mode, make] : kEnforcers) enforcer_of(mode) = make(parts);
  for (const model::Isolation mode : model::kAllIsolationModes) {
    if (auto of_vendor = make_of_vendor(mode, parts)) enforcer_of(mode) = std::move(of_vendor);
    if (!enforcer_of(mode)) enforcer_of(mode) = make_none_enforcer(parts);
  }
}

void Enforcers::maintain(const SharedCards& shared) {
  for (const model::Isolation mode : model::kAllIsolationModes) {
    of(mode).keep(shared.at(static_cast<std::size_t>(mode)));
    of(mode).maintain();
  }
}

}  // namespace tangram::node
