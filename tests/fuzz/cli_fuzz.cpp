#include "cli/document.hpp"
#include "cli/explain.hpp"
#include "cli/manifests.hpp"
#include "cli/screen.hpp"
#include "cli/table.hpp"
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

}  // namespace

/// What kubectl-tangram reads of others: pages of an extender, and manifests.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  check_documents(text);
  check_pages(text);
  check_tables(text);
  check_manifests(text);
  return 0;
}
