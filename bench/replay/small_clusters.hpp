#pragma once

#include "base/result.hpp"
#include "bench/replay/trace.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::bench {

/// When the pods that request whole cards arrive.
enum class WholePods { kFirst, kLast, kMixed };
[[nodiscard]] std::string_view name_of(WholePods position);

/// A class of generated clusters and pods. Pods of one class differ by seed: the cards per node (1
/// to 8), the sizes of shares, and which part of the requested GPU is whole cards (a fifth to four
/// fifths).
struct SmallCluster {
  int nodes = 1;
  int sizes = 0;  ///< different sizes of shares; 0 = each share has a random one
  int load_percent = 100;
  WholePods whole = WholePods::kMixed;
};

/// 1 to 20 nodes, few to many sizes, 20 to 100 % load, whole cards first, last and mixed.
[[nodiscard]] std::vector<SmallCluster> small_clusters();

/// Equal arguments make equal traces. CPU and memory suffice for every pod, requests are at most
/// the load, and a pod for several cards asks two, where nodes have two.
[[nodiscard]] Trace generate(const SmallCluster& cluster, std::uint64_t seed);

/// What became of one trace.
struct Packing {
  double pods = 0;
  double waiting = 0;
  double cards = 0;
  double idle = 0;  ///< cards without any pod
};

/// Replays the trace with a policy, in process.
Result<Packing> pack(const Trace& trace, std::string_view policy);

}  // namespace tangram::bench
