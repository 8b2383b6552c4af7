// Measures what the extender does beside a baseline in the same run: each figure is a ratio.

#include "bench/measure/measure.hpp"

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include <fstream>
#include <functional>
#include <iostream>
#include <map>

namespace {

using namespace tangram;

void add_size(CLI::App& command, bench::ClusterSize& size) {
  command.add_option("--nodes", size.nodes, "Nodes");
  command.add_option("--cards", size.cards_per_node, "Cards of a node");
  command.add_option("--pods", size.pods, "Pods that run already");
  command.add_option("--pod-milli", size.pod_milli, "Of one card, each of them; 0 = no card");
  command.add_option("--pod-spread", size.pod_spread, "Their sizes differ by at most so much");
  command.add_option("--used-nodes", size.used_nodes, "Share of the nodes on which they run");
}

/// Of clusters whose pods are read, so that their size counts.
void add_full_size(CLI::App& command, bench::ClusterSize& size) {
  size.pod_bytes = 5'120;
  add_size(command, size);
  command.add_option("--pod-bytes", size.pod_bytes, "Least size of one pod");
}

/// What pods come, and to which extender.
void add_load(CLI::App& command, bench::VerbRun& run) {
  add_size(command, run.size);
  command.add_option("--shapes", run.shapes, "Different requests that take turns");
  command.add_option("--unseen-percent", run.unseen_percent, "Pods of a shape never seen before");
  command.add_option("--churn", run.churn, "Pods that end or begin in a second, meanwhile");
  command.add_option("--short-list", run.short_list, "K; 0 = all");
  command.add_option("--policy", run.policy, "Policy");
}

void add_verbs(CLI::App& cli, bench::VerbRun& run) {
  CLI::App& command = *cli.add_subcommand(
      "verbs", "filter, prioritize and bind over HTTP, beside handlers that only decode");
  add_load(command, run);
  command.add_option("--rounds", run.rounds, "Pods to schedule and time");
  command.add_option("--hostile", run.hostile,
                     "Beside each 1,000 pods, of 16 containers that hardly fit any node");
  command.add_flag("--planning", run.planning,
                   "Every other time beside a thread that plans moves without a pause");
}

void add_soak(CLI::App& cli, bench::SoakRun& run) {
  CLI::App& command = *cli.add_subcommand(
      "soak",
      "the verbs at an even pace for an hour: memory, latency and watch lag by parts of it");
  add_load(command, run.verbs);
  command.add_option("--seconds", run.seconds, "How long")->check(CLI::PositiveNumber);
  command.add_option("--parts", run.parts, "Parts of that time, each with figures of its own")
      ->check(CLI::PositiveNumber);
  command.add_option("--pods-per-second", run.pods_per_second, "Pods to schedule and time")
      ->check(CLI::PositiveNumber);
}

void add_full_nodes(CLI::App& cli, bench::FullNodesRun& run) {
  CLI::App& command = *cli.add_subcommand(
      "nodes", "filter with whole Nodes, beside a copy and one scan of the same bytes");
  run.size.nodes = 1'000;
  run.size.pods = 10'000;
  add_size(command, run.size);
  command.add_option("--node-bytes", run.node_bytes, "Size of one Node");
  command.add_option("--rounds", run.rounds, "Requests to time");
}

void add_rebuild(CLI::App& cli, bench::RebuildRun& run) {
  CLI::App& command = *cli.add_subcommand(
      "rebuild", "reading the cluster at start, beside decoding the same pods; and memory");
  add_full_size(command, run.size);
  command
      .add_option("--signing-key", run.grants.signing_key,
                  "Signs the pods' grants: a file that `tangram-extender grant-key` made")
      ->check(CLI::ExistingFile);
  command.add_option("--public-keys", run.grants.public_keys, "Checks them: the other file")
      ->needs("--signing-key")
      ->check(CLI::ExistingPath);
  command.get_option("--signing-key")->needs("--public-keys");
}

void add_takeover(CLI::App& cli, bench::TakeoverRun& run) {
  CLI::App& command = *cli.add_subcommand(
      "takeover", "a new leader's time from the Lease to its first answer, beside new lists");
  add_full_size(command, run.size);
}

void add_ingest(CLI::App& cli, bench::IngestRun& run) {
  CLI::App& command =
      *cli.add_subcommand("ingest", "events of a watch, beside decoding the same pods");
  add_full_size(command, run.size);
  command.add_option("--events", run.events, "Events to time");
}

void add_steps(CLI::App& cli, bench::StepsRun& run) {
  CLI::App& command = *cli.add_subcommand(
      "steps", "what a decision consists of, in process; scripts/bench-check counts instructions");
  add_size(command, run.size);
  command.add_option("--rounds", run.rounds, "Pods to place");
}

void add_moves(CLI::App& cli, bench::MovesRun& run) {
  CLI::App& command = *cli.add_subcommand(
      "moves", "a plan of moves that makes room for whole cards, beside scoring one shape of pod");
  add_size(command, run.size);
  command.add_option("--moves", run.moves, "Most moves of the plan");
  command.add_option("--wanted", run.wanted, "Waiting pods of 1, 2, 4 and 8 cards, of each");
  command.add_option("--rounds", run.rounds, "Plans to time");
}

void add_webhook(CLI::App& cli, bench::WebhookRun& run) {
  CLI::App& command = *cli.add_subcommand(
      "webhook", "the admission calls over TLS, beside a handler that only answers");
  command.add_option("--rounds", run.rounds, "Calls of each kind to time");
  command.add_option("--sidecars", run.sidecars, "Containers beside the one with a GPU");
}

}  // namespace

int main(int argc, char** argv) try {
  bench::VerbRun verbs;
  bench::SoakRun soak;
  bench::FullNodesRun nodes;
  bench::RebuildRun rebuild;
  bench::TakeoverRun takeover;
  bench::IngestRun ingest;
  bench::StepsRun steps;
  bench::MovesRun moves;
  bench::WebhookRun webhook;
  std::string summary;
  CLI::App cli("Times the extender beside a baseline in the same run.");
  cli.require_subcommand(1);
  cli.option_defaults()->always_capture_default();
  cli.add_option("--summary", summary, "Write the figures as JSON");
  cli.fallthrough();
  add_verbs(cli, verbs);
  add_soak(cli, soak);
  add_full_nodes(cli, nodes);
  add_rebuild(cli, rebuild);
  add_takeover(cli, takeover);
  add_ingest(cli, ingest);
  add_steps(cli, steps);
  add_moves(cli, moves);
  add_webhook(cli, webhook);
  CLI11_PARSE(cli, argc, argv);
  spdlog::set_level(spdlog::level::warn);
  const std::map<std::string, std::function<Result<bench::Report>()>> measurements{
      {"verbs", [&] { return bench::measure(verbs); }},
      {"soak", [&] { return bench::measure(soak); }},
      {"nodes", [&] { return bench::measure(nodes); }},
      {"rebuild", [&] { return bench::measure(rebuild); }},
      {"takeover", [&] { return bench::measure(takeover); }},
      {"ingest", [&] { return bench::measure(ingest); }},
      {"steps", [&] { return bench::measure(steps); }},
      {"moves", [&] { return bench::measure(moves); }},
      {"webhook", [&] { return bench::measure(webhook); }}};
  const auto report = measurements.at(cli.get_subcommands().front()->get_name())();
  if (!report) {
    std::cerr << "tangram-bench: " << report.error().message << "\n";
    return 1;
  }
  std::cout << report->text;
  if (!summary.empty()) std::ofstream(summary) << report->json << "\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << "tangram-bench: " << error.what() << "\n";
  return 1;
}
