#pragma once

#include "cli/cluster.hpp"
#include "cli/screen.hpp"

#include <string>
#include <vector>

/// `pods`: who asks for cards, and who has which.
namespace tangram::cli {

/// One line of the list.
struct PodLine {
  std::string ns;
  std::string name;
  std::string node = {};                ///< empty = none yet
  std::vector<std::string> cards = {};  ///< UUIDs, container by container
  std::string request = {};             ///< "0.5"; empty = cannot be read, or it asks for nothing
  std::string grant = {};               ///< "40Gi, 0.5"; empty = none
  std::string isolation = {};           ///< of the grant; empty = none
  std::string state = {};               ///< "Pending", "Running", ...: see state_of()
  std::vector<cluster::Note> findings = {};
};

/// Gated, Pending, Starting, NotYet, CannotStart, Running or Terminating. The agent's words on a
/// container that does not start are in the pod's status.
[[nodiscard]] std::string state_of(const kube::Pod& pod);

/// @param ns  empty = of all namespaces
[[nodiscard]] std::vector<PodLine> pod_lines(const Cluster& cluster, const std::string& ns);

struct PodListStyle {
  bool namespaces = false;  ///< a column for them
  bool wide = false;        ///< whole UUIDs, isolation and findings
};
[[nodiscard]] std::string draw_pods(const Screen& screen, const std::vector<PodLine>& pods,
                                    const PodListStyle& style);

/// {"pods": [{"namespace", "name", "node", "cards", "request", "grant", "isolation", "state",
/// "findings": [{"finding", "message"}]}]}
[[nodiscard]] std::string pods_json(const std::vector<PodLine>& pods);

}  // namespace tangram::cli
