#include "node/publish/node_labels.hpp"

#include "base/json.hpp"
#include "base/split.hpp"

#include <utility>

namespace tangram::node {
namespace {

/// "NAME=VALUE,NAME=VALUE": neither has these signs.
std::string encode(const NodeLabels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text.append(text.empty() ? "" : ",").append(name).append("=").append(value);
  }
  return text;
}

/// The Node's labels that the agent has written and no other writer has changed since.
NodeLabels written_by_agent(const OwnNode& node, const CardLabels& labels) {
  NodeLabels written;
  for (const std::string& item : split(node.written_labels.value_or(""), ',')) {
    const std::size_t sign = item.find('=');
    if (sign == std::string::npos) continue;
    const std::string name = item.substr(0, sign);
    const auto now = node.labels.find(name);
    const bool same = now != node.labels.end() && now->second == item.substr(sign + 1);
    if (same && labels.covers(name) && !node.discovered.contains(name)) written.insert(*now);
  }
  return written;
}

/// What the Node shall have of the agent; nothing = what it has.
std::optional<NodeLabels> wanted_labels(const CardsNow& now, const OwnNode& node,
                                        const LabelSettings& settings) {
  if (!settings.write || node.labels.contains(settings.labels.of_vendors_program)) {
    return NodeLabels{};
  }
  if (!now.answers) return std::nullopt;
  return settings.labels.of(now.inventory, node.sharing_choice);
}

void write(json::Writer& out, std::string_view name, const std::optional<std::string>& value) {
  out.key(name);
  value ? out.string(*value) : out.null();
}

}  // namespace

std::optional<std::string> labels_patch(const CardsNow& now, const OwnNode& node,
                                        const LabelSettings& settings) {
  const NodeLabels ours = written_by_agent(node, settings.labels);
  auto wanted = wanted_labels(now, node, settings);
  if (!wanted) return std::nullopt;
  std::erase_if(*wanted, [&](const auto& label) {
    const bool of_another = node.labels.contains(label.first) && !ours.contains(label.first);
    return of_another || node.discovered.contains(label.first);
  });
  const auto record = wanted->empty() ? std::nullopt : std::optional(encode(*wanted));
  if (*wanted == ours && record == node.written_labels) return std::nullopt;
  std::string patch;
  json::Writer out(patch);
  out.begin_object().key("metadata").begin_object();
  out.member("uid", node.uid).member("resourceVersion", node.version);
  out.key("annotations").begin_object();
  write(out, kWrittenLabels, record);
  out.end_object().key("labels").begin_object();
  for (const auto& [name, value] : ours) {
    if (!wanted->contains(name)) write(out, name, std::nullopt);
  }
  for (const auto& [name, value] : *wanted) {
    const auto found = ours.find(name);
    if (found == ours.end() || found->second != value) write(out, name, value);
  }
  out.end_object().end_object().end_object();
  return patch;
}

}  // namespace tangram::node
