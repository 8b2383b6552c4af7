#pragma once

#include "base/result.hpp"
#include "cli/cluster.hpp"
#include "cli/screen.hpp"

#include <functional>
#include <string>
#include <vector>

/// `pods`: the pods that request cards, what they were granted, and their state.
namespace tangram::cli {

/// One line of the list.
struct PodLine {
  std::string ns;
  std::string name;
  std::string node = {};                ///< empty = none yet
  std::vector<std::string> cards = {};  ///< UUIDs, container by container
  std::string request = {};             ///< "0.5"; empty = invalid, or no cards
  std::string grant = {};               ///< "40Gi, 0.5"; empty = none
  std::string isolation = {};           ///< of the grant; empty = none
  std::string memory_limits = {};       ///< by what they are enforced: limits_text()
  std::string state = {};               ///< "Pending", "Running", ...: see state_of()
  std::string resize = {};              ///< "Deferred", ...; empty = it has what it requests
  std::vector<cluster::Note> findings = {};
};

/// Gated, Pending, Starting, NotYet, CannotStart, Running or Terminating. The pod's status has the
/// agent's message on a container that does not start.
[[nodiscard]] std::string state_of(const kube::Pod& pod);

/// @param ns  empty = of all namespaces
[[nodiscard]] std::vector<PodLine> pod_lines(const Cluster& cluster, const std::string& ns);

/// The page /api/v1/explain of a pod.
using ExplainPod =
    std::function<Result<std::string>(const std::string& ns, const std::string& pod)>;
/// Asks the extender about the resizes that the API server's objects show as proposed or in
/// progress: only the extender knows whether it can write what they need.
/// @returns the extender's error, unless it knows no such pod
Result<void> ask_about_resizes(std::vector<PodLine>& pods, const ExplainPod& explain);

struct PodListStyle {
  bool namespaces = false;  ///< a column for them
  bool wide = false;        ///< whole UUIDs, isolation, memory limits and findings
};
[[nodiscard]] std::string draw_pods(const Screen& screen, const std::vector<PodLine>& pods,
                                    const PodListStyle& style);

/// {"pods": [{"namespace", "name", "node", "cards", "request", "grant", "isolation",
/// "memoryLimits", "state", "resize", "findings": [{"finding", "message"}]}]}
[[nodiscard]] std::string pods_json(const std::vector<PodLine>& pods);

}  // namespace tangram::cli
