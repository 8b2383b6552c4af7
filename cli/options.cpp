#include "cli/options.hpp"

#include "cli/options_parts.hpp"
#include "cluster/move_request.hpp"
#include "model/annotations.hpp"
#include "model/isolation.hpp"
#include "model/resize_keys.hpp"
#include "policies/registry.hpp"
#include "tangram_version.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

namespace tangram::cli {

namespace {

Output output_of(const std::string& name) {
  if (name == "json") return Output::kJson;
  return name == "yaml" ? Output::kYaml : Output::kWide;
}

void add_connection(CLI::App& parser, Options& options) {
  add(parser, "--kubeconfig", options.target.kubeconfig, "FILE",
      "The kubeconfig; default: $KUBECONFIG, ~/.kube/config, then the pod's service account");
  add(parser, "--context", options.target.context, "NAME",
      "The kubeconfig's context; default: its current one");
  add(parser, "--server", options.target.server, "URL",
      "The API server's URL instead of a kubeconfig, such as http://127.0.0.1:8001 of `kubectl "
      "proxy`");
  add(parser, "-n,--namespace", options.ns, "NAME",
      "The namespace of pods; default: the context's");
  parser.add_flag("-A,--all-namespaces", options.all_namespaces, "Pods of all namespaces");
  add(parser, "--system-namespace", options.system_namespace, "NAME",
      "The namespace in which Tangram is installed")
      ->capture_default_str();
}

void add_extender(CLI::App& parser, Options& options) {
  add(parser, "--extender", options.extender.url, "URL",
      "For top, explain and pods: ask this extender, which also knows its reservations, and which "
      "resizes it cannot write; its URL, or `proxy` to reach its Service through the API server");
  add(parser, "--extender-ca", options.extender.ca_file, "FILE",
      "The CA of the extender's certificate, PEM");
  parser.add_flag(
      "--extender-insecure", options.extender.insecure,
      "Accept any certificate; safe through `kubectl port-forward`, which is encrypted");
}

void add_output(CLI::App& parser, Options& options) {
  parser
      .add_option_function<std::string>(
          "-o,--output", [&options](const std::string& name) { options.output = output_of(name); },
          "More columns, or a format for programs")
      ->check(CLI::IsMember({"wide", "json", "yaml"}))
      ->type_name("FORMAT");
  parser.add_flag("-w,--watch", options.watch, "Repeat every two seconds");
}

void add_views(CLI::App& parser, Options& options) {
  add_command(parser, "top", "Show how much memory and compute of each card is granted, by node",
              "  kubectl tangram top                 the fullest nodes, one bar for each card\n"
              "  kubectl tangram top gpu-1 gpu-2     these two nodes\n"
              "  kubectl tangram top -o wide         one line for each card, with its UUID\n"
              "  kubectl tangram top --watch\n")
      ->add_option("NODE", options.nodes, "Only these nodes");
  add_command(
      parser, "pods", "List the pods that request cards: their requests, grants, nodes and states",
      "  kubectl tangram pods -A\n"
      "  kubectl tangram pods -n ml -o wide  with whole UUIDs and findings\n"
      "  kubectl tangram pods -A -o json | jq -r '.pods[] | select(.state==\"Pending\").name'\n");
  add_command(parser, "explain",
              "Explain why a pod is pending, card by card, or the allocation of a bound pod",
              "  kubectl tangram explain train-0 -n ml\n"
              "  kubectl tangram explain ml/train-0 -o wide   every node, not only the nearest\n")
      ->add_option("POD", options.pod, "NAME, or NAMESPACE/NAME")
      ->required();
}

/// @param range  in seconds
CLI::Option* add_timeout(CLI::App& command, int& seconds, const std::string& help,
                         std::pair<int, int> range) {
  const std::map<std::string, int> units{{"s", 1}, {"m", 60}, {"h", 3600}};
  return add(command, "--timeout", seconds, "TIME", help)
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE, "TIME"))
      ->check(CLI::Range(range.first, range.second));
}

void add_defrag(CLI::App& parser, Options& options) {
  CLI::App* const defrag = add_command(
      parser, "defrag",
      "Show which few pods would have to move so that waiting pods fit, and where to. Writes "
      "nothing without --run. Exit code 3: pods wait for room, and no move helps, or the moves "
      "were "
      "stopped",
      "  kubectl tangram defrag\n"
      "  kubectl tangram defrag --max-moves 3 -o json\n"
      "  kubectl tangram defrag --run                 have the extender evict them, one by one\n"
      "Moves pods of ReplicaSets and StatefulSets, within their disruption budgets. The label "
      "tangram.dev/movable allows it for pods of other controllers (true), or forbids it "
      "(false).\n");
  add(*defrag, "--max-moves", options.most_moves, "NUMBER", "At most so many pods move")
      ->check(CLI::Range(std::size_t{1}, cluster::MoveRequest::kMostPods))
      ->capture_default_str();
  CLI::Option* const run = defrag->add_flag(
      "--run", options.run_moves,
      "Have the extender carry the plan out, and wait for it. It reserves all places first, and "
      "stops at the first difference");
  add_timeout(*defrag, options.moves_timeout_s,
              "With --run, no move begins later: 5m, 1h; default: 10m", {10, 3'600})
      ->needs(run);
}

void add_fit(CLI::App& parser, Options& options) {
  CLI::App* const fit = add_command(
      parser, "fit",
      "Count how many more pods of a kind would fit, and show where. Exit code 3: none fits, or "
      "fewer than --count",
      "  kubectl tangram fit --gpu-fraction 0.5\n"
      "  kubectl tangram fit --gpu-mem 8Gi --gpu-compute 0.2 --gpu-model 'A100*,H100*'\n"
      "  kubectl tangram fit --gpu-count 2 --count 4 && helm install ...\n");
  const auto annotation_option = [&](const model::RequestAnnotation& annotation) {
    const std::string key(annotation.key);
    return fit
        ->add_option_function<std::string>(
            "--" + key,
            [&options, key](const std::string& value) { options.fit.annotations[key] = value; },
            std::string(annotation.option_help))
        ->type_name(std::string(annotation.option_type));
  };
  // The annotations' names and values, read by the annotations' parser.
  for (const model::RequestAnnotation& annotation : model::kRequestAnnotations) {
    if (annotation.option_type.empty()) continue;
    CLI::Option* const option = annotation_option(annotation);
    const auto names = request_values(annotation.key);
    if (!names.empty()) option->check(CLI::IsMember(names));
  }
  add(*fit, "--cpu", options.fit.cpu, "QUANTITY", "The pod's CPU request: 4, 500m");
  add(*fit, "--memory", options.fit.memory, "QUANTITY", "The pod's memory request: 16Gi");
  add(*fit, "--count", options.fit.count, "NUMBER", "Check whether this many fit, and show where")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}));
}

CLI::Option* add_wait(CLI::App& command, Options& options, const std::string& help) {
  CLI::Option* const wait = command.add_flag("--wait", options.wait, help);
  add_timeout(command, options.timeout_s, "With --wait, at most so long: 60s, 5m; default: 60s",
              {1, 86'400})
      ->needs(wait);
  return wait;
}

void add_cordons(CLI::App& parser, Options& options) {
  constexpr const char* kUuid =
      "The card's UUID, as `top -o wide` shows it; NODE/UUID where several nodes list it";
  CLI::App* const cordon = add_command(
      parser, "cordon-card",
      "Stop placing new pods on a card; its pods keep running. Writes one annotation of its Node",
      "  kubectl tangram cordon-card GPU-5f2a... --reason 'noisy fan'\n");
  cordon->add_option("UUID", options.card, kUuid)->required();
  cordon->add_option("--reason", options.reason, "Shown wherever the card is shown");
  CLI::App* const drain = add_command(
      parser, "drain-card",
      "Stop placing new pods on a card, and have the extender evict its pods, within their "
      "disruption budgets, while other cards have room for them. Writes two annotations of its "
      "Node",
      "  kubectl tangram drain-card GPU-5f2a... --reason 'to be replaced'\n");
  drain->add_option("UUID", options.card, kUuid)->required();
  drain->add_option("--reason", options.reason, "Shown wherever the card is shown");
  add_command(parser, "uncordon-card", "Place pods on the card again",
              "  kubectl tangram uncordon-card GPU-5f2a...\n")
      ->add_option("UUID", options.card, kUuid)
      ->required();
  CLI::App* const reset = add_command(
      parser, "reset-card",
      "Make a card of NVIDIA's ready to be reset, after a fault that only a reset mends: cordon "
      "it, "
      "list the pods in the way, and print the commands that reset it. Resets nothing itself. Exit "
      "code 3: pods are still there",
      "  kubectl tangram reset-card GPU-5f2a...\n"
      "  kubectl tangram reset-card GPU-5f2a... --wait --timeout 1h\n"
      "  kubectl tangram reset-card GPU-5f2a... --with-linked    a V100 with NVLink\n"
      "It evicts no pods. Before the commands are run, the card stays as it is; undo: "
      "uncordon-card.\n");
  reset->add_option("UUID", options.card, kUuid)->required();
  reset->add_flag(
      "--with-linked", options.with_linked,
      "Also the cards that NVLink connects to it. Needed before Ampere, and on Ampere's "
      "NVSwitch systems without Fabric Manager: nvidia-smi then names the missing ones");
  add_wait(*reset, options, "Wait until no pod is in the way");
}

struct ResizeOption {
  std::string_view key;
  const char* type;
  const char* help;
};
constexpr std::array<ResizeOption, model::kResizeKeys.size()> kResizeOptions{{
    {model::kMemoryKey, "QUANTITY", "Memory of each of its cards: 12Gi"},
    {model::kFractionKey, "SHARE", "That share of each card's memory and compute: 0.5"},
    {model::kComputeKey, "SHARE", "Beside gpu-mem, the share of compute: 0.3; 0 = best effort"},
    {model::kMemoryLimitKey, "QUANTITY", "Burst limit of memory: 16Gi; none = the share"},
    {model::kComputeLimitKey, "SHARE", "Burst limit of compute: 0.8; none = the share"},
}};

void add_resize(CLI::App& parser, Options& options) {
  CLI::App* const resize = add_command(
      parser, "resize",
      "Request other amounts for a running pod, on the cards that it has and without a restart. "
      "Writes its annotations. The extender grants the request, or says why not; then the node's "
      "agent applies it to the containers. Exit code 3, with --wait: infeasible",
      "  kubectl tangram resize train-0 -n ml --gpu-mem 12Gi\n"
      "  kubectl tangram resize train-0 -n ml --gpu-mem 12Gi --wait --timeout 5m\n"
      "  kubectl tangram resize ml/serve --container server --gpu-fraction 0.25\n"
      "  kubectl tangram resize ml/serve --gpu-compute-limit 0.8 --dry-run\n"
      "  kubectl tangram explain ml/serve    how far a resize is\n"
      "Whole cards are not resized, and neither the cards nor the containers that have them "
      "change.\n"
      "What the means of memory limits allow: docs/annotations.md, \"Resize a running pod\".\n");
  resize->add_option("POD", options.pod, "NAME, or NAMESPACE/NAME")->required();
  for (const ResizeOption& option : kResizeOptions) {
    const std::string key(option.key);
    resize
        ->add_option_function<std::string>(
            "--" + key,
            [&options, key](const std::string& value) { options.resize.amounts[key] = value; },
            option.help)
        ->type_name(option.type);
  }
  add(*resize, "--container", options.resize.container, "NAME",
      "The container; needed where several have a GPU request");
  CLI::Option* const wait =
      add_wait(*resize, options, "Wait until the containers have it, or it is infeasible");
  CLI::Option* const dry_run =
      resize->add_flag("--dry-run", options.resize.dry_run,
                       "Let the API server check the request, and store nothing");
  wait->excludes(dry_run);
}

void add_others(CLI::App& parser, Options& options) {
  add_command(parser, "doctor",
              "Check the installation from end to end and say what to do about each problem. Exit "
              "code 3: a check failed",
              "  kubectl tangram doctor\n"
              "  kubectl tangram doctor --system-namespace gpu-system -o json\n");
  add_command(
      parser, "completion",
      "Print the script with which a shell completes the commands of kubectl-tangram",
      "  source <(kubectl-tangram completion bash)\n"
      "  kubectl-tangram completion fish > ~/.config/fish/completions/kubectl-tangram.fish\n"
      "For `kubectl tangram` put deploy/cli/kubectl_complete-tangram on the PATH.\n")
      ->add_option("SHELL", options.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

/// Commands that have nothing to show again.
constexpr std::array<std::string_view, 8> kShowNothing{"cordon-card", "drain-card", "uncordon-card",
                                                       "reset-card",  "resize",     "completion",
                                                       "fill",        "autoscaler"};

std::string first_contradiction(const Options& options) {
  if (!options.ns.empty() && options.all_namespaces) {
    return "--namespace and --all-namespaces contradict each other; give one of them";
  }
  if (options.watch && std::ranges::find(kShowNothing, options.command) != kShowNothing.end()) {
    return "--watch does not go with a command that shows nothing; leave it out";
  }
  if (options.watch && options.run_moves) {
    return "--watch does not go with --run, which shows its progress; leave it out";
  }
  if (options.command == "fill" && options.output == Output::kJson) {
    return "fill prints YAML, in which values keep their form; kubectl reads it: leave -o json out";
  }
  if (options.command == "resize" && options.resize.amounts.empty()) {
    return "resize needs an amount, such as --gpu-mem 12Gi; see `kubectl tangram resize --help`";
  }
  if (options.watch && options.command == "whatif" && options.file == "-") {
    return "--watch reads the file again each time, but standard input only once; name a file";
  }
  return "";
}

}  // namespace

std::vector<std::string> request_values(std::string_view key) {
  if (key == model::kIsolationKey) {
    return {model::kIsolationNames.begin(), model::kIsolationNames.end()};
  }
  if (key == model::kMemoryLimitsKey) {
    return {model::kRequirableMemoryLimits.begin(), model::kRequirableMemoryLimits.end()};
  }
  if (key != model::kPolicyKey) return {};
  return {policies::policy_names().begin(), policies::policy_names().end()};
}

std::unique_ptr<CLI::App> make_parser(Options& options) {
  auto parser = std::make_unique<CLI::App>(
      "Shows how Tangram shares GPU cards between pods, and why a pod is pending. Reads nodes and\n"
      "pods with your kubeconfig. Only resize, cordon-card, drain-card, uncordon-card and "
      "reset-card write.");
  parser->name("kubectl tangram");
  parser->fallthrough();
  parser->require_subcommand(1);
  parser->set_version_flag("--version", std::string("kubectl-tangram ") + kVersion);
  parser->footer(
      "Examples:\n"
      "  kubectl tangram top                        how full each card is\n"
      "  kubectl tangram explain train-0 -n ml      why this pod is pending\n"
      "  kubectl tangram fit --gpu-fraction 0.5     how many more such pods fit\n"
      "  kubectl tangram doctor                     whether the installation works\n\n"
      "A command's own options and more examples: kubectl tangram COMMAND --help\n"
      "Exit codes: 0 = done, 1 = failed, 2 = wrong usage, 3 = the answer is no. See docs/cli.md.");
  add_connection(*parser, options);
  add_extender(*parser, options);
  add_output(*parser, options);
  add_views(*parser, options);
  add_fit(*parser, options);
  add_defrag(*parser, options);
  add_manifest_commands(*parser, options);
  add_resize(*parser, options);
  add_cordons(*parser, options);
  add_others(*parser, options);
  return parser;
}

Parsed parse_options(const std::vector<std::string>& arguments) {
  Parsed parsed;
  const auto parser = make_parser(parsed.options);
  try {
    // CLI11 reads them from the back.
    parser->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    parsed.exit = parser->exit(error, out, err) == 0 ? kDone : kBadUsage;
    parsed.message = out.str() + err.str();
    return parsed;
  }
  parsed.options.command = parser->get_subcommands().front()->get_name();
  parsed.message = first_contradiction(parsed.options);
  if (!parsed.message.empty()) {
    parsed.message += "\n";
    parsed.exit = kBadUsage;
  }
  return parsed;
}

}  // namespace tangram::cli
