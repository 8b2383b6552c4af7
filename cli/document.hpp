#pragma once

#include "base/result.hpp"

#include <yaml-cpp/emitter.h>

#include <string>
#include <string_view>

/// JSON in the formats of --output.
namespace tangram::cli {

/// The same JSON with one member per line, as kubectl writes it.
/// @returns kInvalidArgument if it is no JSON
Result<std::string> indented(const std::string& json);

/// A string to every reader of YAML 1.1 and 1.2, without quotes where it can be.
void emit_string(YAML::Emitter& out, std::string_view text);

/// The same values as YAML. Strings that YAML 1.1 or 1.2 reads as another type are quoted.
/// @returns kInvalidArgument if it is no JSON
Result<std::string> to_yaml(std::string json);

}  // namespace tangram::cli
