#pragma once

#include "drawing/cluster_view.hpp"

#include <sstream>
#include <string>
#include <vector>

/// Clusters to draw and check.
namespace tangram::drawing {

inline CardView shown_card(std::string uuid, std::string model, std::int64_t mem_mib,
                           std::vector<ShareView> shares) {
  CardView card;
  card.uuid = std::move(uuid);
  card.model = std::move(model);
  card.mem_mib = mem_mib;
  card.milli = 1000;
  for (const ShareView& share : shares) {
    card.granted_mem_mib += share.mem_mib;
    card.granted_milli += share.milli;
  }
  card.mode = shares.empty() ? "" : "mps";
  card.shares = std::move(shares);
  return card;
}

/// A node with an A100 that two pods share, an idle T4, an unhealthy and a cordoned L40S.
inline ClusterView small_cluster() {
  NodeView node;
  node.name = "node-a";
  node.cpu_milli = 64'000;
  node.free_cpu_milli = 48'000;
  node.pods = 2;
  node.cards.push_back(
      shown_card("GPU-0", "A100-80GB", 81'920,
                 {{"llm", "serve-1", 40'960, 250}, {"vision", "detect-1", 20'480, 250}}));
  node.cards.push_back(shown_card("GPU-1", "T4", 15'360, {}));
  node.cards.push_back(shown_card("GPU-2", "L40S", 46'068, {}));
  node.cards.back().healthy = false;
  node.cards.back().reason = "XID 79";
  node.cards.push_back(shown_card("GPU-3", "L40S", 46'068, {}));
  node.cards.back().cordoned = true;
  node.cards.back().reason = "kept free";
  ClusterView cluster;
  cluster.nodes.push_back(std::move(node));
  return cluster;
}

/// `nodes` nodes of eight large cards, each shared by many pods with long names.
inline ClusterView crowded_cluster(int nodes) {
  ClusterView cluster;
  for (int n = 0; n < nodes; ++n) {
    NodeView node;
    node.name = "a-node-with-a-long-name-" + std::to_string(n);
    node.cpu_milli = 128'000;
    for (int c = 0; c < 8; ++c) {
      std::vector<ShareView> shares;
      for (int p = 0; p < 10; ++p) {
        shares.push_back({"team-" + std::to_string(p),
                          "a-pod-with-a-rather-long-name-" + std::to_string(p), 8'192, 100});
      }
      node.cards.push_back(shown_card("GPU-" + std::to_string(n) + "-" + std::to_string(c),
                                      "A100-SXM4-80GB-MIG-3g.40gb", 81'920, std::move(shares)));
    }
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace tangram::drawing
