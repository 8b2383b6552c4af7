// tangram-demo: the extender, a small API server and the player in one process. Wiring only.

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/signals.hpp"
#include "base/spelling.hpp"
#include "bench/demo/crowd.hpp"
#include "bench/demo/packing_table.hpp"
#include "bench/demo/player.hpp"
#include "bench/demo/report.hpp"
#include "config/config.hpp"
#include "drawing/card_map.hpp"
#include "extender/app.hpp"
#include "kube/local/api.hpp"
#include "policies/registry.hpp"

#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

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
  std::size_t nodes = 0;  ///< of a crowd; 0 = the cluster of the file is played
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

Result<void> wait_until_ready(ExtenderClient& extender, std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto page = extender.get("/readyz");
    if (!page) return page.error();
    if (page->status == 200) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return fail(Errc::kTimeout, "the extender is not ready after " +
                                  std::to_string(patience.count()) + " s; GET /readyz says why");
}

Result<tangram::drawing::ClusterView> read_cluster(ExtenderClient& extender) {
  auto page = extender.get("/api/v1/cluster");
  if (!page) return page.error();
  return tangram::drawing::read_cluster_view(std::move(page->body));
}

/// Holds what the extender shows against the pods' grants.
Result<void> compare(Player& player, ExtenderClient& extender) {
  const auto shown = read_cluster(extender);
  if (!shown) return shown.error();
  player.audit().compare(*shown);
  return {};
}

/// A line that a terminal overwrites; elsewhere a line for every tenth.
class Progress {
 public:
  explicit Progress(const tangram::drawing::Look& look) : look_(look) {}

  void show(const Player& player, const std::vector<Player::Story>& stories) {
    if (live_) std::cout << "\r\x1b[K";
    for (const Player::Story& story : stories) std::cout << draw_story(look_, story);
    const std::string line =
        draw_progress(look_, player.counts(), player.total_pods(), player.history().back());
    const std::size_t tenth = 10 * player.counts().arrived / player.total_pods();
    const bool another = tenth != std::exchange(tenth_, tenth);
    if (live_) std::cout << line << (player.done() ? "\n" : "") << std::flush;
    if (!live_ && another) std::cout << line << "\n";
  }

 private:
  const tangram::drawing::Look& look_;
  bool live_ = tangram::drawing::stdout_is_terminal();
  std::size_t tenth_ = 0;
};

/// Rounds until every pod has arrived, with stories and progress on the way.
/// @returns false if the user wants to stop
Result<bool> play(Player& player, ExtenderClient& extender, const tangram::drawing::Look& look,
                  const sigset_t& signals) {
  constexpr std::size_t kComparedEvery = 10;  // rounds; often enough to name the round, and cheap
  Progress progress(look);
  while (!player.done()) {
    if (interrupted(signals)) return false;
    const auto stories = player.play_round();
    if (!stories) return stories.error();
    progress.show(player, *stories);
    if (player.history().size() % kComparedEvery != 0 && !player.done()) continue;
    if (auto compared = compare(player, extender); !compared) return compared.error();
  }
  return true;
}

Result<void> report(Player& player, ExtenderClient& extender, const tangram::drawing::Look& look,
                    const std::string& address) {
  const auto cluster = read_cluster(extender);
  if (!cluster) return cluster.error();
  const auto metrics = extender.get("/metrics");
  if (!metrics) return metrics.error();
  std::cout << tangram::drawing::heading(look, "card by card")
            << draw_packing_table(look, *cluster);
  std::cout << tangram::drawing::heading(look, "the cards, larger ones longer")
            << tangram::drawing::draw_card_map(look, *cluster);
  std::cout << tangram::drawing::heading(look, "pods without a place, and why")
            << player.refusals().draw(look);
  std::cout << tangram::drawing::heading(look, "numbers")
            << draw_numbers(look, metrics->body, player.counts(), player.history());
  std::cout << tangram::drawing::heading(look, "checks") << draw_checks(look, player.audit());
  std::cout << tangram::drawing::heading(look, "look further")
            << draw_next_steps(look, address, player.example_running(), player.example_waiting());
  std::cout << std::flush;
  return {};
}

struct Stage {
  const Options& options;
  const tangram::drawing::Look& look;
  const sigset_t& signals;
};

std::string page_line(const tangram::drawing::Look& look, const std::string& address) {
  return "the packing page: " +
         tangram::drawing::paint(look, drawing::kBold, "http://" + address + "/") + "\n";
}

/// Further rounds, slow enough to watch, until the user wants to stop.
Result<void> go_on(Player& player, ExtenderClient& extender, const Stage& stage) {
  constexpr auto kPace = std::chrono::milliseconds(1'000);
  while (!interrupted(stage.signals, kPace)) {
    player.go_on(Player::Plan().per_round);
    if (const auto played = player.play_round(); !played) return played.error();
    if (auto compared = compare(player, extender); !compared) return compared.error();
  }
  return {};
}

Result<int> perform(const Stage& stage, kube::KubeApi& api, extender::App& app,
                    const std::vector<PodKind>& kinds, const config::Endpoint& listen) {
  constexpr auto kPatience = std::chrono::seconds(10);
  const config::Endpoint endpoint{listen.address, app.port()};
  const std::string address = config::to_string(endpoint);
  auto extender = ExtenderClient::connect(listen.address, app.port());
  if (!extender) return extender.error();
  if (auto ready = wait_until_ready(*extender, kPatience); !ready) return ready.error();
  const auto cluster = read_cluster(*extender);
  if (!cluster) return cluster.error();
  auto player = Player::create({.api = api, .extender = *extender, .kinds = kinds},
                               {.pods = stage.options.pods, .seed = stage.options.seed});
  if (!player) return player.error();
  std::cout << draw_cluster_line(stage.look, *cluster) << "extender on http://" << address
            << ", policy " << stage.options.policy << ", seed " << stage.options.seed << "\n"
            << page_line(stage.look, address)
            << tangram::drawing::heading(stage.look,
                                         "each kind's first pod: tangram.dev/gpu-… → where");
  const auto played = play(*player, *extender, stage.look, stage.signals);
  if (!played) return played.error();
  if (!*played) return kInterrupted;
  if (auto reported = report(*player, *extender, stage.look, address); !reported) {
    return reported.error();
  }
  if (stage.options.live) {
    std::cout << "\n"
              << page_line(stage.look, address) << "pods come and go until Ctrl-C\n"
              << std::flush;
    if (auto gone_on = go_on(*player, *extender, stage); !gone_on) return gone_on.error();
  } else if (stage.options.serve) {
    std::cout << "\n" << page_line(stage.look, address) << "serving until Ctrl-C\n" << std::flush;
    int signal = 0;
    sigwait(&stage.signals, &signal);
  } else {
    std::cout << tangram::drawing::paint(stage.look, drawing::kDim,
                                         "(these answer while it runs: add --serve, or --live)")
              << "\n";
  }
  return player->audit().broken().empty() ? 0 : kBroken;
}

/// A large cluster to look at, which nobody plays.
Result<int> show_crowd(const Stage& stage, const config::Config& config) {
  constexpr auto kPace = std::chrono::milliseconds(500);
  constexpr std::size_t kChangesPerThousandCards = 1;
  constexpr auto kPatience = std::chrono::seconds(300);  // 100,000 pods on a machine that is busy
  const SystemClock clock;
  kube::LocalApi api(clock);
  Crowd crowd(api, stage.options.nodes, stage.options.seed);
  if (auto filled = crowd.fill(); !filled) return filled.error();
  auto app = extender::App::create(
      config, {.api = api, .clock = clock, .replica = std::nullopt, .learn_at_once = true});
  if (!app) return app.error();
  auto extender = ExtenderClient::connect(config.server.listen.address, (*app)->port());
  if (!extender) return extender.error();
  if (auto ready = wait_until_ready(*extender, kPatience); !ready) return ready.error();
  const config::Endpoint endpoint{config.server.listen.address, (*app)->port()};
  std::cout << stage.options.nodes << " nodes, " << crowd.cards() << " cards, " << crowd.pods()
            << " pods that come and go until Ctrl-C\n"
            << page_line(stage.look, config::to_string(endpoint)) << std::flush;
  while (!interrupted(stage.signals, kPace)) {
    const auto changes = 1 + crowd.cards() * kChangesPerThousandCards / 1'000;
    if (auto changed = crowd.change(changes); !changed) return changed.error();
  }
  (*app)->stop();
  return 0;
}

Result<int> run(const Stage& stage) {
  const auto config = configuration(stage.options);
  if (!config) return config.error();
  if (stage.options.nodes > 0) return show_crowd(stage, *config);
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
  auto app = extender::App::create(
      *config, {.api = api, .clock = clock, .replica = std::nullopt, .learn_at_once = true});
  if (!app) return app.error();
  auto outcome = perform(stage, api, **app, *kinds, config->server.listen);
  (*app)->stop();
  return outcome;
}

void add_options(CLI::App& cli, Options& options) {
  cli.add_flag("--serve", options.serve, "Keep answering over HTTP at the end, until Ctrl-C");
  cli.add_flag("--live", options.live, "Play on at the end, a round a second, until Ctrl-C");
  cli.add_option("--nodes", options.nodes,
                 "Play nothing; show a busy cluster of so many nodes of 8 cards, until Ctrl-C")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}));
  cli.add_flag("--quick", options.quick,
               "Only " + std::to_string(kQuickPods) + " pods; all checks all the same");
  cli.add_option("--pods", options.pods, "How many pods arrive")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}))
      ->capture_default_str();
  cli.add_option("--seed", options.seed, "Another one, other arrivals; the same, the same outcome")
      ->capture_default_str();
  cli.add_option("--policy", options.policy, alternatives(policies::policy_names()))
      ->capture_default_str();
  cli.add_option("--listen", options.listen, "Address and port; port 0 = any free one")
      ->capture_default_str();
  cli.add_option("--cluster", options.cluster_file, "YAML with Nodes")
      ->take_last()
      ->capture_default_str();
  cli.add_option("--workload", options.workload_file, "YAML with the kinds of Pods that arrive")
      ->take_last()
      ->capture_default_str();
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App cli(
      "Plays a small cluster: the extender on an API server in memory, and pods with all kinds of\n"
      "GPU requests that arrive and end. Every decision goes over HTTP, as kube-scheduler would\n"
      "ask: filter, prioritize, bind. Then draws what every card holds, tells what was refused "
      "and\n"
      "why, and checks the ledger against the pods' grants.\n\n"
      "Ends with 0 if every check held, 1 if one did not or the demo could not go on.\n"
      "NO_COLOR=1 leaves out the colours.\n");
  add_options(cli, options);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? 0 : kBadUsage;
  }
  if (options.quick) options.pods = std::min(options.pods, kQuickPods);
  const sigset_t signals = block_stop_signals();
  spdlog::set_default_logger(spdlog::stderr_color_mt("tangram"));
  spdlog::set_level(spdlog::level::err);  // refused pods are part of the play
  const tangram::drawing::Look look = tangram::drawing::look_of_stdout();
  const auto outcome = run({.options = options, .look = look, .signals = signals});
  if (outcome) return *outcome;
  std::cerr << "tangram-demo: " << outcome.error().message << "\n";
  return kBroken;
} catch (const std::exception& error) {
  std::cerr << "tangram-demo: " << error.what() << "\n";
  return kBroken;
}
