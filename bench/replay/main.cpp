// Replays a trace of pods against the scheduler's ledger and one policy, and says how much of the
// cluster's GPU it managed to allocate.

#include "bench/replay/churn.hpp"
#include "bench/replay/http.hpp"
#include "bench/replay/inprocess.hpp"
#include "bench/replay/replay.hpp"
#include "bench/replay/report.hpp"
#include "policies/registry.hpp"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>

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
  policies::WasteWeights weights;
  bool churn = false;
  bench::ChurnOptions churning;
  bench::HttpReplayOptions http;
};

void declare(CLI::App& app, Options& options) {
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
                 "CSV of the pods that policies are told to expect: name,cpu_milli,memory_mib,"
                 "num_gpu,gpu_milli,gpu_spec; else ../pods/NAME.csv beside the arrivals "
                 "NAME-SEED.csv, else the arrivals themselves");
  app.add_option("--policy", options.policy, "A policy's name, or default")->capture_default_str();
  app.add_option("--weight-cpu-deficit", options.weights.cpu_deficit,
                 "least-waste, inproc: percent, to see what the term brings; so for the others")
      ->capture_default_str();
  app.add_option("--weight-cutting", options.weights.cutting)->capture_default_str();
  app.add_option("--weight-scarcity", options.weights.scarcity)->capture_default_str();
  app.add_option("--weight-balance", options.weights.balance)->capture_default_str();
  app.add_option("--weight-opening", options.weights.opening)->capture_default_str();
  app.add_option("--via", options.via,
                 "inproc: the ledger and the policy, called directly; http: the extender itself, "
                 "asked over HTTP as kube-scheduler would")
      ->check(CLI::IsMember({"inproc", "http"}))
      ->capture_default_str();
  app.add_option("--short-list", options.http.short_list,
                 "via http: K, the nodes that filter returns; 0 = all that fit")
      ->capture_default_str();
  app.add_option("--weight", options.http.weight,
                 "via http: the extender's weight beside kube-scheduler's own scores")
      ->capture_default_str();
  app.add_option("--audits", options.http.audits,
                 "via http: how many times, at random moments, the ledger is rebuilt from the API "
                 "server's lists and compared")
      ->capture_default_str();
  app.add_option("--audit-seed", options.http.audit_seed, "via http: of the random moments")
      ->capture_default_str();
  app.add_flag("--churn", options.churn,
               "Pods also leave, and those that fit nowhere wait: at the columns arrives_s and "
               "lasts_s of the arrivals, else at random");
  app.add_option("--churn-load", options.churning.load_percent,
                 "GPU time asked for, in percent of what there is")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--churn-pods", options.churning.pods,
                 "How many pods come; 0 = four times those of the trace");
  app.add_option("--churn-seed", options.churning.seed, "Of the random moments")
      ->capture_default_str();
  app.add_option("--log", options.log, "Write every placement: order,pod,node,gpus");
  app.add_option("--curve", options.curve,
                 "Write arrived and allocated percent after every arrival");
  app.add_option("--summary", options.summary, "Write the summary as JSON");
  app.add_flag("--progress", options.progress,
               "Show progress on stderr also where that is not a terminal");
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

Result<std::unique_ptr<bench::Placer>> make_placer(const Options& options,
                                                   const bench::Trace& trace) {
  if (options.via == "http") {
    bench::HttpReplayOptions http = options.http;
    http.policy = options.policy;
    auto placer = bench::HttpPlacer::create(trace, std::move(http));
    if (!placer) return placer.error();
    return std::unique_ptr<bench::Placer>(std::move(*placer));
  }
  policies::PolicyOptions expected;
  expected.workload = std::make_shared<policies::Workload>(
      policies::workload_of(trace.workload, model::Isolation::kNone));
  expected.waste = options.weights;
  auto placer = bench::InProcessPlacer::create(trace.nodes, options.policy, std::move(expected));
  if (!placer) return placer.error();
  return std::unique_ptr<bench::Placer>(std::move(*placer));
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
  if (!options.log.empty()) {
    const auto log = bench::placement_log(trace, outcome);
    if (auto written = bench::write_file(options.log, log); !written) return written;
  }
  if (!options.curve.empty()) {
    if (auto written = bench::write_file(options.curve, bench::curve(outcome)); !written) {
      return written;
    }
  }
  if (options.summary.empty()) return {};
  return bench::write_file(options.summary, bench::summary_json(trace, outcome, label));
}

/// @returns whether all rules were kept
Result<bool> run_churn(const Options& options, const bench::Trace& trace, bench::Placer& placer) {
  const auto outcome = bench::churn(trace, bench::stays_of(trace, options.churning), placer);
  if (!outcome) return outcome.error();
  std::cout << "policy      " << options.policy << ", via " << options.via << "\n"
            << bench::churn_text(*outcome);
  if (!options.summary.empty()) {
    auto written = bench::write_file(options.summary, bench::churn_json(*outcome));
    if (!written) return written.error();
  }
  return !outcome->violation.has_value();
}

/// @returns whether all rules were kept
Result<bool> run(const Options& options) {
  const auto paths = paths_of(options);
  if (!paths) return paths.error();
  const auto trace = bench::read_trace(*paths);
  if (!trace) return trace.error();
  auto placer = make_placer(options, *trace);
  if (!placer) return placer.error();
  if (options.churn) return run_churn(options, *trace, **placer);
  const auto outcome =
      bench::replay(*trace, **placer, progress_bar(options, trace->arrivals.size()));
  if (!outcome) return outcome.error();
  if (auto written = write_reports(options, *trace, *outcome); !written) return written.error();
  std::cout << (*placer)->remarks();
  return !outcome->violation.has_value();
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App app("Replays a trace of pods and reports how much GPU a policy allocates.");
  declare(app, options);
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
