#pragma once

#include <string>

/// The table of settings, written out for people. All of it follows from settings.cpp and the
/// defaults of Config, so that no list of settings is kept by hand.
namespace tangram::config {

/// config/tangram.yaml: every setting with its default and, in comments, meaning and bounds.
[[nodiscard]] std::string reference_yaml();

/// docs/configuration.md.
[[nodiscard]] std::string reference_markdown();

/// For a terminal: a line per setting with default and bounds, and its meaning below.
[[nodiscard]] std::string settings_help();

}  // namespace tangram::config
