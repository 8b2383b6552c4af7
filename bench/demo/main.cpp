// tangram-demo: the extender, an API server in memory and the driver in one process. Wiring only.

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/signals.hpp"
#include "base/spelling.hpp"
#include "bench/bench_app.hpp"
#include "bench/demo/busy_cluster.hpp"
#include "bench/demo/driver.hpp"
#include "bench/demo/packing_table.hpp"
#include "bench/demo/report.hpp"
#include "config/config.hpp"
#include "drawing/card_map.hpp"
#include "kube/local/api.hpp"
#include "policies/registry.hpp"

#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <csignal>
#include <iostream>

namespace {

using namespace tangram;
using namespace tangram::bench::demo;
using tangram::bench::ExtenderClient;

constexpr int kBroken = 1;
constexpr int kBadUsage = 2;
constexpr int kInterrupted = 130;  // what shells expect after Ctrl-C
constexpr std::size_t kQuickPods = 120;

struct Options {
  std::string cluster_file = "deploy/demo/cluster.yaml";
  std::string workload_file = "deploy/demo/workload.yaml";
  std::string listen = "127.0.0.1:0";
  std::string policy{policies::kDefaultPolicy};
  std::size_t pods = 360;
  std::uint64_t seed = 1;
  std::size_t nodes = 0;  ///< of a busy cluster; 0 = the cluster of the file
  bool quick = false;
  bool serve = false;
  bool live = false;
};

bool interrupted(const sigset_t& signals, std::chrono::milliseconds within = {}) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(within);
  const std::chrono::nanoseconds rest = within - seconds;
  const timespec wait{.tv_sec = seconds.count(), .tv_nsec = rest.count()};
  return sigtimedwait(&signals, nullptr, &wait) > 0;
}

Result<config::Config> configuration(const Options& options) {
  return config::load_config(
      "", "tangram-demo",
      {"kube.source=local", "kube.cluster_file=" + options.cluster_file,
       "server.listen=" + options.listen, "scheduler.policy=" + options.policy});
}

Result<drawing::ClusterView> read_cluster(ExtenderClient& extender) {
  auto page = extender.get("/api/v1/cluster");
  if (!page) return page.error();
  return drawing::read_cluster_view(std::move(page->body));
}

/// Compares what the extender shows with the pods' grants.
Result<void> compare(Driver& driver, ExtenderClient& extender) {
  const auto shown = read_cluster(extender);
  if (!shown) return shown.error();
  driver.audit().compare(*shown);
  return {};
}

/// A line that a terminal overwrites; elsewhere a line for every tenth.
class Progress {
 public:
  explicit Progress(const drawing::Style& style) : style_(style) {}

  void show(const Driver& driver, const std::vector<Driver::Highlight>& highlights) {
    if (live_) std::cout << "\r\x1b[K";
    for (const Driver::Highlight& highlight : highlights)
      std::cout << draw_highlight(style_, highlight);
    const std::string line =
        draw_progress(style_, driver.counts(), driver.total_pods(), driver.history().back());
    const std::size_t tenth = 10 * driver.counts().arrived / driver.total_pods();
    const bool another = tenth != std::exchange(tenth_, tenth);
    if (live_) std::cout << line << (driver.done() ? "\n" : "") << std::flush;
    if (!live_ && another) std::cout << line << "\n";
  }

 private:
  const drawing::Style& style_;
  bool live_ = drawing::stdout_is_terminal();
  std::size_t tenth_ = 0;
};

/// Runs rounds until every pod has arrived, and prints highlights and progress.
/// @returns false if the user stops the demo
Result<bool> run_rounds(Driver& driver, ExtenderClient& extender, const drawing::Style& style,
                        const sigset_t& signals) {
  constexpr std::size_t kComparedEvery = 10;  // rounds; often enough to name the round, and cheap
  Progress progress(style);
  while (!driver.done()) {
    if (interrupted(signals)) return false;
    const auto highlights = driver.run_round();
    if (!highlights) return highlights.error();
    progress.show(driver, *highlights);
    if (driver.history().size() % kComparedEvery != 0 && !driver.done()) continue;
    if (auto compared = compare(driver, extender); !compared) return compared.error();
  }
  return true;
}

Result<void> report(Driver& driver, ExtenderClient& extender, const drawing::Style& style,
                    const std::string& address) {
  const auto cluster = read_cluster(extender);
  if (!cluster) return cluster.error();
  const auto metrics = extender.get("/metrics");
  if (!metrics) return metrics.error();
  std::cout << heading(style, "cards") << draw_packing_table(style, *cluster);
  std::cout << heading(style, "card map") << draw_card_map(style, *cluster);
  std::cout << heading(style, "pods without a node, and why") << driver.refusals().draw(style);
  std::cout << heading(style, "numbers")
            << draw_numbers(style, metrics->body, driver.counts(), driver.history());
  std::cout << heading(style, "checks") << draw_checks(style, driver.audit());
  std::cout << heading(style, "next steps")
            << draw_next_steps(style, address, driver.example_running(), driver.example_waiting());
  std::cout << std::flush;
  return {};
}

struct Stage {
  const Options& options;
  const drawing::Style& style;
  const sigset_t& signals;
};

std::string page_line(const drawing::Style& style, const std::string& address) {
  return "packing page: " + paint(style, drawing::kBold, "http://" + address + "/") + "\n";
}

/// Further rounds, slow enough to watch, until the user stops the demo.
Result<void> keep_running(Driver& driver, ExtenderClient& extender, const Stage& stage) {
  constexpr auto kPace = std::chrono::milliseconds(1'000);
  while (!interrupted(stage.signals, kPace)) {
    driver.extend(Driver::Plan().per_round);
    if (const auto ran = driver.run_round(); !ran) return ran.error();
    if (auto compared = compare(driver, extender); !compared) return compared.error();
  }
  return {};
}

Result<int> run_demo(const Stage& stage, kube::KubeApi& api, bench::LocalExtender& extender,
                     const std::vector<PodKind>& kinds) {
  const std::string address = extender.address();
  ExtenderClient& client = extender.client;
  const auto cluster = read_cluster(client);
  if (!cluster) return cluster.error();
  auto driver = Driver::create({.api = api, .extender = client, .kinds = kinds},
                               {.pods = stage.options.pods, .seed = stage.options.seed});
  if (!driver) return driver.error();
  std::cout << draw_cluster_line(stage.style, *cluster) << "extender on http://" << address
            << ", policy " << stage.options.policy << ", seed " << stage.options.seed << "\n"
            << page_line(stage.style, address)
            << heading(stage.style, "first pod of each kind: tangram.dev/gpu-… → node");
  const auto finished = run_rounds(*driver, client, stage.style, stage.signals);
  if (!finished) return finished.error();
  if (!*finished) return kInterrupted;
  if (auto reported = report(*driver, client, stage.style, address); !reported) {
    return reported.error();
  }
  if (stage.options.live) {
    std::cout << "\n"
              << page_line(stage.style, address) << "pods start and end until Ctrl-C\n"
              << std::flush;
    if (auto ended = keep_running(*driver, client, stage); !ended) return ended.error();
  } else if (stage.options.serve) {
    std::cout << "\n" << page_line(stage.style, address) << "serving until Ctrl-C\n" << std::flush;
    int signal = 0;
    sigwait(&stage.signals, &signal);
  } else {
    std::cout << paint(stage.style, drawing::kDim,
                       "(to keep the extender running, add --serve or --live)")
              << "\n";
  }
  return driver->audit().broken().empty() ? 0 : kBroken;
}

/// A large cluster with pods that no scheduler places.
Result<int> show_busy_cluster(const Stage& stage, const config::Config& config) {
  constexpr auto kPace = std::chrono::milliseconds(500);
  constexpr std::size_t kChangesPerThousandCards = 1;
  const SystemClock clock;
  kube::LocalApi api(clock);
  BusyCluster cluster(api, stage.options.nodes, stage.options.seed);
  if (auto filled = cluster.fill(); !filled) return filled.error();
  const auto extender = bench::start_extender(
      config, {.api = api, .clock = clock, .replica = std::nullopt, .learn_at_once = true});
  if (!extender) return extender.error();
  std::cout << stage.options.nodes << " nodes, " << cluster.cards() << " cards, " << cluster.pods()
            << " pods that start and end until Ctrl-C\n"
            << page_line(stage.style, extender->address()) << std::flush;
  while (!interrupted(stage.signals, kPace)) {
    const auto changes = 1 + cluster.cards() * kChangesPerThousandCards / 1'000;
    if (auto changed = cluster.change(changes); !changed) return changed.error();
  }
  extender->app->stop();
  return 0;
}

Result<int> run(const Stage& stage) {
  const auto config = configuration(stage.options);
  if (!config) return config.error();
  if (stage.options.nodes > 0) return show_busy_cluster(stage, *config);
  const auto cluster_text = read_file(stage.options.cluster_file);
  if (!cluster_text) return cluster_text.error();
  const auto workload_text = read_file(stage.options.workload_file);
  if (!workload_text) return workload_text.error();
  const auto kinds = read_pod_kinds(*workload_text);
  if (!kinds) {
    return fail(kinds.error().code, stage.options.workload_file + ": " + kinds.error().message);
  }
  const SystemClock clock;
  kube::LocalApi api(clock);
  if (auto loaded = api.load_yaml(*cluster_text); !loaded) {
    return fail(loaded.error().code, stage.options.cluster_file + ": " + loaded.error().message);
  }
  auto extender = bench::start_extender(
      *config, {.api = api, .clock = clock, .replica = std::nullopt, .learn_at_once = true});
  if (!extender) return extender.error();
  auto outcome = run_demo(stage, api, *extender, *kinds);
  extender->app->stop();
  return outcome;
}

void add_options(CLI::App& cli, Options& options) {
  cli.add_flag("--serve", options.serve, "At the end, keep the extender running until Ctrl-C");
  cli.add_flag("--live", options.live,
               "At the end, continue with one round per second until Ctrl-C");
  cli.add_option(
         "--nodes", options.nodes,
         "Instead of the demo, show a cluster in use with this many nodes of 8 cards, until Ctrl-C")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}));
  cli.add_flag("--quick", options.quick,
               "At most " + std::to_string(kQuickPods) + " pods, with all checks");
  cli.add_option("--pods", options.pods, "Number of pods that arrive")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}));
  cli.add_option("--seed", options.seed,
                 "Seed of the arrivals; the same seed gives the same result");
  cli.add_option("--policy", options.policy, alternatives(policies::policy_names()));
  cli.add_option("--listen", options.listen, "Address and port; port 0 = any free port");
  cli.add_option("--cluster", options.cluster_file, "YAML with Nodes")->take_last();
  cli.add_option("--workload", options.workload_file, "YAML with the kinds of Pods")->take_last();
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App cli(
      "Runs the extender on a small cluster in memory, with pods that arrive and end and have all\n"
      "kinds of GPU requests. Every decision uses the extender's HTTP API like kube-scheduler:\n"
      "filter, prioritize, bind. Then draws the cards, lists the pods that were not placed and "
      "why,\n"
      "and checks the ledger against the pods' grants.\n\n"
      "Exit codes: 0 = all checks passed, 1 = a check or the demo failed.\n"
      "NO_COLOR=1 turns colours off.\n");
  cli.option_defaults()->always_capture_default();
  add_options(cli, options);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? 0 : kBadUsage;
  }
  if (options.quick) options.pods = std::min(options.pods, kQuickPods);
  const sigset_t signals = block_stop_signals();
  spdlog::set_default_logger(spdlog::stderr_color_mt("tangram"));
  spdlog::set_level(spdlog::level::err);  // rejected pods are part of the demo
  const drawing::Style style = drawing::style_of_stdout();
  const auto outcome = run({.options = options, .style = style, .signals = signals});
  if (outcome) return *outcome;
  std::cerr << "tangram-demo: " << outcome.error().message << "\n";
  return kBroken;
} catch (const std::exception& error) {
  std::cerr << "tangram-demo: " << error.what() << "\n";
  return kBroken;
}
