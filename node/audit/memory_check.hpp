#pragma once

#include "node/container/grant_check.hpp"
#include "node/container/processes.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Whether containers keep to their memory limits, by the driver's count. Pure functions.
namespace tangram::node {

/// A process on a card, and where it runs.
struct PlacedProcess {
  std::int64_t pid = 0;
  ProcessPlace place = {};
  std::uint64_t memory_bytes = 0;  ///< of that card
  friend bool operator==(const PlacedProcess&, const PlacedProcess&) = default;
};

/// What a container uses of a card, and its limit there.
struct MemoryUse {
  std::string pod_uid;
  std::string ns;
  std::string pod;
  std::string container;  ///< empty = the pod's containers with shares of the card, together
  std::string card;
  std::uint64_t used_bytes = 0;
  std::uint64_t limit_bytes = 0;  ///< 0 = it has no share of the card
  /// Those that are certainly this container's; none where the containers cannot be told apart.
  std::vector<PlacedProcess> processes = {};
  /// The names of its CDI devices; none of several containers together.
  std::vector<std::string> allocations = {};
};

/// Names of containers in their pods, by the runtime's id.
using ContainerNamesById = std::map<std::string, std::string>;

/// The use of a card by each container that shares it, also of those that use none of it, and by
/// the other containers of their pods. Pods without a share of the card are left out: the audit
/// reports them (Drift::Kind::kProcessWithoutGrant). So is who has whole cards: nobody is beside
/// it.
///
/// The container of a process is the one that the runtime knows by the id in the process's control
/// group. While a process of the pod is in a container without a known name, the containers with
/// shares cannot be told apart: only the sum of their processes, and of those without a name, is
/// compared with the sum of their limits. This happens without a connection to the runtime, and
/// while a container starts or ends. If the pod has one container with a share of the card, the
/// result has that one's name.
[[nodiscard]] std::vector<MemoryUse> memory_uses(const std::string& card,
                                                 const std::vector<PlacedProcess>& processes,
                                                 const std::vector<CardClaim>& claims,
                                                 const ContainerNamesById& names);

/// Above the limit by more than 64 MiB and more than 1 % of it. The driver's count is not that of
/// whoever enforces the limit: it has the driver's own memory for each process, and rounds each
/// allocation up to 2 MiB.
[[nodiscard]] bool is_over_limit(const MemoryUse& use);

}  // namespace tangram::node
