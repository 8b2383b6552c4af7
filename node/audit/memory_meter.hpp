#pragma once

#include "base/clock.hpp"
#include "node/audit/container_names.hpp"
#include "node/audit/memory_check.hpp"
#include "node/cards/card_source.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tangram::node {

/// Reads what containers use of cards, by the driver's count. A reading costs the driver's list of
/// processes for each card, and /proc for the processes in it. Threads: one at a time.
class MemoryMeter {
 public:
  /// @param runtime  null = none: containers of a pod cannot be told apart
  MemoryMeter(CardSource& source, const Processes& processes, ContainerRuntime* runtime,
              const Clock& clock)
      : source_(source), processes_(processes), names_(runtime, clock) {}

  /// By card, what memory_uses() says. Cards whose driver does not answer are left out.
  std::map<std::string, std::vector<MemoryUse>> read(const std::set<std::string>& cards,
                                                     const std::vector<CardClaim>& claims);

 private:
  CardSource& source_;
  const Processes& processes_;
  ContainerNames names_;
};

}  // namespace tangram::node
