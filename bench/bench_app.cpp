#include "bench/bench_app.hpp"

#include <thread>

namespace tangram::bench {

config::Config local_config(const std::string& policy, int short_list) {
  config::Config config;
  config.server.listen = {"127.0.0.1", 0};
  config.scheduler.policy = policy;
  config.scheduler.short_list = short_list;
  config.kube.source = config::KubeSource::kLocal;
  return config;
}

Result<LocalExtender> start_extender(const config::Config& config,
                                     const extender::App::Parts& parts) {
  auto app = extender::App::create(config, parts);
  if (!app) return app.error();
  while (!(*app)->synced()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::string& host = config.server.listen.address;
  auto client = ExtenderClient::connect(host, (*app)->port());
  if (!client) return client.error();
  return LocalExtender{std::move(*app), std::move(*client), host};
}

std::string LocalExtender::address() const { return to_string(Endpoint{host, app->port()}); }

void LocalExtender::wait_until_seen(const std::string& pod_uid) const {
  while (!app->pods().find(pod_uid)) std::this_thread::yield();
}

void LocalExtender::wait_until_released(const std::string& pod_uid) const {
  const auto has_allocation = [&](const model::Ledger& ledger) {
    return ledger.find(pod_uid) != nullptr;
  };
  while (app->ledger().apply(has_allocation)) std::this_thread::yield();
}

BenchApp::BenchApp(ClusterSize size, GrantKeysPtr keys)
    : keys_(std::move(keys)), api_(size, kube::signer(keys_.get())) {}

Result<std::unique_ptr<BenchApp>> BenchApp::start(const Options& options) {
  GrantKeysPtr keys;
  if (!options.grants.signing_key.empty()) {
    auto opened = kube::GrantKeys::open(
        {.signing = options.grants.signing_key, .known = options.grants.public_keys});
    if (!opened) return opened.error();
    keys = std::move(*opened);
  }
  std::unique_ptr<BenchApp> bench(new BenchApp(options.size, std::move(keys)));
  config::Config config = local_config(options.policy, options.short_list);
  config.grants = options.grants;
  auto extender = start_extender(config, {.api = bench->api_,
                                          .clock = bench->clock_,
                                          .replica = std::nullopt,
                                          .more_routes = options.more_routes});
  if (!extender) return extender.error();
  bench->extender_.emplace(std::move(*extender));
  return bench;
}

void BenchApp::arrive(const PendingPod& pod) {
  api_.pod_event("ADDED", pod.json);
  extender_->wait_until_seen(pod.uid);
}

}  // namespace tangram::bench
