#include "node/launcher/settings.hpp"

#include "base/logging.hpp"
#include "node/launcher/command.hpp"

#include <CLI/CLI.hpp>
#include <tangram_version.hpp>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <string_view>

namespace tangram::node::launcher {
namespace {

constexpr const char* kPurpose =
    "Runs commands of Tangram's agent in another pod of the node, so that NVIDIA's MPS daemons\n"
    "outlive the agent's pod.\n\n"
    "  tangram-launcher serve               in the pods of the DaemonSet tangram-mps\n"
    "  tangram-launcher run -- COMMAND...   in the agent's: --mps-launcher=\"tangram-launcher run "
    "--\"\n";

constexpr const char* kServePurpose =
    "Runs commands for clients of its own user, until SIGTERM. Daemons that these commands start\n"
    "end with the pod, and so does the work of all MPS clients of the node: restart the pod only\n"
    "when no pod of the node shares a card by MPS.";

constexpr const char* kRunPurpose =
    "Has a command run in the launcher's pod, with this program's environment, standard input,\n"
    "output and error, in the folder /. If this program ends first, the command is killed; what "
    "it\n"
    "has put into the background, in a session of its own, goes on.\n\n"
    "  tangram-launcher run -- nvidia-cuda-mps-control -d";

constexpr const char* kRunCodes =
    "Exit codes: the command's; 128 and the signal that killed it; 127 if it is not found in "
    "PATH,\n"
    "126 if it cannot be executed, 125 if the launcher cannot be reached or refuses.\n";

void add_socket(CLI::App& cli, Settings& settings) {
  cli.add_option("--socket", settings.socket,
                 "The launcher's socket, in a folder that only root can enter")
      ->type_name("FILE")
      ->capture_default_str();
}

}  // namespace

ParsedSettings parse_settings(int argc, const char* const* argv) {
  ParsedSettings parsed;
  Settings& settings = parsed.settings;
  // CLI11 would take the command's arguments apart.
  const char* const* const end = argv + argc;
  const char* const* const separator = std::find(argv, end, std::string_view("--"));
  if (separator != end) settings.command.assign(std::next(separator), end);

  CLI::App cli(kPurpose);
  cli.set_version_flag("--version", std::string("tangram-launcher ") + kVersion);
  cli.require_subcommand(1);
  CLI::App* const serve = cli.add_subcommand("serve", kServePurpose);
  CLI::App* const run = cli.add_subcommand("run", kRunPurpose);
  run->footer(kRunCodes);
  serve
      ->add_option("--log-format", settings.log_format,
                   "text, or json: each message as a JSON object on one line")
      ->check(CLI::IsMember(kLogFormatNames))
      ->capture_default_str();
  add_socket(*serve, settings);
  add_socket(*run, settings);
  try {
    cli.parse(static_cast<int>(separator - argv), argv);
    if (run->parsed() && settings.command.empty()) {
      throw CLI::RequiredError("-- COMMAND");
    }
    if (serve->parsed() && !settings.command.empty()) {
      throw CLI::ValidationError("serve", "takes no command; use run");
    }
  } catch (const CLI::ParseError& error) {
    parsed.exit = cli.exit(error) == 0 ? 0 : kNotRun;
  }
  return parsed;
}

}  // namespace tangram::node::launcher
