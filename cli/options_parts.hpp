#pragma once

#include "cli/options.hpp"

#include <CLI/CLI.hpp>

#include <string>

/// What the files that make the parser share.
namespace tangram::cli {

/// A subcommand with examples under its help.
CLI::App* add_command(CLI::App& parser, const std::string& name, const std::string& what,
                      const std::string& examples);

template <class Value>
CLI::Option* add(CLI::App& parser, const std::string& names, Value& into, const std::string& type,
                 const std::string& help) {
  return parser.add_option(names, into, help)->type_name(type);
}

/// whatif, fill, autoscaler.
void add_manifest_commands(CLI::App& parser, Options& options);

}  // namespace tangram::cli
