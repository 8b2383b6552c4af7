#include "config/reference.hpp"

#include "config/settings.hpp"

#include <boost/algorithm/string/replace.hpp>
#include <fmt/format.h>

#include <string_view>

namespace tangram::config {
namespace {

constexpr std::size_t kColumns = 100;

/// Breaks text at spaces; every line starts with `indent`.
std::string wrapped(std::string_view text, const std::string& indent) {
  std::string out;
  while (!text.empty()) {
    std::size_t end = text.size();
    if (indent.size() + end > kColumns) {
      end = text.rfind(' ', kColumns - indent.size());
      if (end == std::string_view::npos || end == 0) end = text.find(' ');
      if (end == std::string_view::npos) end = text.size();
    }
    out.append(indent).append(text.substr(0, end)).append("\n");
    text.remove_prefix(end == text.size() ? end : end + 1);
  }
  return out;
}

/// "At least 91: ... At most 3600: ..."
std::string bounds_text(const Setting& setting) {
  if (!setting.rule.bounds) return "Write " + allowed_text(setting) + ".";
  const auto& [min, max] = *setting.rule.bounds;
  return fmt::format("At least {}: {}. At most {}: {}.", min.value, min.reason, max.value,
                     max.reason);
}

/// Every text is a plain YAML scalar except the empty one and an address in brackets.
std::string yaml_value(const Setting& setting, const Config& config) {
  const std::string value = setting.rule.get(config);
  const bool plain = !value.empty() && value.front() != '[';
  return plain ? value : "\"" + value + "\"";
}

/// A "|" would end the cell.
std::string cell(std::string_view text) {
  return boost::replace_all_copy(std::string(text), "|", "\\|");
}

}  // namespace

std::string reference_yaml() {
  const Config defaults;
  std::string out = wrapped(
      "Every setting of Tangram with its default. Keep the lines that you change; the rest may go. "
      "Only kube.source must stand. A value from here gives way to --set section.key=value.",
      "# ");
  out += "# Written by scripts/generate/reference; do not edit.\n";
  for (const Section& section : sections()) {
    out += "\n" + wrapped(section.description, "# ");
    out.append(section.name).append(":\n");
    for (const Setting& setting : section.settings) {
      out += wrapped(setting.description, "  # ");
      out += wrapped(bounds_text(setting), "  # ");
      out.append("  ").append(setting.key).append(": ");
      out += yaml_value(setting, defaults) + (setting.required ? "  # required\n" : "\n");
    }
  }
  return out;
}

std::string reference_markdown() {
  const Config defaults;
  std::string out =
      "# Configuration\n\n"
      "<!-- Written by scripts/generate/reference; do not edit. -->\n\n"
      "One YAML file holds every setting; `config/tangram.yaml` is that file with the defaults.\n"
      "What the file leaves out keeps its default, except `kube.source`, which has none.\n"
      "`--set section.key=value` on the command line replaces a value of the file.\n\n"
      "Unknown and repeated keys, wrong types, values out of bounds and contradictions are "
      "refused,\nall of them in one message, each with its line and what to write instead.\n";
  for (const Section& section : sections()) {
    out.append("\n## ").append(section.name).append("\n\n");
    out.append(section.description).append("\n\n");
    out += "| key | default | allowed | meaning |\n|---|---|---|---|\n";
    for (const Setting& setting : section.settings) {
      const std::string value = yaml_value(setting, defaults);
      out.append("| `").append(setting.key).append("` | ");
      out += (setting.required ? "none: required" : "`" + value + "`") + " | ";
      out += cell(allowed_text(setting)) + " | " + cell(setting.description);
      if (setting.rule.bounds) out += " " + cell(bounds_text(setting));
      out += " |\n";
    }
  }
  out += "\n## Settings that limit each other\n\n";
  for (const Relation& relation : relations()) out.append("- ").append(relation.rule).append("\n");
  return out;
}

std::string settings_help() {
  const Config defaults;
  std::string out;
  for (const Section& section : sections()) {
    for (const Setting& setting : section.settings) {
      out += full_name(section, setting) + " = " +
             (setting.required ? "(required)" : yaml_value(setting, defaults)) + "   [" +
             allowed_text(setting) + "]\n";
      out += wrapped(setting.description, "    ");
    }
  }
  return out;
}

}  // namespace tangram::config
