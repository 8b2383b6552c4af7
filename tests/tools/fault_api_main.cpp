// tangram-fault-api: an API server over HTTP with injected network faults. Wiring only.

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/signals.hpp"
#include "kube/local/api.hpp"
#include "kube/rest/rest_api.hpp"
#include "tests/testing/api_server.hpp"
#include "tests/testing/fault_api.hpp"
#include "tests/testing/fault_control.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

namespace {

using namespace tangram;
using testing::ApiServer;

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

struct Options {
  std::string cluster_file;
  std::string kubeconfig;
  std::string faults_file;
  std::uint16_t port = 0;
  std::string port_file;
  std::uint16_t control_port = 0;
  std::string control_port_file;
};

/// Whoever waits for the file never reads half of it.
Result<void> write_whole(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  const std::string half = path + ".part";
  std::ofstream file(half, std::ios::binary);
  file << text;
  file.close();
  if (!file || std::rename(half.c_str(), path.c_str()) != 0) {
    return fail(Errc::kUnavailable, path + ": cannot be written");
  }
  return {};
}

Result<std::unique_ptr<kube::KubeApi>> open_real(const Options& options, const Clock& clock) {
  const auto config = kube::read_kubeconfig(options.kubeconfig);
  if (!config) return config.error();
  // Its clients have rate limits of their own.
  kube::RestOptions rest{.user_agent = "tangram-fault-api"};
  rest.qps = 1'000'000;
  rest.burst = 1'000'000;
  auto api = kube::RestApi::create(*config, rest, clock);
  if (!api) return api.error();
  return std::move(*api);
}

Result<std::unique_ptr<kube::KubeApi>> open_api(const Options& options, const Clock& clock) {
  if (!options.kubeconfig.empty()) return open_real(options, clock);
  auto local = std::make_unique<kube::LocalApi>(clock);
  auto text = read_file(options.cluster_file);
  if (!text) return text.error();
  if (auto loaded = local->load_yaml(*text); !loaded) {
    return fail(loaded.error().code, options.cluster_file + ": " + loaded.error().message);
  }
  return local;
}

Result<testing::FaultScript> read_faults(const std::string& path) {
  if (path.empty()) return testing::FaultScript{};
  const auto text = read_file(path);
  if (!text) return text.error();
  auto script = testing::parse_faults(*text);
  if (!script) return fail(script.error().code, path + ": " + script.error().message);
  return script;
}

Result<void> serve(const Options& options) {
  const sigset_t signals = block_stop_signals();
  const SystemClock clock;
  auto api = open_api(options, clock);
  if (!api) return api.error();
  auto script = read_faults(options.faults_file);
  if (!script) return script.error();
  testing::FaultApi faults(**api, testing::FaultApi::Record::kNothing);
  faults.plan().set(std::move(*script));
  auto server = ApiServer::start(faults, {.port = options.port});
  if (!server) return server.error();
  testing::FaultControl control(faults, **server);
  auto desk = ApiServer::start(control, {.port = options.control_port});
  if (!desk) return desk.error();
  for (const auto& [file, port] : {std::pair(options.control_port_file, (*desk)->port()),
                                   std::pair(options.port_file, (*server)->port())}) {
    if (auto written = write_whole(file, std::to_string(port) + "\n"); !written) return written;
  }
  std::cout << "ready: " << (*server)->url() << ", faults at " << (*desk)->url() << "/_faults"
            << std::endl;
  int signal = 0;
  sigwait(&signals, &signal);
  faults.release();  // else the stop would wait for blocked calls
  return {};
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App cli(
      "An API server over HTTP with injected network faults: one in memory, or a real "
      "one.\n\n"
      "  tangram-fault-api --local deploy/demo/cluster.yaml --port 8001 --control-port 8002\n"
      "  curl -X PUT localhost:8002/_faults -d 'rules: [{path-ends: /binding, fault: "
      "lose-answer}]'\n"
      "  curl -X POST localhost:8002/_faults/pause\n");
  auto* cluster = cli.add_option_group("cluster")->require_option(1);
  cluster->add_option("--local", options.cluster_file,
                      "YAML file: the cluster to begin with, in memory");
  cluster->add_option("--kubeconfig", options.kubeconfig,
                      "Stand before the API server of this file's current context");
  cli.add_option("--faults", options.faults_file,
                 "YAML file: what goes wrong from the start (tests/testing/fault_plan.hpp)");
  cli.add_option("--port", options.port, "Port on 127.0.0.1; 0 = any")->capture_default_str();
  cli.add_option("--port-file", options.port_file, "Write the port there, once all is ready");
  cli.add_option("--control-port", options.control_port, "Port of /_faults; 0 = any")
      ->capture_default_str();
  cli.add_option("--control-port-file", options.control_port_file,
                 "Write the control port there, before the other one");
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? 0 : kBadUsage;
  }
  if (auto served = serve(options); !served) {
    std::cerr << "tangram-fault-api: " << served.error().message << "\n";
    return kFailed;
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "tangram-fault-api: " << error.what() << "\n";
  return kFailed;
}
