// The commands that print manifests: for a file, or for others to apply.

#include "base/one_line.hpp"
#include "cli/autoscaler.hpp"
#include "cli/commands.hpp"
#include "cli/fill/fill.hpp"
#include "cli/manifests.hpp"

#include <utility>

namespace tangram::cli {

Result<extender::AdmissionSettings> Commands::webhook_settings(std::string& notes) {
  if (options_.offline) return extender::admission_settings(config::Config{});
  const auto server = api();
  if (!server) return server.error();
  const ClusterSettings settings = read_cluster_settings(**server, options_.system_namespace);
  if (!settings.assumed.empty()) {
    notes += "note: the defaults of the webhook are assumed: " + settings.problem + "\n";
  }
  return extender::admission_settings(settings.config.value_or(config::Config{}));
}

Result<CommandResult> Commands::fill() {
  CommandResult result;
  result.is_document = true;
  const auto settings = webhook_settings(result.notes);
  if (!settings) return settings.error();
  Filled filled;
  for (const std::string& file : options_.files) {
    const auto text = read_manifest_file(file);
    if (!text) return text.error();
    const std::string name = file == "-" ? "standard input" : file;
    if (auto done = cli::fill(name, *text, *settings, filled); !done) return done.error();
  }
  for (const std::string& note : filled.notes) result.notes += "note: " + one_line(note) + "\n";
  for (const std::string& refusal : filled.refusals) result.notes += one_line(refusal) + "\n";
  if (!filled.refusals.empty()) result.exit = kNo;
  result.text = filled_yaml(filled);
  return result;
}

Result<CommandResult> Commands::autoscaler() {
  Result<FutureNode> node = FutureNode{};
  if (options_.group.from.empty()) {
    node = described_node(options_.group);
  } else {
    const auto server = api();
    if (!server) return server.error();
    node = node_like(**server, options_.group);
  }
  if (!node) return node.error();
  auto printed = autoscaler_text(options_.autoscaler, *node, options_.ns);
  if (!printed) return printed.error();
  CommandResult result;
  if (!printed->tags.empty() && !for_programs(options_.output)) {
    for (const std::string& tag : printed->tags) result.text += one_line(tag) + "\n";
  } else {
    auto text = document(options_.output, list_of(printed->objects));
    if (!text) return text.error();
    result.text = std::move(text->text);
  }
  if (!printed->note.empty()) result.notes = "note: " + one_line(printed->note) + "\n";
  return result;
}

}  // namespace tangram::cli
