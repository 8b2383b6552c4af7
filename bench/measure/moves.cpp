#include "bench/measure/figures.hpp"
#include "bench/measure/measure.hpp"
#include "bench/measure/memory.hpp"
#include "bench/measure/wanted_pods.hpp"
#include "bench/synthetic_api.hpp"
#include "cluster/cluster_feed.hpp"
#include "cluster/policy_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

namespace tangram::bench {

namespace {

using std::chrono::steady_clock;

double milliseconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

/// The ledger of the synthetic cluster.
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

  [[nodiscard]] const cluster::PolicySource& policies() const { return policies_; }

  /// Scores every node for one shape of pod, as a filter does that has not seen it before.
  [[nodiscard]] std::int64_t score_all(const cluster::PodPlan& plan) const {
    std::int64_t fits = 0;
    snapshot()->for_each_present([&](const auto& found) {
      if (plan.policy->choose(plan.demand, *found.node)) ++fits;
    });
    return fits;
  }

 private:
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
  const WantedPods wanted(crowd.policies(), run.wanted);
  Figures figures;
  figures.add("rss_before_mib", memory_mib("VmRSS:"));
  double best_ms = 0;
  double best_scoring_ms = 0;
  std::optional<cluster::MovePlan> plan;
  for (int round = 0; round < run.rounds; ++round) {
    auto start = steady_clock::now();
    plan = wanted.plan(*snapshot, run.moves);
    const double ms = milliseconds_since(start);
    best_ms = round == 0 ? ms : std::min(best_ms, ms);
    start = steady_clock::now();
    (void)crowd.score_all(wanted.first());
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
