#pragma once

#include "kube/api.hpp"

#include <map>
#include <string>

namespace tangram::e2e {

/// What kubelet reports about one container.
struct ContainerState {
  bool running = false;
  bool started_once = false;  ///< it runs, or ran before
  int restarts = 0;
  std::string waiting;  ///< why it does not run: "CreateContainerConfigError"
  std::string message;  ///< details of `waiting`
};

/// What the API server reports about one pod.
struct PodState {
  std::string uid;
  std::string node;
  std::string phase;
  std::string reason;  ///< of a pod that failed as a whole: "UnexpectedAdmissionError"
  std::string message;
  bool deleting = false;
  std::map<std::string, ContainerState> containers;  ///< sidecars too

  [[nodiscard]] bool all_running() const;
};
using PodStates = std::map<std::string, PodState>;  ///< by name

/// All pods of the tests' namespace. @throws std::runtime_error if the API server does not answer
[[nodiscard]] PodStates pod_states(kube::KubeApi& api);

/// Why the pod does not run, for messages.
[[nodiscard]] std::string describe(const PodState& pod);

/// All events about pods and nodes, one line each: "NAME REASON: MESSAGE".
[[nodiscard]] std::string events_text(kube::KubeApi& api);

}  // namespace tangram::e2e
