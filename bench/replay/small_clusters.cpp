#include "bench/replay/small_clusters.hpp"

#include "bench/replay/inprocess.hpp"
#include "bench/replay/replay.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

namespace tangram::bench {

namespace {

constexpr int kMostCards = 8;
constexpr std::int64_t kSmallestShare = 20;
constexpr std::int64_t kLeastLargest = 100;
constexpr std::int64_t kLargestShare = 950;
/// CPU and memory that no pod of these traces can exhaust.
constexpr std::int64_t kPlenty = 1'000'000'000;
/// Pods in succession that would exceed the load, after which the trace is complete.
constexpr int kMostMisses = 8;

class Generator {
 public:
  Generator(const SmallCluster& cluster, std::uint64_t seed) : cluster_(cluster), random_(seed) {
    cards_ = static_cast<int>(between(1, kMostCards));
    largest_ = between(kLeastLargest, kLargestShare);
    for (int i = 0; i < cluster.sizes; ++i) sizes_.push_back(between(kSmallestShare, largest_));
  }

  Trace trace() {
    Trace trace;
    for (int i = 0; i < cluster_.nodes; ++i) {
      trace.nodes.push_back({.name = "node-" + std::to_string(i),
                             .cpu_milli = kPlenty,
                             .memory_mib = kPlenty,
                             .gpus = cards_,
                             .model = "A100"});
    }
    const std::int64_t load = trace.capacity_milli() * cluster_.load_percent / 100;
    const std::int64_t whole_load = load * between(20, 80) / 100;
    auto whole = pods(whole_load, [this] { return whole_pod(); });
    auto shares = pods(load - whole_load, [this] { return sharing_pod(); });
    switch (cluster_.whole) {
      case WholePods::kFirst:
        std::swap(whole, shares);
        [[fallthrough]];
      case WholePods::kLast:
      case WholePods::kMixed:
        break;
    }
    trace.arrivals = std::move(shares);
    trace.arrivals.insert(trace.arrivals.end(), whole.begin(), whole.end());
    if (cluster_.whole == WholePods::kMixed) shuffle(trace.arrivals);
    trace.workload = trace.arrivals;
    return trace;
  }

 private:
  /// Both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  void shuffle(std::vector<TracePod>& pods) {
    for (std::size_t i = pods.size(); i > 1; --i) {
      std::swap(pods[i - 1], pods[random_() % i]);
    }
  }
  static TracePod pod(int gpus, std::int64_t milli) {
    TracePod pod;
    pod.cpu_milli = gpus * milli;
    pod.memory_mib = 1;
    pod.gpus = gpus;
    pod.gpu_milli = milli;
    return pod;
  }
  TracePod whole_pod() { return pod(cards_ > 1 && between(1, 10) > 7 ? 2 : 1, kFullCard); }
  TracePod sharing_pod() {
    if (sizes_.empty()) return pod(1, between(kSmallestShare, largest_));
    return pod(1, sizes_[random_() % sizes_.size()]);
  }
  template <class Draw>
  std::vector<TracePod> pods(std::int64_t load, const Draw& draw) {
    std::vector<TracePod> drawn;
    for (int misses = 0; misses < kMostMisses;) {
      TracePod next = draw();
      if (next.total_milli() > load) {
        ++misses;
        continue;
      }
      load -= next.total_milli();
      next.name = "pod-" + std::to_string(named_++);
      drawn.push_back(std::move(next));
      misses = 0;
    }
    return drawn;
  }

  static constexpr std::int64_t kFullCard = policies::kDeviceMilli;
  const SmallCluster& cluster_;
  std::mt19937_64 random_;
  int cards_ = 1;
  int named_ = 0;
  std::int64_t largest_ = 0;
  std::vector<std::int64_t> sizes_;
};

}  // namespace

std::string_view name_of(WholePods position) {
  switch (position) {
    case WholePods::kFirst:
      return "first";
    case WholePods::kLast:
      return "last";
    case WholePods::kMixed:
      break;
  }
  return "mixed";
}

std::vector<SmallCluster> small_clusters() {
  std::vector<SmallCluster> all;
  for (const int nodes : {1, 3, 8, 20}) {
    for (const int sizes : {2, 5, 20, 0}) {
      for (const int load : {20, 40, 60, 80, 100}) {
        for (const WholePods whole : {WholePods::kFirst, WholePods::kLast, WholePods::kMixed}) {
          all.push_back({.nodes = nodes, .sizes = sizes, .load_percent = load, .whole = whole});
        }
      }
    }
  }
  return all;
}

Trace generate(const SmallCluster& cluster, std::uint64_t seed) {
  return Generator(cluster, seed).trace();
}

Result<Packing> pack(const Trace& trace, std::string_view policy) {
  policies::PolicyOptions options;
  options.workload = std::make_shared<policies::Workload>(
      policies::workload_of(trace.workload, model::Isolation::kNone));
  auto scheduler = InProcessScheduler::create(trace.nodes, std::string(policy), std::move(options));
  if (!scheduler) return scheduler.error();
  const auto outcome = replay(trace, **scheduler, {});
  if (!outcome) return outcome.error();
  if (outcome->violation) return fail(Errc::kConflict, *outcome->violation);
  std::set<std::pair<std::size_t, std::uint32_t>> used;
  for (const Step& step : outcome->steps) {
    if (!step.placed) continue;
    for (const std::uint32_t gpu : step.placed->gpus) used.emplace(step.placed->node, gpu);
  }
  const std::int64_t whole_cards = trace.capacity_milli() / policies::kDeviceMilli;
  const auto cards = static_cast<double>(whole_cards);
  return Packing{.pods = static_cast<double>(trace.arrivals.size()),
                 .waiting = static_cast<double>(trace.arrivals.size() - outcome->placed()),
                 .cards = cards,
                 .idle = cards - static_cast<double>(used.size())};
}

}  // namespace tangram::bench
