#include "cli/command_result.hpp"

#include "cli/document.hpp"

#include <utility>

namespace tangram::cli {

Result<CommandResult> document(Output output, std::string json, int exit) {
  auto text = output == Output::kJson ? indented(json) : to_yaml(std::move(json));
  if (!text) return text.error();
  return CommandResult{.text = std::move(*text), .exit = exit};
}

}  // namespace tangram::cli
