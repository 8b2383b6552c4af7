#pragma once

#include "config/settings.hpp"

#include <string>

namespace tangram::config {

/// Every setting's value, a line each: for comparing two configurations.
inline std::string values_of(const Config& config) {
  std::string values;
  for (const Section& section : sections()) {
    for (const Setting& setting : section.settings) {
      values += full_name(section, setting) + " = " + setting.rule.get(config) + "\n";
    }
  }
  return values;
}

}  // namespace tangram::config
