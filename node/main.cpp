#include "base/logging.hpp"
#include "base/signals.hpp"
#include "kube/rest/rest_api.hpp"
#include "kube/rest/rest_config.hpp"
#include "node/agent.hpp"
#include "node/pool_settings.hpp"

#include <spdlog/spdlog.h>
#include <tangram_version.hpp>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
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

/// The settings of the node's pool, and what notices that it changes.
class Pool {
 public:
  /// @param common  by the command line
  Pool(std::span<const char* const> arguments, const node::Settings& common)
      : arguments_(arguments), folder_(common.pool_settings), state_dir_(common.state_dir) {}

  /// @returns kInvalidArgument after its mistakes were printed
  Result<node::Settings> settings(const node::PoolChoice& choice) const {
    const auto flags = node::pool_arguments(folder_, choice);
    if (!flags) return flags.error();
    auto parsed =
        node::parse_settings(static_cast<int>(arguments_.size()), arguments_.data(), *flags);
    if (!parsed.exit) return std::move(parsed.settings);
    return fail(Errc::kInvalidArgument,
                folder_ + "/" + choice.value_or("") + " has a mistake; it is printed above");
  }

  /// Chooses the settings of this start.
  Result<node::Settings> choose(kube::KubeApi& api, const std::string& node) {
    auto choice = node::pool_of_node(api, node, folder_, state_dir_, kReadNodeLimit);
    if (!choice) return choice.error();
    auto chosen = settings(*choice);
    if (!chosen) return chosen.error();
    spdlog::info("settings of this node: {}", choice->value_or("those of the command line"));
    choice_ = *choice;
    watch_.emplace(
        folder_, choice_,
        [this](const node::PoolChoice& other) -> Result<void> {
          const auto usable = settings(other);
          if (!usable) return usable.error();
          const auto sharing = usable->vendor->card_sharing();
          return sharing ? Result<void>() : sharing.error();
        },
        [] { ::kill(::getpid(), SIGTERM); });
    return chosen;
  }

  /// Once the agent's folder is there.
  Result<void> remember() const {
    return watch_ ? node::remember_pool(state_dir_, choice_) : Result<void>();
  }

  void see(const std::string& label) {
    if (watch_) watch_->see(label);
  }

 private:
  static constexpr std::chrono::seconds kReadNodeLimit{10};

  const std::span<const char* const> arguments_;
  const std::string folder_;
  const std::string state_dir_;
  node::PoolChoice choice_;
  std::optional<node::PoolWatch> watch_;  ///< nothing without --pool-settings
};

Result<void> serve(node::Settings settings, std::span<const char* const> arguments) {
  const sigset_t signals = block_stop_signals();
  const SystemClock clock;
  auto api = open_cluster(settings, kWork, clock);
  if (!api) return api.error();
  Pool pool(arguments, settings);
  if (!settings.pool_settings.empty()) {
    auto chosen = pool.choose(**api, settings.node);
    if (!chosen) return chosen.error();
    settings = std::move(*chosen);
    configure_logging(settings.log_level, settings.log_format);
  }
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
       .random = [device] { return (std::uint64_t{(*device)()} << 32U) | (*device)(); },
       .pool_seen = [&pool](const std::string& label) { pool.see(label); }});
  if (!agent) return agent.error();
  if (auto remembered = pool.remember(); !remembered) return remembered.error();
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
  const std::span<const char* const> arguments(argv, static_cast<std::size_t>(argc));
  if (auto served = serve(std::move(parsed.settings), arguments); !served) {
    report_failure("tangram-node", served.error().message);
    return kFailed;
  }
  return 0;
} catch (const std::exception& error) {
  report_failure("tangram-node", error.what());
  return kFailed;
}
