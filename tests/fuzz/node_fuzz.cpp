#include "kube/json_doc.hpp"
#include "kube/objects.hpp"
#include "node/publish/node_labels.hpp"
#include "node/publish/node_record.hpp"
#include "tests/fuzz/fuzzing.hpp"

namespace {

using namespace tangram;
using fuzz::require;

node::CardsNow listed_by(const node::OwnNode& own) {
  node::CardsNow now;
  for (model::Card& card : node::previous_cards(own)) {
    now.inventory.cards.emplace_back().card = std::move(card);
  }
  return now;
}

/// The agent writes until the node says what it should: so once written, it must say that.
void check(const std::string& text, const node::OwnNode& own) {
  const auto record =
      node::record_of(listed_by(own), own, {.resizes = node::previous_resizes(own)}, {}, {});
  if (!record) return;
  auto doc = kube::JsonDoc::parse(text);
  if (!doc) return;  // wrong in what is passed over
  for (const auto& patch :
       {node::metadata_patch(own, *record), node::capacity_patch(own, *record)}) {
    if (patch) doc->merge(*kube::JsonDoc::parse(*patch));
  }
  const auto written = node::decode_own_node(doc->text());
  require(written && !node::metadata_patch(*written, *record));
  require(!node::capacity_patch(*written, *record));
}

/// The same of the vendor's labels; and others stay.
void check_labels(const std::string& text, const node::OwnNode& own, bool write) {
  node::LabelSettings settings;
  settings.write = write;
  settings.labels.of_vendors_program = "nvidia.com/gfd.timestamp";
  settings.labels.covers = [](std::string_view name) {
    return name.starts_with("nvidia.com/gpu.");
  };
  settings.labels.of = [](const node::Inventory&, std::string_view) {
    return node::NodeLabels{{"nvidia.com/gpu.count", "1"}, {"nvidia.com/gpu.family", "ampere"}};
  };
  node::CardsNow now;
  now.answers = true;
  auto doc = kube::JsonDoc::parse(text);
  const auto patch = node::labels_patch(now, own, settings);
  if (!doc || !patch) return;
  doc->merge(*kube::JsonDoc::parse(*patch));
  const auto written = node::decode_own_node(doc->text());
  require(written && !node::labels_patch(now, *written, settings));
  for (const auto& [name, value] : own.labels) {
    if (settings.labels.covers(name)) continue;
    const auto found = written->labels.find(name);
    require(found != written->labels.end() && found->second == value);
  }
}

}  // namespace

/// Any text: is refused, or is a node that can be counted, and that the agent writes to once.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  if (const auto node = kube::decode_node(text)) {
    require(!node->name.empty() && node->slots >= 0);
    require(node->cpu.count() >= 0 && node->memory.count() >= 0);
  }
  if (const auto own = node::decode_own_node(text)) {
    check(text, *own);
    for (const bool write : {true, false}) check_labels(text, *own, write);
  }
  return 0;
}
