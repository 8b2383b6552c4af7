#pragma once

#include "cli/cluster.hpp"
#include "cli/screen.hpp"

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
