#include "cluster/moves.hpp"

#include "bench/measure/figures.hpp"
#include "bench/measure/measure.hpp"
#include "bench/measure/memory.hpp"
#include "bench/synthetic_api.hpp"
#include "cluster/cluster_feed.hpp"
#include "cluster/policy_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace tangram::bench {

namespace {

using std::chrono::steady_clock;

double milliseconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

/// The ledger of the synthetic cluster, and pods that want whole cards of it.
class Crowd {
 public:
  explicit Crowd(const ClusterSize& size) {
    const SyntheticApi api(size);
    cluster::NodeFeed nodes(ledger_, counters_);
    cluster::PodFeed pods(ledger_, table_, policies_, counters_, {});
    nodes.begin_list();
    for (int i = 0; i < size.nodes; ++i) nodes.listed(api.node(i));
    nodes.end_list();
    pods.begin_list();
    for (int i = 0; i < size.pods; ++i) pods.listed(api.running_pod(i));
    pods.end_list();
  }

  [[nodiscard]] cluster::ClusterPtr snapshot() const { return ledger_.snapshot(); }

  /// Pods of a ReplicaSet for each number of cards.
  [[nodiscard]] std::vector<cluster::WantedPod> wanted(int each) const {
    std::vector<cluster::WantedPod> all;
    for (const int cards : {1, 2, 4, 8}) {
      for (int i = 0; i < each; ++i) all.push_back({wants_whole_cards(cards)});
    }
    return all;
  }

  /// A pod like the one that holds this.
  [[nodiscard]] std::shared_ptr<const cluster::PlacelessPod> next_of(
      const model::Allocation& pod) const {
    const MilliGpu milli = pod.containers.front().cards.front().compute;
    return next_pod(pod.pod_name,
                    {{"gpu-fraction", model::share_text(milli)}, {"gpu-isolation", "time-slice"}},
                    pod.footprint);
  }

  /// Scores every node for one shape of pod, as a filter does that has not seen it before.
  [[nodiscard]] std::int64_t score_all(const cluster::PodPlan& plan) const {
    std::int64_t fits = 0;
    snapshot()->for_each_present([&](const auto& found) {
      if (plan.policy->choose(plan.demand, *found.node)) ++fits;
    });
    return fits;
  }

 private:
  [[nodiscard]] cluster::PlacelessPod wants_whole_cards(int cards) const {
    const std::string count = std::to_string(cards);
    return *next_pod("wants-" + count, {{"gpu-count", count}},
                     {.cpu = MilliCpu(1'000), .memory = {}, .slots = 0});
  }
  [[nodiscard]] std::shared_ptr<const cluster::PlacelessPod> next_pod(
      const std::string& name, model::Annotations annotations, model::Footprint footprint) const {
    kube::Pod pod;
    pod.ns = kBenchNamespace;
    pod.name = name;
    pod.uid = name;
    pod.annotations = std::move(annotations);
    pod.containers = {{.name = "main", .slots = 1}};
    pod.footprint = footprint;
    pod.controller = {.kind = "ReplicaSet", .name = name};
    auto plan = policies_.plan(pod);
    if (!plan) return nullptr;
    return std::make_shared<const cluster::PlacelessPod>(
        cluster::PlacelessPod{std::make_shared<const kube::Pod>(std::move(pod)), *std::move(plan)});
  }

  SystemClock clock_;
  cluster::SharedLedger ledger_{clock_};
  cluster::FeedCounters counters_;
  cluster::PolicySource policies_{{}, [this] { return ledger_.snapshot(); }};
  cluster::PodTable table_{{&policies_}};
};

}  // namespace

Result<Report> measure(const MovesRun& run) {
  const Crowd crowd(run.size);
  const auto snapshot = crowd.snapshot();
  const auto wanted = crowd.wanted(run.wanted);
  Figures figures;
  figures.add("rss_before_mib", memory_mib("VmRSS:"));
  double best_ms = 0;
  double best_scoring_ms = 0;
  std::optional<cluster::MovePlan> plan;
  for (int round = 0; round < run.rounds; ++round) {
    auto start = steady_clock::now();
    plan = cluster::plan_moves(
        {.cluster = *snapshot,
         .wanted = wanted,
         .budgets = {},
         .movable = [](const auto&) { return true; },
         .next_pod = [&](const model::Allocation& pod) { return crowd.next_of(pod); },
         .takes = [](const auto&, const auto&) { return true; },
         .limits = {.moves = static_cast<std::size_t>(run.moves)}});
    const double ms = milliseconds_since(start);
    best_ms = round == 0 ? ms : std::min(best_ms, ms);
    start = steady_clock::now();
    (void)crowd.score_all(wanted.front().next.plan);
    const double scoring_ms = milliseconds_since(start);
    best_scoring_ms = round == 0 ? scoring_ms : std::min(best_scoring_ms, scoring_ms);
  }
  if (!plan) return fail(Errc::kInvalidArgument, "no round was asked for; use --rounds 1 or more");
  figures.add("rss_highest_mib", memory_mib("VmHWM:"));
  figures.add("moves", static_cast<double>(plan->moves.size()));
  figures.add("arrivals", static_cast<double>(plan->arrivals.size()));
  figures.add("gained_cards", static_cast<double>(plan->gained_milli) / 1000);
  figures.add("moved_cards", static_cast<double>(plan->moved_milli) / 1000);
  figures.add("cut_short", plan->cut_short ? 1 : 0);
  figures.add("plan_ms", best_ms);
  figures.add("score_one_shape_ms", best_scoring_ms);
  figures.add("ratio", best_ms / best_scoring_ms);
  return figures.report();
}

}  // namespace tangram::bench
