#include "config/settings.hpp"

#include "base/number.hpp"
#include "base/quote.hpp"
#include "base/spelling.hpp"
#include "config/sections/sections.hpp"

namespace tangram::config {

std::span<const Section> sections() {
  static const std::vector<Section> kSections = [] {
    std::vector<Section> all;
    for (const auto& part : {kServerSections, kSchedulerSections, kClusterSections, kPolicySections,
                             kAdmissionSections}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kSections;
}

std::string full_name(const Section& section, const Setting& setting) {
  return std::string(section.name).append(".").append(setting.key);
}

std::string allowed_text(const Setting& setting) {
  const Rule& rule = setting.rule;
  if (!rule.form.empty()) return std::string(rule.form);
  if (!rule.bounds) return alternatives(rule.choices);
  const auto& [min, max] = *rule.bounds;
  return std::to_string(min.value) + ".." + std::to_string(max.value);
}

std::string remedy(const Setting& setting) {
  return (setting.rule.bounds ? "a whole number in " : "") + allowed_text(setting);
}

std::optional<std::string> assign(const Setting& setting, std::string_view text, Config& config) {
  const Rule& rule = setting.rule;
  const std::string advice = "; write " + remedy(setting);
  if (rule.bounds) {
    const auto value = parse_number<std::int64_t>(text);
    if (!value) return quote(text) + " is not a whole number" + advice;
    const bool low = *value < rule.bounds->first.value;
    const Bound& bound = low ? rule.bounds->first : rule.bounds->second;
    if (low || *value > bound.value) {
      return std::to_string(*value) + (low ? " is below " : " is above ") +
             std::to_string(bound.value) + " (" + std::string(bound.reason) + ")" + advice;
    }
  }
  if (rule.set(config, text)) return std::nullopt;
  return quote(text) + " is not allowed" + advice;
}

}  // namespace tangram::config
