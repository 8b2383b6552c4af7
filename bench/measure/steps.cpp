#include "bench/extender_client.hpp"
#include "bench/measure/measure.hpp"
#include "bench/objects.hpp"
#include "bench/synthetic_api.hpp"
#include "cluster/cluster_feed.hpp"
#include "cluster/policy_source.hpp"
#include "config/config.hpp"
#include "extender/admission/service.hpp"
#include "extender/scheduling/decide.hpp"
#include "extender/scheduling/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

// Each step is a function of its own that the compiler does not take apart, so that a profiler can
// show what each one costs: scripts/bench-check counts the instructions that they take.
#if defined(__clang__)
#define TANGRAM_STEP __attribute__((noinline))
#else
#define TANGRAM_STEP __attribute__((noinline, no_icf))  // two of them are alike
#endif

namespace tangram::bench {

namespace {

using extender::Body;
using extender::FilterArgs;
using extender::FilterResult;

/// The ledger of the synthetic cluster, filled as the extender fills it, without threads.
class Bench {
 public:
  explicit Bench(const ClusterSize& size) : api_(size) {
    nodes_.begin_list();
    for (int i = 0; i < size.nodes; ++i) nodes_.listed(api_.node(i));
    nodes_.end_list();
    pods_.begin_list();
    for (int i = 0; i < size.pods; ++i) step_list_pod(api_.running_pod(i));
    pods_.end_list();
  }

  [[nodiscard]] std::string request(int number) const {
    return filter_body(pending_pod(number, 1, number > 0).json, api_.node_names());
  }
  [[nodiscard]] std::string event(int number) const { return api_.running_pod(number, 1); }

  TANGRAM_STEP Result<FilterArgs> step_decode(Body& body) const {
    return extender::decode_filter_args(body);
  }
  TANGRAM_STEP FilterResult step_filter_unseen(const FilterArgs& args,
                                               const cluster::PodPlan& plan) const {
    return decide(args, plan);
  }
  TANGRAM_STEP FilterResult step_filter_known(const FilterArgs& args,
                                              const cluster::PodPlan& plan) const {
    return decide(args, plan);
  }
  /// Most of reading the cluster at start, for each of its pods; they are booked at the list's end.
  TANGRAM_STEP void step_list_pod(const std::string& object) { pods_.listed(object); }
  TANGRAM_STEP std::string step_prioritize(const FilterArgs& args,
                                           const cluster::PodPlan& plan) const {
    constexpr std::size_t kKept = 8;
    const std::span<const std::string_view> names(args.node_names);
    const auto cluster = ledger_.snapshot();
    model::SearchBudget budget;
    auto pass =
        plan.policies->cache.open(*plan.policy, plan.demand, *cluster, budget, args.pod.uid);
    return encode(extender::prioritize(
        names.first(std::min(kKept, names.size())), *cluster,
        [&](auto nodes, auto verdicts) { return pass.judge(nodes, verdicts); }, {}));
  }
  TANGRAM_STEP std::string step_webhook(std::string review) const {
    return admission_.mutate(std::move(review)).body;
  }
  TANGRAM_STEP std::string step_encode(const FilterArgs& args, const FilterResult& result) const {
    return extender::encode(args, result);
  }
  TANGRAM_STEP void step_watch_event(const std::string& object) {
    pods_.change(kube::EventType::kAdded, object);
  }
  TANGRAM_STEP Result<void> step_assume(const FilterArgs& args, const cluster::PodPlan& plan,
                                        std::string_view node_name) {
    return ledger_.apply([&](model::Ledger& ledger) -> Result<void> {
      const model::NodeState& node = *ledger.snapshot()->find(node_name);
      const auto choice = plan.policy->choose(plan.demand, node);
      if (!choice) return fail(Errc::kStale, "no room");
      return ledger.assume(cluster::allocation_for(args.pod, node, plan.demand, choice->placement),
                           std::chrono::seconds(70));
    });
  }
  [[nodiscard]] Result<cluster::PodPlan> plan(const FilterArgs& args) const {
    return policies_.plan(args.pod);
  }

 private:
  [[nodiscard]] FilterResult decide(const FilterArgs& args, const cluster::PodPlan& plan) const {
    const auto cluster = ledger_.snapshot();
    model::SearchBudget budget;
    auto pass =
        plan.policies->cache.open(*plan.policy, plan.demand, *cluster, budget, args.pod.uid);
    constexpr std::size_t kShortList = 1;
    return extender::filter(
        {.names = args.node_names, .demand = plan.demand, .refused = {}, .short_list = kShortList},
        *cluster, [&](auto nodes, auto verdicts) { return pass.judge(nodes, verdicts); });
  }

  SystemClock clock_;
  extender::AdmissionService admission_{extender::admission_settings(config::Config()), clock_,
                                        nullptr};
  SyntheticApi api_;
  cluster::SharedLedger ledger_{clock_};
  cluster::FeedCounters counters_;
  cluster::PolicySource policies_{{}, [this] { return ledger_.snapshot(); }};
  cluster::PodTable table_{{&policies_}};
  cluster::NodeFeed nodes_{ledger_, counters_};
  cluster::PodFeed pods_{ledger_, table_, policies_, counters_, {}};
};

/// What each step took, added up.
class Steps {
 public:
  template <class Work>
  auto time(const char* name, Work&& work) {
    const auto start = std::chrono::steady_clock::now();
    auto result = work();
    const auto took = std::chrono::steady_clock::now() - start;
    const auto known = std::find_if(steps_.begin(), steps_.end(),
                                    [&](const auto& step) { return step.first == name; });
    (known == steps_.end() ? steps_.emplace_back(name, 0) : *known).second += took;
    return result;
  }
  [[nodiscard]] Report report(int rounds) const {
    Report report;
    report.text = fmt::format("{:<14} {:>12} {:>10}\n", "step", "us", "/ decode");
    json::Writer out(report.json);
    out.begin_object();
    for (const auto& [name, took] : steps_) {
      const double us = static_cast<double>(took.count()) / 1000 / rounds;
      const double ratio =
          static_cast<double>(took.count()) / static_cast<double>(steps_.front().second.count());
      report.text += fmt::format("{:<14} {:>12.1f} {:>10.3f}\n", name, us, ratio);
      out.key(name).number(ratio);
    }
    out.end_object();
    return report;
  }

 private:
  std::vector<std::pair<std::string, std::chrono::nanoseconds>> steps_;
};

}  // namespace

Result<Report> measure(const StepsRun& run) {
  Bench bench(run.size);
  Steps steps;
  for (int round = 0; round < run.rounds; ++round) {
    Body body(bench.request(round));
    const auto args = steps.time("decode", [&] { return bench.step_decode(body); });
    if (!args) return args.error();
    const auto plan = bench.plan(*args);
    if (!plan) return plan.error();
    (void)steps.time("filter_unseen", [&] { return bench.step_filter_unseen(*args, *plan); });
    const auto result =
        steps.time("filter_known", [&] { return bench.step_filter_known(*args, *plan); });
    if (result.kept.empty())
      return fail(Errc::kConflict, "the cluster is full; start with fewer pods");
    (void)steps.time("prioritize", [&] { return bench.step_prioritize(*args, *plan); });
    (void)steps.time("encode", [&] { return bench.step_encode(*args, result); });
    const auto assumed = steps.time("assume", [&] {
      return bench.step_assume(*args, *plan, args->node_names[result.kept.front()]);
    });
    if (!assumed) return assumed.error();
    const std::string event = bench.event(round);
    steps.time("watch_event", [&] {
      bench.step_watch_event(event);
      return 0;
    });
    constexpr int kSidecars = 3;
    std::string review = admission_review(kSidecars);
    (void)steps.time("webhook", [&] { return bench.step_webhook(std::move(review)); });
  }
  return steps.report(run.rounds);
}

}  // namespace tangram::bench
