#pragma once

#include "base/result.hpp"
#include "cli/cluster.hpp"
#include "cli/screen.hpp"
#include "cli/simulation.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

/// `fit`: how many more pods of a kind fit, and where.
namespace tangram::cli {

/// A kind of pod, described by annotations.
struct FitRequest {
  std::map<std::string, std::string> annotations = {};  ///< "gpu-fraction": "0.5", no prefix
  std::string cpu = {};     ///< requests.cpu, a Kubernetes quantity; empty = none
  std::string memory = {};  ///< requests.memory
  std::size_t count = 0;    ///< check whether this many fit; 0 = only count
};

/// Counting stops here: one node may take hundreds of tiny pods.
inline constexpr std::size_t kMostCounted = 100'000;

/// The request as a pod of one container.
/// @returns kInvalidArgument: what is wrong with an amount, and what to write
Result<kube::Pod> pod_of(const FitRequest& request);

struct FitResult {
  std::string request;  ///< "0.5", "2 × 8Gi"
  std::string policy;
  std::string isolation;      ///< "of the node" for replicas
  std::size_t requested = 0;  ///< FitRequest::count
  Simulation::Capacity capacity;
  /// Where the requested pods would go, in order; ends where one does not fit.
  std::vector<Placed> places = {};
  /// The requested number fits; without a number, one pod fits.
  [[nodiscard]] bool fits() const;
};
/// @returns kInvalidArgument: what is wrong with the request, and what to write
Result<FitResult> compute_fit(const Cluster& cluster, const FitRequest& request);

/// @param wide  every node, not only the first few, with whole UUIDs
[[nodiscard]] std::string draw_fit(const Screen& screen, const FitResult& result, bool wide);
/// {"request", "policy", "isolation", "fits", "pods", "atLeast", "nodes": [{"node", "pods",
/// "cards": [{"uuid", "pods"}]}], "reasons": {...}, "places": [{"node", "cards"}]}
[[nodiscard]] std::string fit_json(const FitResult& result);

/// Names of the nodes that `kubectl cordon` has closed to new pods.
[[nodiscard]] std::set<std::string> cordoned_nodes(const Cluster& cluster);

}  // namespace tangram::cli
