// Measures the verbs over HTTP beside a null handler in the same server, which decodes the same
// bytes and echoes the names: what a request costs before anything is decided.

#include "bench/bench_cluster.hpp"
#include "bench/latency.hpp"
#include "extender/app.hpp"
#include "extender/http_types.hpp"
#include "extender/router.hpp"
#include "extender/wire.hpp"

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include <fstream>
#include <iostream>
#include <numeric>
#include <thread>

namespace {

using namespace tangram;
using bench::BenchCluster;
using bench::ExtenderClient;
using bench::Latencies;

struct Options {
  bench::ClusterSize size;
  int rounds = 300;
  int warm_up = 20;
  int short_list = 8;
  std::string policy{policies::kDefaultPolicy};
  std::string summary;
};

/// Answers what the verb would, without looking at the books.
void add_null_routes(extender::Router& router) {
  using extender::HttpRequest;
  using extender::Responder;
  router.add("POST", "/null/filter", [](HttpRequest request, Responder responder) {
    extender::Body body(std::move(request.body));
    const auto args = extender::decode_filter_args(body);
    extender::FilterResult all;
    if (args) all.kept.resize(args->node_names.size());
    std::iota(all.kept.begin(), all.kept.end(), 0U);
    responder.send(extender::json_response(args ? encode(*args, all) : args.error().message));
  });
  router.add("POST", "/null/prioritize", [](HttpRequest request, Responder responder) {
    extender::Body body(std::move(request.body));
    const auto args = extender::decode_filter_args(body);
    std::vector<extender::HostScore> scores;
    if (args) {
      for (const std::string_view name : args->node_names) scores.push_back({name, 0});
    }
    responder.send(extender::json_response(encode(scores)));
  });
  router.add("POST", "/null/bind", [](HttpRequest request, Responder responder) {
    extender::Body body(std::move(request.body));
    const auto args = extender::decode_bind_args(body);
    responder.send(extender::json_response(
        extender::encode_bind_result(args ? std::string_view() : args.error().message)));
  });
}

config::Config config_for(const Options& options) {
  config::Config config;
  config.server.listen = {"127.0.0.1", 0};
  config.scheduler.policy = options.policy;
  config.scheduler.short_list = options.short_list;
  config.kube.source = config::KubeSource::kLocal;
  return config;
}

/// Runs `ask` and notes its time, unless this is a round to warm up.
template <class Ask>
auto timed(Latencies& latencies, bool counts, Ask&& ask) {
  const auto start = std::chrono::steady_clock::now();
  auto answer = ask();
  if (counts) latencies.add(std::chrono::steady_clock::now() - start);
  return answer;
}

struct Times {
  bench::VerbTimes filter{.verb = "filter", .real = {}, .null = {}};
  bench::VerbTimes prioritize{.verb = "prioritize", .real = {}, .null = {}};
  bench::VerbTimes bind{.verb = "bind", .real = {}, .null = {}};
};

/// One pod's way, each verb beside its null handler; the pod is removed again.
Result<void> round(BenchCluster& cluster, ExtenderClient& client, int number, bool counts,
                   Times& times) {
  auto pod = cluster.make_pending(number);
  if (!pod) return pod.error();
  const auto& nodes = cluster.node_names();
  const std::string body = bench::filter_body(pod->json, nodes);
  auto null = timed(times.filter.null, counts, [&] { return client.post("/null/filter", body); });
  if (!null) return null.error();
  auto kept = timed(times.filter.real, counts, [&] { return client.filter(pod->json, nodes); });
  if (!kept) return kept.error();
  if (kept->nodes.empty()) return fail(Errc::kConflict, "pod " + pod->name.name + " fits nowhere");
  const std::vector<std::string>& names = kept->nodes;
  const std::string short_body = bench::filter_body(pod->json, names);
  null = timed(times.prioritize.null, counts,
               [&] { return client.post("/null/prioritize", short_body); });
  if (!null) return null.error();
  auto scores =
      timed(times.prioritize.real, counts, [&] { return client.post("/prioritize", short_body); });
  if (!scores) return scores.error();
  const std::string bind_body = bench::bind_body(pod->name, names.front());
  null = timed(times.bind.null, counts, [&] { return client.post("/null/bind", bind_body); });
  if (!null) return null.error();
  auto bound =
      timed(times.bind.real, counts, [&] { return client.bind(pod->name, names.front()); });
  if (!bound) return bound.error();
  if (!bound->empty()) return fail(Errc::kConflict, *bound);
  return cluster.remove(pod->name);
}

Result<void> run(const Options& options) {
  const SystemClock clock;
  std::cerr << "making " << options.size.nodes << " nodes and " << options.size.pods << " pods\n";
  auto cluster = BenchCluster::create(clock, options.size);
  if (!cluster) return cluster.error();
  auto app = extender::App::create(config_for(options), {.api = (*cluster)->api(),
                                                         .clock = clock,
                                                         .workload = nullptr,
                                                         .more_routes = add_null_routes});
  if (!app) return app.error();
  std::cerr << "reading the cluster\n";
  while (!(*app)->synced()) std::this_thread::yield();
  auto client = ExtenderClient::connect("127.0.0.1", (*app)->port());
  if (!client) return client.error();
  Times times;
  for (int i = 0; i < options.warm_up + options.rounds; ++i) {
    if (auto done = round(**cluster, *client, i, i >= options.warm_up, times); !done) return done;
  }
  const std::vector<bench::VerbTimes> all{times.filter, times.prioritize, times.bind};
  std::cout << bench::latency_table(all);
  if (options.summary.empty()) return {};
  std::ofstream(options.summary) << bench::latency_json(all) << "\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App cli("Times filter, prioritize and bind over HTTP beside a null handler.");
  cli.add_option("--nodes", options.size.nodes, "Nodes")->capture_default_str();
  cli.add_option("--cards", options.size.cards_per_node, "Cards of a node")->capture_default_str();
  cli.add_option("--pods", options.size.pods, "Pods that run already")->capture_default_str();
  cli.add_option("--rounds", options.rounds, "Pods to schedule and time")->capture_default_str();
  cli.add_option("--short-list", options.short_list, "K; 0 = all")->capture_default_str();
  cli.add_option("--policy", options.policy, "Policy")->capture_default_str();
  cli.add_option("--summary", options.summary, "Write the times as JSON");
  CLI11_PARSE(cli, argc, argv);
  spdlog::set_level(spdlog::level::warn);
  if (auto done = run(options); !done) {
    std::cerr << "tangram-bench: " << done.error().message << "\n";
    return 1;
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "tangram-bench: " << error.what() << "\n";
  return 1;
}
