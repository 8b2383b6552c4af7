#include "cli/options.hpp"

#include "model/annotations.hpp"
#include "model/isolation.hpp"
#include "policies/registry.hpp"
#include "tangram_version.hpp"

#include <CLI/CLI.hpp>

#include <sstream>
#include <utility>

namespace tangram::cli {

namespace {

Output output_of(const std::string& name) {
  if (name == "json") return Output::kJson;
  return name == "yaml" ? Output::kYaml : Output::kWide;
}

/// A subcommand with examples under its help.
CLI::App* add_command(CLI::App& parser, Options& options, Command command, const std::string& name,
                      const std::string& what, const std::string& examples) {
  CLI::App* const added = parser.add_subcommand(name, what);
  added->footer("Examples:\n" + examples + "\nOptions of all commands: kubectl tangram --help");
  added->callback([&options, command] { options.command = command; });
  return added;
}

void add_where(CLI::App& parser, Options& options) {
  parser
      .add_option("--kubeconfig", options.target.kubeconfig,
                  "The kubeconfig; else $KUBECONFIG, else ~/.kube/config, else the pod's own "
                  "service account")
      ->type_name("FILE");
  parser.add_option("--context", options.target.context, "A context of it, not its current one")
      ->type_name("NAME");
  parser
      .add_option("--server", options.target.server,
                  "The API server's URL instead of a kubeconfig: http://127.0.0.1:8001 where "
                  "`kubectl proxy` runs")
      ->type_name("URL");
  parser.add_option("-n,--namespace", options.ns, "Of the pods; else the context's")
      ->type_name("NAME");
  parser.add_flag("-A,--all-namespaces", options.all_namespaces, "Pods of all namespaces");
  parser.add_option("--system-namespace", options.system_namespace, "Where Tangram is installed")
      ->type_name("NAME")
      ->capture_default_str();
}

void add_extender(CLI::App& parser, Options& options) {
  parser
      .add_option("--extender", options.extender.url,
                  "Ask this extender for top and explain, which knows what it holds in memory, "
                  "too: its URL, or `proxy` to reach its Service through the API server")
      ->type_name("URL");
  parser
      .add_option("--extender-ca", options.extender.ca_file,
                  "The authority of its certificate, PEM")
      ->type_name("FILE");
  parser.add_flag(
      "--extender-insecure", options.extender.insecure,
      "Believe any certificate: through `kubectl port-forward` the way is safe already");
}

void add_how(CLI::App& parser, Options& options) {
  parser
      .add_option_function<std::string>(
          "-o,--output", [&options](const std::string& name) { options.output = output_of(name); },
          "More of it, or for programs")
      ->check(CLI::IsMember({"wide", "json", "yaml"}))
      ->type_name("FORMAT");
  parser.add_flag("-w,--watch", options.watch, "Again every two seconds");
}

void add_views(CLI::App& parser, Options& options) {
  add_command(parser, options, Command::kTop, "top",
              "How full every card is: memory and compute granted, by node",
              "  kubectl tangram top                 the fullest nodes, a bar for every card\n"
              "  kubectl tangram top gpu-1 gpu-2     these two\n"
              "  kubectl tangram top -o wide         a line for every card, with its UUID\n"
              "  kubectl tangram top --watch\n")
      ->add_option("NODE", options.nodes, "Only these");
  add_command(
      parser, options, Command::kPods, "pods",
      "Pods that ask for cards: what they want, what they have, and where",
      "  kubectl tangram pods -A\n"
      "  kubectl tangram pods -n ml -o wide  with whole UUIDs and what is wrong\n"
      "  kubectl tangram pods -A -o json | jq -r '.pods[] | select(.state==\"Pending\").name'\n");
  add_command(parser, options, Command::kExplain, "explain",
              "Why a pod waits, card by card and with the numbers; of a bound pod what it holds",
              "  kubectl tangram explain train-0 -n ml\n"
              "  kubectl tangram explain ml/train-0 -o wide   every node, not the nearest alone\n")
      ->add_option("POD", options.pod, "NAME, or NAMESPACE/NAME")
      ->required();
}

void add_fit(CLI::App& parser, Options& options) {
  CLI::App* const fit = add_command(
      parser, options, Command::kFit, "fit",
      "How many more pods of a kind would fit, and where. Ends with 3 if none does, or fewer than "
      "--count",
      "  kubectl tangram fit --gpu-fraction 0.5\n"
      "  kubectl tangram fit --gpu-mem 8Gi --gpu-compute 0.2 --gpu-model 'A100*,H100*'\n"
      "  kubectl tangram fit --gpu-count 2 --count 4 && helm install ...\n");
  const auto add = [&](const model::RequestAnnotation& annotation) {
    const std::string key(annotation.key);
    return fit
        ->add_option_function<std::string>(
            "--" + key,
            [&options, key](const std::string& value) { options.fit.annotations[key] = value; },
            std::string(annotation.option_help))
        ->type_name(std::string(annotation.option_type));
  };
  // In the annotations' words, and read by the annotations' parser.
  for (const model::RequestAnnotation& annotation : model::kRequestAnnotations) {
    if (annotation.option_type.empty()) continue;
    CLI::Option* const option = add(annotation);
    const auto names = request_values(annotation.key);
    if (!names.empty()) option->check(CLI::IsMember(names));
  }
  fit->add_option("--cpu", options.fit.cpu, "What the pod requests besides: 4, 500m")
      ->type_name("QUANTITY");
  fit->add_option("--memory", options.fit.memory, "The same of the node's memory: 16Gi")
      ->type_name("QUANTITY");
  fit->add_option("--count", options.fit.count, "Do so many fit, and where would they go?")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
      ->type_name("NUMBER");
}

void add_whatif(CLI::App& parser, Options& options) {
  add_command(parser, options, Command::kWhatIf, "whatif",
              "Where the pods of a file would go, each on top of those before it; nothing is "
              "written. Ends with 3 if one would wait",
              "  kubectl tangram whatif -f pods.yaml\n"
              "  helm template . | kubectl tangram whatif -f -\n")
      ->add_option("-f,--filename", options.file,
                   "Pods, Deployments, ReplicaSets, StatefulSets, Jobs; - = standard input")
      ->type_name("FILE")
      ->required();
}

void add_cordons(CLI::App& parser, Options& options) {
  CLI::App* const cordon =
      add_command(parser, options, Command::kCordonCard, "cordon-card",
                  "Give a card no new pods; those on it go on. Writes one annotation of its Node",
                  "  kubectl tangram cordon-card GPU-5f2a... --reason 'its fan is loud'\n");
  cordon->add_option("UUID", options.card, "As `top -o wide` shows it")->required();
  cordon->add_option("--reason", options.reason, "Shown wherever the card is");
  add_command(parser, options, Command::kUncordonCard, "uncordon-card", "Give the card pods again",
              "  kubectl tangram uncordon-card GPU-5f2a...\n")
      ->add_option("UUID", options.card, "As `top -o wide` shows it")
      ->required();
}

void add_others(CLI::App& parser, Options& options) {
  add_command(parser, options, Command::kDoctor, "doctor",
              "Go through the installation from end to end and say what to mend. Ends with 3 if "
              "something fails",
              "  kubectl tangram doctor\n"
              "  kubectl tangram doctor --system-namespace gpu-system -o json\n");
  add_command(
      parser, options, Command::kCompletion, "completion",
      "Print what makes a shell complete the commands of kubectl-tangram",
      "  source <(kubectl-tangram completion bash)\n"
      "  kubectl-tangram completion fish > ~/.config/fish/completions/kubectl-tangram.fish\n"
      "For `kubectl tangram` put deploy/cli/kubectl_complete-tangram on the PATH.\n")
      ->add_option("SHELL", options.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

std::string first_contradiction(const Options& options) {
  if (!options.ns.empty() && options.all_namespaces) {
    return "--namespace and --all-namespaces contradict each other; write one";
  }
  if (options.watch &&
      (options.command == Command::kCordonCard || options.command == Command::kUncordonCard ||
       options.command == Command::kCompletion)) {
    return "--watch is for commands that show something; leave it out";
  }
  if (options.watch && options.command == Command::kWhatIf && options.file == "-") {
    return "--watch reads the file again each time, and standard input only once; name a file";
  }
  return "";
}

}  // namespace

std::vector<std::string> request_values(std::string_view key) {
  if (key == model::kIsolationKey) {
    return {model::kIsolationNames.begin(), model::kIsolationNames.end()};
  }
  if (key != model::kPolicyKey) return {};
  return {policies::policy_names().begin(), policies::policy_names().end()};
}

std::unique_ptr<CLI::App> make_parser(Options& options) {
  auto parser = std::make_unique<CLI::App>(
      "Shows how Tangram shares GPU cards between pods, and why a pod waits. Reads nodes and pods "
      "with\nyour kubeconfig; writes nothing, but for cordon-card and uncordon-card.");
  parser->name("kubectl tangram");
  parser->fallthrough();
  parser->require_subcommand(1);
  parser->set_version_flag("--version", std::string("kubectl-tangram ") + kVersion);
  parser->footer(
      "Examples:\n"
      "  kubectl tangram top                        how full is every card?\n"
      "  kubectl tangram explain train-0 -n ml      why does this pod wait?\n"
      "  kubectl tangram fit --gpu-fraction 0.5     how many more of these fit?\n"
      "  kubectl tangram doctor                     is everything as it should be?\n\n"
      "A command's own options and more examples: kubectl tangram COMMAND --help\n"
      "Ends with 0; 1: it could not be done; 2: wrong usage; 3: the answer is no. See "
      "docs/cli.md.");
  add_where(*parser, options);
  add_extender(*parser, options);
  add_how(*parser, options);
  add_views(*parser, options);
  add_fit(*parser, options);
  add_whatif(*parser, options);
  add_cordons(*parser, options);
  add_others(*parser, options);
  return parser;
}

Parsed parse_options(const std::vector<std::string>& arguments) {
  Parsed parsed;
  const auto parser = make_parser(parsed.options);
  try {
    // CLI11 takes them from the back.
    parser->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    parsed.exit = parser->exit(error, out, err) == 0 ? kDone : kBadUsage;
    parsed.says = out.str() + err.str();
    return parsed;
  }
  parsed.says = first_contradiction(parsed.options);
  if (!parsed.says.empty()) {
    parsed.says += "\n";
    parsed.exit = kBadUsage;
  }
  return parsed;
}

}  // namespace tangram::cli
