#pragma once

#include "node/isolation/enforcer.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>

namespace tangram::node {

/// Cards by the isolation mode in which containers share them.
using SharedCards = std::array<CardsInMode, model::kIsolationModes>;

/// For a mode in which nothing is set up, and nothing holds pods to their shares.
/// @param note  Enforcement::note
[[nodiscard]] std::unique_ptr<Enforcer> make_idle_enforcer(std::string note);

/// The enforcer of each isolation mode. Threads: safe.
class Enforcers {
 public:
  using Make = std::function<std::unique_ptr<Enforcer>(model::Isolation, const EnforcerParts&)>;

  /// @param make_of_vendor  null for a mode that the vendor does not enforce
  Enforcers(const EnforcerParts& parts, const Make& make_of_vendor);

  [[nodiscard]] Enforcer& of(model::Isolation mode) const {
    return *enforcers_.at(static_cast<std::size_t>(mode));
  }

  /// Keeps these cards prepared, repairs what they need, and gives back all others.
  void maintain(const SharedCards& shared);

 private:
  std::unique_ptr<Enforcer>& enforcer_of(model::Isolation mode) {
    return enforcers_.at(static_cast<std::size_t>(mode));
  }

  std::array<std::unique_ptr<Enforcer>, model::kIsolationModes> enforcers_;
};

}  // namespace tangram::node
