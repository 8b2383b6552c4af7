#pragma once

#include "kube/api.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tangram::e2e {

/// Checks the cards with nothing but the objects of the API server, for every end-to-end test.
///
/// Reads Nodes and Pods as JSON with its own parser and rules. It shares no code with `model`, so
/// that it detects mistakes there.

struct CardUse {
  std::string model;
  long memory_mib = 0;
  long max_sharers = 0;
  bool healthy = true;
  std::set<std::string> modes;
  long granted_mib = 0;
  long granted_milli = 0;
  std::vector<std::string> sharers;  ///< UID of each container's pod
  std::set<std::string> isolations;  ///< of pods with part of the card
  bool whole = false;                ///< a container has the card to itself
};

struct Verdict {
  std::vector<std::string> problems;                            ///< empty = nothing wrong
  std::map<std::string, std::map<std::string, CardUse>> nodes;  ///< node -> card -> use
  int pods = 0;
  int bound = 0;    ///< pods with a node
  int granted = 0;  ///< of them, those with a grant

  [[nodiscard]] std::string summary() const;
};

/// Finds: a card over its memory, compute, sharers or with two isolation modes, or shared though a
/// container has it whole; a bound pod that
/// requested GPUs without a grant, or with one that names another pod or node, a missing card, or
/// other amounts than requested; a pending pod with a grant.
[[nodiscard]] Verdict check_cluster(kube::KubeApi& api);
/// The same for JSON texts: a v1.NodeList and a v1.PodList.
[[nodiscard]] Verdict check_lists(const std::string& nodes, const std::string& pods);

/// Where GET /api/v1/cluster differs from the verdict, card by card.
[[nodiscard]] std::vector<std::string> differences(const Verdict& verdict,
                                                   const std::string& cluster_json);

}  // namespace tangram::e2e
