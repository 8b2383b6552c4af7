#include "cli/document.hpp"
#include "cli/explain.hpp"
#include "cli/fill/fill.hpp"
#include "cli/fill/yaml_tree.hpp"
#include "cli/manifests.hpp"
#include "cli/screen.hpp"
#include "cli/table.hpp"
#include "config/config.hpp"
#include "kube/local/yaml_to_json.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <algorithm>
#include <string>

namespace {

using namespace tangram;
using fuzz::require;

/// Written twice it is the same.
void check_documents(const std::string& text) {
  const auto once = cli::indented(text);
  if (!once) return;
  const auto twice = cli::indented(*once);
  require(twice && *twice == *once);
  require(cli::to_yaml(text).has_value());
}

void check_pages(const std::string& text) {
  const auto view = cli::read_explain_view(text);
  if (!view) return;
  const cli::Screen narrow{{.colour = false, .width = 60}, true};
  const std::string drawn = cli::without_controls(cli::draw_explain(narrow, *view, true), false);
  require(std::none_of(drawn.begin(), drawn.end(),
                       [](char c) { return c != '\n' && static_cast<unsigned char>(c) < ' '; }));
}

/// Texts of others add no line.
void check_tables(const std::string& text) {
  cli::Table table({{.name = "NAME"}, {.name = "REASON"}});
  table.add({text, text});
  table.add({text, ""});
  const std::string drawn = table.text({});
  require(std::count(drawn.begin(), drawn.end(), '\n') == 3);
}

void check_manifests(const std::string& text) {
  const auto manifests = cli::read_manifests(text, "default");
  if (!manifests) return;
  require(manifests->pods.size() <= cli::kMostPods);
  for (const auto& pod : manifests->pods) require(!pod.name.empty() && !pod.ns.empty());
}

/// The one object of the document as JSON; "" if it is none that an API server takes.
std::string json_in(const std::string& document) {
  const auto objects = kube::yaml_to_json(document, kube::YamlMaps::kAsWritten);
  const bool one = objects && objects->size() == 1;
  return one && cli::indented(objects->front().json) ? objects->front().json : "";
}

/// A document that is written again has the same values.
void check_yaml(const kube::YamlDocument& document) {
  const auto tree = cli::read_tree(document);
  if (!tree || !tree->root.IsMap()) return;
  const std::string before = json_in(document.text);
  // Merge keys are written out; a List is read as its items.
  if (before.empty() || before.find("\"<<\"") != std::string::npos) return;
  require(json_in(cli::write_tree(tree->root)) == before);
}

/// What is filled needs nothing more.
void check_filling(const std::string& text) {
  static const auto kSettings = extender::admission_settings(config::Config{});
  cli::Filled once;
  if (!cli::fill("a", text, kSettings, once)) return;
  const std::string filled = cli::filled_yaml(once);
  cli::Filled twice;
  require(cli::fill("a", filled, kSettings, twice).has_value());
  require(twice.refusals.empty() && cli::filled_yaml(twice) == filled);
}

}  // namespace

/// What kubectl-tangram reads of others: pages of an extender, and manifests.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  check_documents(text);
  check_pages(text);
  check_tables(text);
  check_manifests(text);
  for (const kube::YamlDocument& document : kube::split_yaml(text)) check_yaml(document);
  check_filling(text);
  return 0;
}
