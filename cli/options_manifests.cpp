#include "cli/fill/pod_templates.hpp"
#include "cli/options_parts.hpp"

namespace tangram::cli {

namespace {

void add_whatif(CLI::App& parser, Options& options) {
  CLI::App* const whatif = add_command(parser, "whatif",
                                       "Show where the pods of a file would go, each after those "
                                       "before it. Writes nothing. Exit code 3: a pod would wait",
                                       "  kubectl tangram whatif -f pods.yaml\n"
                                       "  helm template . | kubectl tangram whatif -f -\n");
  add(*whatif, "-f,--filename", options.file, "FILE",
      "Pods, Deployments, ReplicaSets, StatefulSets, Jobs; - = standard input")
      ->required();
}

void add_fill(CLI::App& parser, Options& options) {
  CLI::App* const fill = add_command(
      parser, "fill",
      "Print manifests with what Tangram's webhook will write into their pods: slots and aggregate "
      "resources. For what counts pod templates before there are pods, as Kueue does. Reads the "
      "extender's settings, and writes nothing to the cluster. Exit code 3: the webhook would "
      "refuse a pod, and its document is left out",
      "  kubectl tangram fill -f job.yaml | kubectl apply -f -\n"
      "  helm template . | kubectl tangram fill -f - >filled.yaml\n"
      "  kubectl tangram fill --offline -f a.yaml -f b.yaml    without a cluster\n"
      "Prints YAML. Kinds: " +
          kinds_with_templates() + ". Others are printed as they are.\n");
  add(*fill, "-f,--filename", options.files, "FILE", "YAML or JSON; - = standard input")
      ->required();
  fill->add_flag("--offline", options.offline,
                 "Assume the extender's default settings instead of reading them in the cluster");
}

void add_autoscaler(CLI::App& parser, Options& options) {
  CLI::App* const autoscaler = add_command(
      parser, "autoscaler",
      "Print what an autoscaler must know to add GPU nodes, also to a group that has none: slots, "
      "aggregate resources and labels. Writes nothing to the cluster",
      "  kubectl tangram autoscaler karpenter --from gpu-1 | kubectl apply -f -\n"
      "  kubectl tangram autoscaler aws --card A100-SXM4-80GB --memory 81559Mi --cards 8\n"
      "  kubectl tangram autoscaler cluster-api --from gpu-1     a patch of a MachineDeployment\n"
      "  kubectl tangram autoscaler headroom --from gpu-1 -n gpu | kubectl apply -f -\n"
      "karpenter: a NodeOverlay. aws, azure: tags for Cluster Autoscaler. headroom: a Deployment "
      "that keeps one node of the group free, so that a pod that fits no single card adds a "
      "node.\nWhat an autoscaler cannot see: docs/operations.md, \"Autoscalers\".\n");
  autoscaler->add_option("FOR", options.autoscaler, "For which autoscaler")
      ->required()
      ->check(CLI::IsMember(autoscaler_kinds()));
  NodeGroup& group = options.group;
  CLI::Option* const from =
      add(*autoscaler, "--from", group.from, "NODE", "A node of the group, which is read");
  add(*autoscaler, "--instance-type", group.instance_type, "TYPE",
      "For karpenter and headroom: p4d.24xlarge; default: that of --from");
  const auto describe = [&](const std::string& name, auto& into, const std::string& type,
                            const std::string& help) {
    return add(*autoscaler, name, into, type, help)->excludes(from);
  };
  describe("--card", group.model, "MODEL", "Without --from: the card's model, as `top` shows it");
  describe("--memory", group.memory, "QUANTITY",
           "Memory of one card, as `top -o wide` shows it: 81559Mi. Not more than it has, or pods "
           "of that size add nodes that they do not fit");
  describe("--cards", group.cards, "NUMBER", "Cards of a node")->check(CLI::Range(1, 64));
  describe("--slots-per-card", group.slots_per_card, "NUMBER",
           "The agent's --sharers-per-card; default: 16")
      ->check(CLI::Range(1, 48));
}

}  // namespace

CLI::App* add_command(CLI::App& parser, const std::string& name, const std::string& what,
                      const std::string& examples) {
  CLI::App* const added = parser.add_subcommand(name, what);
  added->footer("Examples:\n" + examples + "\nOptions of all commands: kubectl tangram --help");
  return added;
}

void add_manifest_commands(CLI::App& parser, Options& options) {
  add_whatif(parser, options);
  add_fill(parser, options);
  add_autoscaler(parser, options);
}

}  // namespace tangram::cli
