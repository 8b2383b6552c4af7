#include "bench/bench_app.hpp"

#include <thread>

namespace tangram::bench {

namespace {

config::Config config_for(const BenchApp::Options& options) {
  config::Config config;
  config.server.listen = {"127.0.0.1", 0};
  config.scheduler.policy = options.policy;
  config.scheduler.short_list = options.short_list;
  config.kube.source = config::KubeSource::kLocal;
  return config;
}

}  // namespace

Result<std::unique_ptr<BenchApp>> BenchApp::start(const Options& options) {
  std::unique_ptr<BenchApp> bench(new BenchApp(options.size));
  auto app = extender::App::create(config_for(options), {.api = bench->api_,
                                                         .clock = bench->clock_,
                                                         .replica = std::nullopt,
                                                         .more_routes = options.more_routes});
  if (!app) return app.error();
  bench->app_ = std::move(*app);
  while (!bench->app_->synced()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  auto client = ExtenderClient::connect("127.0.0.1", bench->app_->port());
  if (!client) return client.error();
  bench->client_.emplace(std::move(*client));
  return bench;
}

void BenchApp::arrive(const PendingPod& pod) {
  api_.pod_event("ADDED", pod.json);
  while (!app_->pending().find(pod.uid)) std::this_thread::yield();
}

}  // namespace tangram::bench
