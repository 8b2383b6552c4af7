#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// The page /api/v1/cluster, decoded. Shares no code with the extender, which writes it: drawings
/// and checks use this text alone.
namespace tangram::drawing {

/// The share of a card that one container of a pod has.
struct ShareView {
  std::string ns;
  std::string pod;
  std::int64_t mem_mib = 0;
  std::int64_t milli = 0;
};

struct CardView {
  std::string uuid;
  std::string model;
  std::string reason;  ///< why it takes no pods; empty = it does
  std::string mode;    ///< isolation mode; empty = idle
  bool healthy = true;
  bool cordoned = false;
  std::int64_t mem_mib = 0;
  std::int64_t milli = 0;
  std::int64_t granted_mem_mib = 0;
  std::int64_t granted_milli = 0;
  std::vector<ShareView> shares;
};

struct NodeView {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t free_cpu_milli = 0;
  std::int64_t pods = 0;
  std::vector<CardView> cards;
};

struct ClusterView {
  std::vector<NodeView> nodes;       ///< by name
  std::vector<std::string> pending;  ///< "namespace/name"

  [[nodiscard]] std::size_t card_count() const;
  /// Every namespace with a share, by name.
  [[nodiscard]] std::vector<std::string> namespaces() const;
};

/// A pod's name without the "-x7k2p" that Kubernetes appends to a generateName.
[[nodiscard]] std::string family_of(const std::string& pod);

/// Each text of the view is one_line().
/// @returns kInvalidArgument, with the path of what is not as expected
Result<ClusterView> read_cluster_view(std::string json);

}  // namespace tangram::drawing
