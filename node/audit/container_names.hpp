#pragma once

#include "base/clock.hpp"
#include "node/audit/memory_check.hpp"
#include "node/kubelet/container_runtime.hpp"

#include <map>
#include <set>
#include <string>

namespace tangram::node {

/// The names of the containers that use cards, as the runtime tells them. Each is asked for once. A
/// pod with a container that the runtime did not tell is asked for again some seconds later, and so
/// is a runtime that did not answer: a look at the cards must not wait for it each time.
/// Threads: one at a time.
class ContainerNames {
 public:
  /// @param runtime  null = none: no container has a name
  ContainerNames(ContainerRuntime* runtime, const Clock& clock)
      : runtime_(runtime), clock_(clock) {}

  /// Asks for the containers that are new in these places, and forgets those that are not there.
  void update(const std::set<ProcessPlace>& places);
  [[nodiscard]] const ContainerNamesById& known() const { return known_; }

 private:
  void ask(const std::string& pod_uid, const std::set<ProcessPlace>& places);

  ContainerRuntime* const runtime_;
  const Clock& clock_;
  ContainerNamesById known_;
  std::map<std::string, TimePoint> again_;  ///< when to ask for a pod again, by UID
  TimePoint silent_until_;                  ///< the runtime is asked for nothing before
};

}  // namespace tangram::node
