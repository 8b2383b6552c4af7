#include "base/logging.hpp"
#include "base/signals.hpp"
#include "kube/rest/rest_api.hpp"
#include "kube/rest/rest_config.hpp"
#include "node/agent.hpp"

#include <spdlog/spdlog.h>
#include <tangram_version.hpp>

#include <csignal>
#include <exception>
#include <memory>
#include <random>
#include <utility>

namespace {

using namespace tangram;

constexpr int kFailed = 1;

/// Calls a second in the long run, and at once.
struct Rate {
  int qps = 0;
  int burst = 0;
};

/// One node's writes and events are few; 5,000 agents are many. client-go's defaults.
constexpr Rate kWork{5, 10};
/// Reviews of tokens of the metrics' clients, which must not take from the work's: a scraper needs
/// two a minute.
constexpr Rate kReviews{2, 10};

Result<std::unique_ptr<kube::RestApi>> open_cluster(const node::Settings& settings, Rate rate,
                                                    const Clock& clock) {
  const auto server = settings.kubeconfig.empty() ? kube::in_cluster_config()
                                                  : kube::read_kubeconfig(settings.kubeconfig);
  if (!server) return server.error();
  kube::RestOptions options;
  options.user_agent = std::string("tangram-node/") + kVersion;
  options.qps = rate.qps;
  options.burst = rate.burst;
  return kube::RestApi::create(*server, std::move(options), clock);
}

Result<void> serve(node::Settings settings) {
  const sigset_t signals = block_stop_signals();
  const SystemClock clock;
  auto api = open_cluster(settings, kWork, clock);
  if (!api) return api.error();
  auto reviews = open_cluster(settings, kReviews, clock);
  if (!reviews) return reviews.error();
  const std::string name = settings.node;
  // Containers see the numbers and must not be able to tell the next.
  auto device = std::make_shared<std::random_device>("/dev/urandom");
  auto agent = node::Agent::create(
      std::move(settings),
      {.api = **api,
       .reviews = **reviews,
       .clock = clock,
       .reporter = {.controller = "tangram.dev/node", .instance = name},
       .random = [device] { return (std::uint64_t{(*device)()} << 32U) | (*device)(); }});
  if (!agent) return agent.error();
  spdlog::info("tangram-node {} for node {}, metrics on port {}", kVersion, name, (*agent)->port());
  int signal = 0;
  sigwait(&signals, &signal);
  spdlog::info("signal {}: stopping; containers go on", signal);
  (*agent)->stop();
  return {};
}

}  // namespace

int main(int argc, char** argv) try {
  auto parsed = node::parse_settings(argc, argv);
  if (parsed.exit) return *parsed.exit;
  configure_logging(parsed.settings.log_level, parsed.settings.log_format);
  if (auto served = serve(std::move(parsed.settings)); !served) {
    report_failure("tangram-node", served.error().message);
    return kFailed;
  }
  return 0;
} catch (const std::exception& error) {
  report_failure("tangram-node", error.what());
  return kFailed;
}
