#include "node/hook/settings.hpp"

#include <CLI/CLI.hpp>
#include <tangram_version.hpp>

namespace tangram::node::hook {
namespace {

constexpr int kBadUsage = 2;

constexpr const char* kPurpose =
    "Limits how much memory of its cards a container can take, by the GPU driver and the "
    "kernel.\n\n"
    "A container runtime starts it as a createRuntime hook: on the host, as root, before the\n"
    "container's first instruction, with the container's state on standard input. It reads the\n"
    "limits that Tangram's agent has written, sets each on the container's own cgroup and reads "
    "it\n"
    "back. If one cannot be set, it prints the reason and fails, and the runtime does not start "
    "the\n"
    "container.\n\n"
    "  tangram-memory-hook --limits /run/tangram/limits/slot-17.8c0f… <state.json\n";

constexpr const char* kRequirements =
    "It needs cgroup v2, and for NVIDIA's cards the driver r615 or newer without MIG; for cards\n"
    "whose driver accounts in the kernel (amdgpu, xe) Linux 6.14 or newer. It waits for the "
    "driver\n"
    "as long as the driver takes: give the hook a timeout in the CDI spec.\n";

void add_places(CLI::App& cli, Settings& settings) {
  cli.add_option("--nvml", settings.nvml,
                 "The driver's libnvidia-ml.so.1 on the host: a path, or a name that the dynamic "
                 "linker finds")
      ->type_name("FILE");
  cli.add_option("--cgroup-root", settings.folders.cgroup, "Where cgroup v2 is mounted")
      ->type_name("FOLDER");
  cli.add_option("--proc", settings.folders.proc, "Where proc is mounted")->type_name("FOLDER");
}

}  // namespace

ParsedSettings parse_settings(int argc, const char* const* argv) {
  ParsedSettings parsed;
  Settings& settings = parsed.settings;
  CLI::App cli(kPurpose);
  cli.footer(kRequirements);
  cli.set_version_flag("--version", std::string("tangram-memory-hook ") + kVersion);
  cli.add_option("--limits", settings.limits,
                 "The folder in which the agent has written what the container may take of its "
                 "cards; which cgroup was limited is written beside it, so that the agent can "
                 "change the limits later")
      ->type_name("FOLDER")
      ->required();
  cli.option_defaults()->always_capture_default();
  add_places(cli, settings);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.exit = cli.exit(error) == 0 ? 0 : kBadUsage;
  }
  return parsed;
}

}  // namespace tangram::node::hook
