// tangram-replay: replays a trace of pods with one policy, and reports how much of the cluster's
// GPU it allocates.

#include "bench/replay/http.hpp"
#include "bench/replay/inprocess.hpp"
#include "bench/replay/replay.hpp"
#include "bench/replay/report.hpp"
#include "bench/replay/sampling.hpp"
#include "bench/replay/simulation_command.hpp"
#include "policies/registry.hpp"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

namespace {

using namespace tangram;

// Exit codes, for scripts.
constexpr int kInvalidReplay = 1;  // a rule was broken
constexpr int kCannotRun = 2;      // bad arguments or files

struct Options {
  std::string trace_seed;
  bench::TracePaths paths;
  std::string policy = "default";
  std::string via = "inproc";
  std::string log;
  std::string curve;
  std::string summary;
  bool progress = false;
  int sampled_percent = 100;
  policies::WasteWeights weights;
  bench::SimulationCommand simulation;
  bench::HttpReplayOptions http;
};

void add_trace(CLI::App& app, Options& options) {
  auto* trace = app.add_option("--trace", options.trace_seed,
                               "A trace and seed in the folder $OPENB_DIR, such as default-42; "
                               "instead of --nodes, --arrivals and --order");
  app.add_option("--nodes", options.paths.nodes, "CSV: sn,cpu_milli,memory_mib,gpu,model")
      ->excludes(trace);
  app.add_option("--arrivals", options.paths.arrivals,
                 "CSV: order,pod,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec")
      ->excludes(trace);
  app.add_option("--order", options.paths.order,
                 "CSV: rank,node; on equal scores the lowest rank wins")
      ->excludes(trace);
  app.add_option("--workload", options.paths.workload,
                 "CSV of the pods that policies expect: name,cpu_milli,memory_mib,"
                 "num_gpu,gpu_milli,gpu_spec; default: ../pods/NAME.csv beside the arrivals "
                 "NAME-SEED.csv, else the arrivals");
}

void add_policy(CLI::App& app, Options& options) {
  app.add_option("--policy", options.policy,
                 "A policy's name, or default. With --churn also POLICY+moves, where the service's "
                 "planner moves pods; POLICY+consolidation, where KAI's rule does, as far as its "
                 "documentation tells it; kai: binpack+consolidation; fgd: fragmentation");
  app.add_option(
      "--weight-cpu-deficit", options.weights.cpu_deficit,
      "least-waste with inproc: the weight of the term in percent, to measure its effect; "
      "likewise the other weights");
  app.add_option("--weight-cutting", options.weights.cutting);
  app.add_option("--weight-scarcity", options.weights.scarcity);
  app.add_option("--weight-balance", options.weights.balance);
  app.add_option("--weight-opening", options.weights.opening);
}

void add_via(CLI::App& app, Options& options) {
  app.add_option(
         "--via", options.via,
         "inproc: call the ledger and the policy directly; http: call the extender over HTTP, "
         "as kube-scheduler does")
      ->check(CLI::IsMember({"inproc", "http"}));
  app.add_option("--short-list", options.http.short_list,
                 "via http: K, the nodes that filter returns; 0 = all that fit");
  app.add_option("--weight", options.http.weight,
                 "via http: the extender's weight beside kube-scheduler's own scores");
  app.add_option("--audits", options.http.audits,
                 "via http: how many times, at random moments, the ledger is rebuilt from the API "
                 "server's lists and compared");
  app.add_option("--audit-seed", options.http.audit_seed, "via http: seed of the random moments");
  app.add_option(
         "--sample", options.sampled_percent,
         "kube-scheduler's percentageOfNodesToScore: below 100, the scheduler is shown only "
         "some of the nodes at a time; 0 = kube-scheduler's default. Not with --churn")
      ->check(CLI::Range(0, 100));
}

void add_outputs(CLI::App& app, Options& options) {
  app.add_option("--log", options.log, "Write every placement: order,pod,node,gpus");
  app.add_option("--curve", options.curve,
                 "Write arrived and allocated percent after every arrival");
  app.add_option("--summary", options.summary, "Write the summary as JSON");
  app.add_flag("--progress", options.progress,
               "Show progress on stderr even if it is not a terminal");
}

Result<bench::TracePaths> paths_of(const Options& options) {
  if (options.trace_seed.empty()) {
    const bench::TracePaths& paths = options.paths;
    if (paths.nodes.empty() || paths.arrivals.empty() || paths.order.empty()) {
      return fail(Errc::kInvalidArgument, "write --nodes, --arrivals and --order, or --trace");
    }
    return paths;
  }
  const char* folder = std::getenv("OPENB_DIR");  // NOLINT(concurrency-mt-unsafe): one thread
  if (folder == nullptr) {
    return fail(Errc::kInvalidArgument,
                "--trace needs the variable OPENB_DIR: the folder of nodes.csv and arrivals/");
  }
  bench::TracePaths paths = bench::TracePaths::in_folder(folder, options.trace_seed);
  paths.workload = options.paths.workload;
  return paths;
}

Result<bench::MadeScheduler> make_scheduler(const Options& options, const bench::Trace& trace,
                                            const std::string& policy) {
  if (options.via == "http") {
    bench::HttpReplayOptions http = options.http;
    http.policy = policy;
    auto scheduler = bench::HttpScheduler::create(trace, std::move(http));
    if (!scheduler) return scheduler.error();
    return bench::MadeScheduler{.scheduler = std::move(*scheduler)};
  }
  policies::PolicyOptions expected;
  expected.workload = std::make_shared<policies::Workload>(
      policies::workload_of(trace.workload, model::Isolation::kNone));
  expected.waste = options.weights;
  auto scheduler = bench::InProcessScheduler::create(trace.nodes, policy, std::move(expected));
  if (!scheduler) return scheduler.error();
  const bench::InProcessScheduler* in_process = scheduler->get();
  return bench::MadeScheduler{.scheduler = std::move(*scheduler), .in_process = in_process};
}

bench::Progress progress_bar(const Options& options, std::size_t total) {
  if (!options.progress && isatty(STDERR_FILENO) == 0) return {};
  return [total](std::size_t done) {
    constexpr std::size_t kWidth = 50;
    if (done * 100 / total == (done - 1) * 100 / total) return;
    const std::size_t filled = done * kWidth / total;
    std::cerr << "\r[" << std::string(filled, '#') << std::string(kWidth - filled, '.') << "] "
              << done << "/" << total << (done == total ? "\n" : "") << std::flush;
  };
}

Result<void> write_reports(const Options& options, const bench::Trace& trace,
                           const bench::Outcome& outcome) {
  const bench::RunLabel label{.policy = options.policy, .via = options.via};
  std::cout << bench::summary_text(trace, outcome, label);
  for (const auto& [path, text] :
       {std::pair(options.log, bench::placement_log(trace, outcome)),
        std::pair(options.curve, bench::curve(outcome)),
        std::pair(options.summary, bench::summary_json(trace, outcome, label))}) {
    if (path.empty()) continue;
    if (auto written = bench::write_file(path, text); !written) return written;
  }
  return {};
}

/// @returns whether all rules were kept
Result<bool> run(const Options& options) {
  const auto paths = paths_of(options);
  if (!paths) return paths.error();
  const auto trace = bench::read_trace(*paths);
  if (!trace) return trace.error();
  if (options.simulation.wanted) {
    if (options.sampled_percent < 100) {
      return fail(Errc::kInvalidArgument, "--sample is not for --churn; leave it out");
    }
    return bench::run_simulation(
        options.simulation, *trace, options.policy, options.via, options.summary,
        [&](const std::string& policy) { return make_scheduler(options, *trace, policy); });
  }
  auto made = make_scheduler(options, *trace, options.policy);
  if (!made) return made.error();
  if (options.sampled_percent < 100) {
    made->scheduler = std::make_unique<bench::SampledScheduler>(
        std::move(made->scheduler), trace->nodes, options.sampled_percent);
  }
  bench::Scheduler& scheduler = *made->scheduler;
  const auto outcome =
      bench::replay(*trace, scheduler, progress_bar(options, trace->arrivals.size()));
  if (!outcome) return outcome.error();
  if (auto written = write_reports(options, *trace, *outcome); !written) return written.error();
  std::cout << scheduler.remarks();
  return !outcome->violation.has_value();
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App app("Replays a trace of pods and reports how much GPU a policy allocates.");
  app.option_defaults()->always_capture_default();
  for (const auto add : {add_trace, add_policy, add_via, add_outputs}) add(app, options);
  bench::add_simulation(app, options.simulation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kCannotRun;
  }
  if (options.policy == "default") options.policy = policies::kDefaultPolicy;
  const auto valid = run(options);
  if (!valid) {
    std::cerr << "tangram-replay: " << valid.error().message << "\n";
    return kCannotRun;
  }
  return *valid ? 0 : kInvalidReplay;
} catch (const std::exception& error) {
  std::cerr << "tangram-replay: " << error.what() << "\n";
  return kCannotRun;
}
