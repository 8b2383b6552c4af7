#pragma once

#include "base/result.hpp"
#include "cli/options.hpp"

#include <string>

namespace tangram::cli {

/// What a command prints, and its exit code.
struct CommandResult {
  std::string text;
  int exit = kDone;
  /// The text is the user's own: a file or pipe gets it unchanged, with the controls in it.
  bool is_document = false;
  std::string notes = {};  ///< for standard error
};

[[nodiscard]] inline bool for_programs(Output output) {
  return output == Output::kJson || output == Output::kYaml;
}

/// JSON as the output asks for it; for people as YAML.
Result<CommandResult> document(Output output, std::string json, int exit = kDone);

}  // namespace tangram::cli
