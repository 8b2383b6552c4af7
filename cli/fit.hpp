#pragma once

#include "base/result.hpp"
#include "cli/cluster.hpp"
#include "cli/screen.hpp"
#include "cli/simulation.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

/// `fit`: how many more pods of a kind the cluster would take, and where.
namespace tangram::cli {

/// The pod that is asked about, in the annotations' words.
struct FitQuestion {
  std::map<std::string, std::string> annotations = {};  ///< "gpu-fraction": "0.5", no prefix
  std::string cpu = {};     ///< requests.cpu, a Kubernetes quantity; empty = none
  std::string memory = {};  ///< requests.memory
  std::size_t count = 0;    ///< "do so many fit?"; 0 = not asked
};

/// Counting ends here: it is a number for people, and one node may take hundreds of tiny pods.
inline constexpr std::size_t kMostCounted = 100'000;

/// The question as a pod of one container.
/// @returns kInvalidArgument: what is wrong with an amount, and what to write
Result<kube::Pod> pod_of(const FitQuestion& question);

struct FitAnswer {
  std::string request;  ///< "0.5", "2 × 8Gi"
  std::string policy;
  model::Isolation isolation{};
  std::size_t asked = 0;  ///< FitQuestion::count
  Simulation::Capacity capacity;
  /// Where the asked ones would go, in order; ends where one does not fit.
  std::vector<Placed> places = {};
  /// The asked ones fit; without a number, one does.
  [[nodiscard]] bool fits() const;
};
/// @returns kInvalidArgument: what is wrong with the request, and what to write
Result<FitAnswer> answer_fit(const Cluster& cluster, const FitQuestion& question);

/// @param wide  a line for every node, not for the first few, with whole UUIDs
[[nodiscard]] std::string draw_fit(const Screen& screen, const FitAnswer& answer, bool wide);
/// {"request", "policy", "isolation", "fits", "pods", "atLeast", "nodes": [{"node", "pods",
/// "cards": [{"uuid", "pods"}]}], "reasons": {...}, "places": [{"node", "cards"}]}
[[nodiscard]] std::string fit_json(const FitAnswer& answer);

/// Names of the nodes that take no pods at all.
[[nodiscard]] std::set<std::string> closed_nodes(const Cluster& cluster);

}  // namespace tangram::cli
