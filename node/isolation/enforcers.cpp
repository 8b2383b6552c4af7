#include "node/isolation/enforcers.hpp"

#include "node/isolation/none_enforcer.hpp"

namespace tangram::node {

Enforcers::Enforcers(const Make& make) {
  for (const model::Isolation mode : model::kAllIsolationModes) {
    auto& enforcer = enforcers_.at(static_cast<std::size_t>(mode));
    enforcer = make(mode);
    if (!enforcer) enforcer = std::make_unique<NoneEnforcer>();
  }
}

void Enforcers::maintain(const SharedCards& shared) {
  for (const model::Isolation mode : model::kAllIsolationModes) {
    of(mode).keep(shared.at(static_cast<std::size_t>(mode)));
    of(mode).maintain();
  }
}

}  // namespace tangram::node
