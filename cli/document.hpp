#pragma once

#include "base/result.hpp"

#include <string>

/// JSON in the forms that people and programs ask for.
namespace tangram::cli {

/// The same JSON with a member a line, as kubectl writes it.
/// @returns kInvalidArgument if it is no JSON
Result<std::string> indented(std::string json);

/// The same values as YAML. Strings that YAML would take for something else are quoted.
/// @returns kInvalidArgument if it is no JSON
Result<std::string> to_yaml(std::string json);

}  // namespace tangram::cli
