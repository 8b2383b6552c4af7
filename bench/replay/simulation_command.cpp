#include "bench/replay/simulation_command.hpp"

#include "base/split.hpp"
#include "bench/replay/consolidation.hpp"
#include "bench/replay/picture.hpp"
#include "bench/replay/report.hpp"
#include "bench/replay/service_moves.hpp"
#include "bench/replay/simulation_report.hpp"

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <utility>

namespace tangram::bench {

namespace {

constexpr const char* kMoves = "moves";
constexpr const char* kConsolidation = "consolidation";

/// A policy as people write it, and what moves pods.
struct Variant {
  std::string name;
  std::string policy;
  std::string mover;  ///< empty = nothing
};

Variant variant_of(const std::string& text) {
  const std::map<std::string, std::string> shorter{
      {"kai", std::string("binpack+") + kConsolidation}, {"fgd", "fragmentation"}};
  const auto known = shorter.find(text);
  const std::string name = known == shorter.end() ? text : known->second;
  const std::size_t plus = name.find('+');
  Variant variant{.name = text,
                  .policy = name.substr(0, plus),
                  .mover = plus == std::string::npos ? "" : name.substr(plus + 1)};
  if (variant.policy == "default") variant.policy = policies::kDefaultPolicy;
  return variant;
}

Result<std::unique_ptr<MovePlanner>> make_planner(const Variant& variant, const Trace& trace,
                                                  const InProcessScheduler* scheduler) {
  if (variant.mover.empty()) return std::unique_ptr<MovePlanner>();
  if (scheduler == nullptr) {
    return fail(Errc::kInvalidArgument,
                fmt::format("policy {}: pods cannot be moved via http, because the extender, not "
                            "the replay, chooses cards; write --via inproc, or {}",
                            variant.name, variant.policy));
  }
  if (variant.mover == kMoves) return make_service_moves(trace, *scheduler);
  if (variant.mover == kConsolidation) return make_consolidation(trace, *scheduler);
  return fail(
      Errc::kInvalidArgument,
      fmt::format("policy {}: nothing called {} moves pods; write {}+{} or {}+{}", variant.name,
                  variant.mover, variant.policy, kMoves, variant.policy, kConsolidation));
}

SimulationOptions options_of(const SimulationCommand& command) {
  SimulationOptions options = command.simulation;
  options.restart.delay = 1000 * command.restart_seconds;
  options.move_interval = 1000 * command.move_seconds;
  return options;
}

Events events_of(const SimulationCommand& command, const Trace& trace) {
  Events events{.arrivals = arrivals_of(trace, command.arrivals), .failures = {}};
  if (events.arrivals.empty()) return events;
  FailureOptions failures = command.failures;
  failures.seed = command.arrivals.seed;
  events.failures = failures_of(trace, failures, events.arrivals.back().arrives);
  return events;
}

Result<void> write_pictures(const std::string& folder, const std::vector<SimulationRun>& runs) {
  for (const SimulationRun& run : runs) {
    auto written = write_file(fmt::format("{}/{}.svg", folder, run.policy), picture_of(run));
    if (!written) return written;
  }
  return {};
}

Result<void> write_reports(const SimulationCommand& command, const std::string& summary,
                           const std::vector<SimulationRun>& runs) {
  if (runs.size() > 1) std::cout << comparison_text(runs);
  if (!summary.empty()) {
    std::string text;  // a line for each run
    for (const SimulationRun& run : runs) text += simulation_json(run);
    if (auto written = write_file(summary, text); !written) return written;
  }
  return command.pictures.empty() ? Result<void>() : write_pictures(command.pictures, runs);
}

}  // namespace

void add_simulation(CLI::App& app, SimulationCommand& command) {
  auto* group = app.add_option_group("Simulation", "The service over hours or days");
  group->add_flag("--churn", command.wanted,
                  "Pods also end, and pods without room wait. Times are in the columns arrives_s "
                  "and lasts_s of the arrivals, priorities in the column priority; without them, "
                  "times are random: exponential, with the mean of --churn-life");
  group->add_option("--churn-compare", command.compare,
                    "Simulate these policies one after the other, and compare the others with the "
                    "first: as --policy, comma-separated, such as "
                    "default,default+moves,fgd,bestfit,kai");
  group
      ->add_option("--churn-load", command.arrivals.load_percent,
                   "Requested GPU time in percent of the capacity")
      ->check(CLI::Range(1, 1000));
  auto* hours = group->add_option("--churn-hours", command.arrivals.hours,
                                  "Hours of arrivals; 0 = as many as --churn-pods need");
  hours->check(CLI::Range(0, 1'000'000));
  group
      ->add_option("--churn-pods", command.arrivals.pods,
                   "Number of pods; 0 = four times those of the trace")
      ->excludes(hours);
  group
      ->add_option("--churn-life", command.arrivals.mean_life_minutes,
                   "Mean lifetime of a pod in minutes")
      ->check(CLI::Range(1, 1'000'000));
  group->add_option("--churn-seed", command.arrivals.seed,
                    "Seed of all that is random: choose options with one seed, and report others");
  group
      ->add_option("--churn-urgent", command.arrivals.urgent_percent,
                   "Percent of the pods that are urgent: they are placed first, and take the "
                   "place of others")
      ->check(CLI::Range(0, 100));
  group
      ->add_option("--churn-grouped", command.arrivals.grouped_percent,
                   "Percent of the pods that are in groups, of which all or none run")
      ->check(CLI::Range(0, 99));
  group->add_option("--churn-group-size", command.arrivals.group_size, "Pods of a group")
      ->check(CLI::Range(2, 1000));
  group
      ->add_option("--churn-card-days", command.failures.card_days,
                   "Mean days between failures of a card; 0 = none fails")
      ->check(CLI::Range(0, 1'000'000));
  group
      ->add_option("--churn-node-days", command.failures.node_days,
                   "Mean days between failures of a node; 0 = none fails")
      ->check(CLI::Range(0, 1'000'000));
  group
      ->add_option("--churn-repair", command.failures.repair_minutes,
                   "Minutes until what failed is repaired")
      ->check(CLI::Range(1, 1'000'000));
  group
      ->add_option("--churn-restart", command.restart_seconds,
                   "Seconds until a pod that was evicted or moved works again, in its place")
      ->check(CLI::Range(0, 86'400));
  group->add_flag("--churn-lose-work", command.simulation.restart.loses_work,
                  "Evicted and moved pods begin their work anew; else they go on with it");
  group
      ->add_option("--churn-move-percent", command.simulation.move_percent,
                   "Limit of moves in an hour, in percent of the running pods")
      ->check(CLI::Range(0.0, 1000.0));
  group
      ->add_option("--churn-move-interval", command.move_seconds,
                   "Seconds between looks for moves, beside those when a pod begins to wait")
      ->check(CLI::Range(1, 86'400));
  group->add_option("--churn-pictures", command.pictures,
                    "Folder for pictures POLICY.svg: allocation and waiting pods over time");
}

Result<bool> run_simulation(const SimulationCommand& command, const Trace& trace,
                            const std::string& policy, const std::string& via,
                            const std::string& summary, const MakeScheduler& make) {
  const Events events = events_of(command, trace);
  std::vector<SimulationRun> runs;
  bool valid = true;
  for (const std::string& text : split(command.compare.empty() ? policy : command.compare, ',')) {
    const Variant variant = variant_of(text);
    const auto made = make(variant.policy);
    if (!made) return made.error();
    const auto planner = make_planner(variant, trace, made->in_process);
    if (!planner) return planner.error();
    auto outcome = simulate(trace, events, options_of(command), *made->scheduler, planner->get());
    if (!outcome) return outcome.error();
    valid = valid && !outcome->violation;
    runs.push_back({.policy = variant.name, .via = via, .outcome = std::move(*outcome)});
    std::cout << simulation_text(runs.back()) << made->scheduler->remarks() << std::endl;
  }
  if (auto written = write_reports(command, summary, runs); !written) return written.error();
  return valid;
}

}  // namespace tangram::bench
